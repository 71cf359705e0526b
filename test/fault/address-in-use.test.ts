/** What happens between the two runs of an ADD that was first given an address to which its node has a route. */

import { expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { NetworkPlace } from "../support/node/netns.ts";
import { afterStep, beforeTurn, isCommit } from "./support/at-step.ts";
import { IPAM_ALONE } from "./support/flows.ts";
import type { FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";
import { type OnStep, withSteps } from "./support/steps.ts";

const { startNode } = shareEtcd();

/** To all addresses but a few. @returns what removes them */
async function addRoutes(node: FaultNode): Promise<Disposable> {
  const probe = { containerID: "probe" };
  const { json } = await node.call("ADD", probe);
  await node.call("DEL", probe);
  const network = json?.ips?.[0]?.address.replace(/\d+\/28$/, "");
  const host = new NetworkPlace(node.hostNetns);
  const routes = Array.from({ length: 12 }, (_, i) => `${network}${i}/32`);
  for (const route of routes) host.must(["ip", "route", "add", route, "dev", "lo"]);
  return { [Symbol.dispose]: () => routes.splice(0).forEach((route) => host.must(["ip", "route", "del", route])) };
}

/** Routes of the host to this address alone. */
function routesTo(node: FaultNode, address = ""): unknown {
  const text = new NetworkPlace(node.hostNetns).must(["ip", "-j", "route", "show", address.replace(/\/.*/, "/32")]);
  return JSON.parse(text);
}

const IN_USE = { code: 109, msg: expect.stringContaining('interface "lo" has a route to it') };

test.concurrent("one whose first address cannot be released does not give it", async () => {
  await using node = await startNode(IPAM_ALONE);
  using routes = await addRoutes(node);
  let commits = 0;
  let hasFailed = false;
  const cutOnce: OnStep = (step, work) => {
    if (isCommit(step)) commits++;
    else if (commits === 1 && !hasFailed && step.group === "datastore") {
      hasFailed = true;
      return Promise.reject(new NetplugError("tryAgainLater", "nobody answers"));
    }
    return work.whole();
  };
  const reply = await node.call("ADD", { host: (real: Host) => withSteps(real, cutOnce) });
  expect([hasFailed, reply.json]).toMatchObject([true, IN_USE]);
  expect((await node.call("DEL")).stdout).toBe("");
  routes[Symbol.dispose]();
  expect(await node.verify()).toEqual([]);
});

test.concurrent("one whose commit's reply was lost gives none of them either", async () => {
  await using node = await startNode(IPAM_ALONE);
  using routes = await addRoutes(node);
  const loseReply = afterStep(isCommit, () => Promise.reject(new OutcomeUnknown("test: no answer")));
  const reply = await node.call("ADD", { host: loseReply });
  expect(routesTo(node, reply.json?.ips?.[0]?.address)).toEqual([]);
  routes[Symbol.dispose]();
  expect(reply.status).toBe(0);
});

test.concurrent("one that a DEL ends while its first address is released takes no other", async () => {
  await using node = await startNode(IPAM_ALONE);
  using routes = await addRoutes(node);
  let turns = 0;
  // the second turn is that of the release
  const end = async (): Promise<void> => {
    if (++turns === 2) expect((await node.call("DEL")).stdout).toBe("");
  };
  const reply = await node.call("ADD", { host: beforeTurn(end) });
  expect([turns >= 2, reply.json]).toMatchObject([true, IN_USE]);
  routes[Symbol.dispose]();
  expect(await node.verify()).toEqual([]);
});
