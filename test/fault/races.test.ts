/**
 * Calls for one attachment at the same time, which no runtime should make: all agree, or lose with a clear error, and one DEL cleans up.
 */

import { describe, expect, test } from "bun:test";
import type { CniReply } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { IPAM_ALONE, NETPLUG, OWN_LINK_FLOWS, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, findIncompleteness, findUnsafety } from "./support/judge.ts";
import type { FaultNode } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";
import { closedGate } from "../support/node/closed-gate.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** A process of its own, which nobody kills. */
async function call(node: FaultNode, verb: "ADD" | "DEL", config: Json = {}): Promise<CniReply> {
  return (await node.callVictim(victim.program, verb, 0, "before", { config })).reply;
}

describe.each([...OWN_LINK_FLOWS, IPAM_ALONE])("$name", (flow) => {
  test.concurrent.each([2, 12])("%d ADDs give the same addresses, once, and the interface stands", async (count) => {
    await using node = await startNode(flow);
    await node.programPolicy();
    const replies = await Promise.all(Array.from({ length: count }, () => call(node, "ADD")));
    expect(replies.map(({ status, stdout }) => (status === 0 ? "" : stdout)).join("")).toBe("");
    const [first] = replies;
    if (first === undefined) throw new Error("no reply");
    expect(new Set(replies.map(({ json }) => JSON.stringify(json?.ips))).size).toBe(1);
    expect(findIncompleteness(flow, first, await node.changes())).toEqual([]);
    expect((await call(node, "DEL")).status).toBe(0);
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("ADDs and DELs leave the attachment whole or gone, and the last DEL leaves nothing", async () => {
    await using node = await startNode(flow);
    for (let round = 0; round < 5; round++) {
      const verbs = ["ADD", "DEL", "ADD", "DEL"] as const;
      const replies = await Promise.all(verbs.map(async (verb) => ({ verb, reply: await call(node, verb, WITHOUT_WAIT) })));
      const changes = await node.changes();
      for (const { verb, reply } of replies) {
        if (reply.status === 0) continue;
        expect([verb, reply.json?.code]).not.toEqual(["DEL", expect.anything()]);
        expect(reply.json?.msg).toBeString();
        expect(reply.json?.code).not.toBe(999);
      }
      expect(findUnsafety(changes)).toEqual([]);
      expect(allocatedIn(changes)).toBeOneOf([0, 2]);
      expect((await call(node, "DEL")).status).toBe(0);
      expect(await node.changes()).toEqual([]);
    }
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("DELs at the same time all succeed", async () => {
    await using node = await startNode(flow);
    await node.programPolicy();
    expect((await call(node, "ADD")).status).toBe(0);
    const replies = await Promise.all(Array.from({ length: 6 }, () => call(node, "DEL")));
    expect(replies.map(({ status, stdout }) => [status, stdout])).toEqual(replies.map(() => [0, ""]));
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent("a DEL does not wait for all of an ADD that waits for policy; then nothing is left of either", async () => {
  await using node = await startNode(NETPLUG);
  // Nobody programs it. The DEL waits five seconds for it; the rest is for whatever holds up those who make and watch these calls.
  const adding = call(node, "ADD", { policy_setup_timeout_seconds: 30 });
  let hasEnded = false;
  void adding.then(() => (hasEnded = true));
  while (allocatedIn(await node.changes()) === 0) await Bun.sleep(20);
  expect((await call(node, "DEL")).status).toBe(0);
  expect(hasEnded).toBe(false);
  expect(await node.changes()).toEqual([]);
  expect((await adding).json).toMatchObject({ code: 110 });
  expect(await node.verify()).toEqual([]);
});

test.concurrent("an ADD that outlives its runtime, the DEL of the next one, and the namespace leaves nothing", async () => {
  await using node = await startNode(NETPLUG);
  await using gate = closedGate();
  using pod = new TestNetns();
  const options = { netns: pod.path, config: { ...WITHOUT_WAIT, readiness_gates: [gate.url] } };
  const adding = node.callVictim(victim.program, "ADD", 0, "before", options);
  await gate.asked;
  expect((await node.callVictim(victim.program, "DEL", 0, "before", options)).reply.status).toBe(0);
  pod.delete();
  gate.open();
  expect((await adding).reply.json).toMatchObject({ code: 8, msg: expect.stringContaining("the container has ended meanwhile") });
  expect(await node.verify()).toEqual([]);
});
