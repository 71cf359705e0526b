/** etcd goes away, hangs, is slow, loses a reply, in the middle of an ADD and of a DEL. */

import { describe, expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import type { CniReply } from "../support/programs/cni.ts";
import type { EtcdServer } from "../support/servers/etcd.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { beforeStep, beforeTurn, isCommit, isRead } from "./support/at-step.ts";
import { fastClock } from "../support/time/fast-clock.ts";
import { type Flow, FLOWS, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, findIncompleteness, hasLink } from "./support/judge.ts";
import { FaultNode, startInitialisedEtcd } from "./support/node.ts";
import { shareVictim } from "./support/shared.ts";
import { withSteps } from "./support/steps.ts";

const victim = shareVictim();

interface World extends AsyncDisposable {
  readonly etcd: EtcdServer;
  /** The node's way to etcd. */
  readonly proxy: TcpProxy;
  readonly node: FaultNode;
  /** Config of calls that go by the proxy. */
  readonly byProxy: { readonly etcd_endpoints: string };
}

async function startWorld(flow: Flow): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const etcd = stack.use(await startInitialisedEtcd());
  const proxy = stack.use(new TcpProxy(etcd.port));
  const node = stack.use(await FaultNode.start(etcd, flow));
  await node.programPolicy();
  const owned = stack.move();
  const byProxy = { etcd_endpoints: `http://127.0.0.1:${proxy.port}` };
  return { etcd, proxy, node, byProxy, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function expectAddedByNextCalls({ node }: World): Promise<void> {
  await node.programPolicy();
  const added = await node.call("ADD");
  expect(findIncompleteness(node.flow, added, await node.changes())).toEqual([]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
}

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent("a lost reply to the commit costs nothing but time", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    const loseReply = beforeStep(isCommit, () => {
      proxy.mode = "drop";
      void proxy.firstFault.then(() => (proxy.mode = "pass"));
    });
    const added = await node.call("ADD", { config: byProxy, host: loseReply });
    expect(findIncompleteness(flow, added, await node.changes())).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    await expectAddedByNextCalls(world);
  });

  test.concurrent("a lost reply to the commit of a DEL costs nothing but time", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    expect((await node.call("ADD")).status).toBe(0);
    const loseReply = beforeStep(isCommit, () => {
      proxy.mode = "drop";
      void proxy.firstFault.then(() => (proxy.mode = "pass"));
    });
    expect((await node.call("DEL", { config: byProxy, host: loseReply })).stdout).toBe("");
    expect(await node.changes()).toEqual([]);
    await expectAddedByNextCalls(world);
  });

  test.concurrent("a commit whose reply is lost with all that follow is told, and the next DEL undoes it", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    const loseAll = beforeStep(isCommit, () => void (proxy.mode = "drop"));
    const reply = await node.call("ADD", { config: byProxy, host: loseAll });
    expect(reply.json).toMatchObject({ code: 11, msg: expect.stringMatching(/left behind|may have been applied/) });
    proxy.mode = "pass";
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.changes()).toEqual([]);
    await expectAddedByNextCalls(world);
  });

  test.concurrent("an etcd that stops before the commit leaves nothing of an ADD, and of a DEL what the next one takes", async () => {
    await using world = await startWorld(flow);
    const { node, etcd } = world;
    const reply = await node.call("ADD", { host: beforeStep(isCommit, () => etcd.stop()) });
    expect(reply.json?.code).toBe(11);
    await etcd.start();
    // What the way back could not reach is told.
    if (!/left behind/.test(reply.json?.msg ?? "")) expect(await node.changes()).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.changes()).toEqual([]);

    await node.programPolicy();
    expect((await node.call("ADD")).status).toBe(0);
    const removed = await node.call("DEL", { host: beforeStep(isCommit, () => etcd.stop()) });
    expect(removed.json?.code).toBe(11);
    await etcd.start();
    expect(hasLink(await node.changes())).toBe(false);
    expect((await node.call("DEL")).stdout).toBe("");
    await expectAddedByNextCalls(world);
  });

  test.concurrent("an etcd that hangs is given up on: a DEL has done the local work then", async () => {
    await using world = await startWorld(flow);
    const { node, etcd } = world;
    expect((await node.call("ADD")).status).toBe(0);
    await etcd.pause();
    const removed = await node.call("DEL");
    expect(removed.json).toMatchObject({ code: 11, msg: expect.stringContaining("no answer within 5 s") });
    etcd.resume();
    expect(hasLink(await node.changes())).toBe(false);
    expect((await node.call("DEL")).stdout).toBe("");
    await expectAddedByNextCalls(world);
  });

  test.concurrent("an etcd that hangs at the commit of an ADD may carry it out later: the next GC undoes it", async () => {
    await using world = await startWorld(flow);
    const { node, etcd } = world;
    const added = await node.call("ADD", { host: beforeStep(isCommit, () => etcd.pause()) });
    expect(added.json).toMatchObject({ code: 11, msg: expect.stringMatching(/left behind|may have been applied/) });
    etcd.resume();
    expect((await node.call("DEL")).stdout).toBe("");
    // Answered after all that etcd had received before it stood still.
    await etcd.ctl(["get", "/netplug/", "--prefix", "--keys-only"]);
    expect((await node.call("GC")).stdout).toBe("");
    await expectAddedByNextCalls(world);
  });
});

describe("of an own interface and own addresses", () => {
  const flow = NETPLUG;

  test.concurrent("what an ADD and its only DEL leave while etcd is away, the next container's DEL releases", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    const loseAll = beforeStep(isCommit, () => void (proxy.mode = "drop"));
    expect((await node.call("ADD", { config: byProxy, host: loseAll })).json?.code).toBe(11);
    expect((await node.call("DEL", { config: byProxy })).json?.code).toBe(11);
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.call("DEL", { containerID: "another", config: byProxy })).json?.code).toBe(11);
    proxy.mode = "pass";
    // A process of its own: it has three seconds for what others left, and in this one it would wait for all tests beside it.
    expect((await node.callVictim(victim.program, "DEL", 0, "before", { containerID: "another" })).reply.stdout).toBe("");
    expect(await node.verify()).toEqual([]);
    await expectAddedByNextCalls(world);
  });

  test.concurrent.each([
    ["names no usable datastore", { etcd_endpoints: "ftp://127.0.0.1" }],
    ["names credentials that are not there", { etcd_ca_cert_file: "/nowhere/ca.pem", etcd_endpoints: "https://127.0.0.1:1" }],
  ])("what a DEL leaves whose network config %s, the next container's DEL releases", async (_what, config) => {
    await using world = await startWorld(flow);
    const { node } = world;
    expect((await node.call("ADD")).status).toBe(0);
    expect((await node.call("DEL", { config })).status).toBe(1);
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.callVictim(victim.program, "DEL", 0, "before", { containerID: "another" })).reply.stdout).toBe("");
    expect(await node.verify()).toEqual([]);
    await expectAddedByNextCalls(world);
  });

  test.concurrent("what another DEL is about to release stays with a container that is added again meanwhile", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    expect((await node.call("ADD")).status).toBe(0);
    proxy.mode = "drop";
    expect((await node.call("DEL", { config: byProxy })).json?.code).toBe(11);
    let turns = 0;
    let adding: Promise<CniReply> | undefined;
    const waiting = Promise.withResolvers<void>();
    const tellThatItWaits = beforeTurn((path) => (path.endsWith("/unreleased.lock") ? void waiting.resolve() : undefined));
    // The first turn is for its own address, the second for those that are noted: it has looked which interfaces stand.
    const addMeanwhile = beforeTurn((path) => {
      if (!path.endsWith("/ipam.lock") || ++turns !== 2) return undefined;
      adding = node.call("ADD", { config: WITHOUT_WAIT, host: tellThatItWaits });
      return Promise.race([adding, waiting.promise]);
    });
    expect((await node.call("DEL", { containerID: "another", netns: "/run/netns/gone", host: addMeanwhile })).stdout).toBe("");
    const added = await adding;
    expect(added).toMatchObject({ status: 0 });
    expect(findIncompleteness(flow, added as CniReply, await node.changes())).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("what a DEL could not release stays with a container that is added again", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    expect((await node.call("ADD")).status).toBe(0);
    proxy.mode = "drop";
    expect((await node.call("DEL", { config: byProxy })).json?.code).toBe(11);
    const added = await node.call("ADD");
    expect((await node.call("DEL", { containerID: "another" })).stdout).toBe("");
    expect(findIncompleteness(flow, added, await node.changes())).toEqual([]);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent("a GC whose time is over says so once, whatever else failed", async () => {
  await using world = await startWorld(NETPLUG);
  const { node } = world;
  expect((await node.call("ADD")).status).toBe(0);
  const clock = fastClock();
  const hanging = (real: Host): Host =>
    withSteps({ ...real, clock }, (step, work) => {
      if (isRead(step)) return new Promise(() => {});
      if (step.name.includes(".start: delete")) throw new NetplugError("kernelRefused", "delete interface: EPERM");
      return work.whole();
    });
  clock.speedUp(100);
  const { json } = await node.call("GC", { host: hanging });
  expect(json).toMatchObject({ code: 109, details: "wait for the datastore: not done within 60 s" });
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

// Alone: the proxy that makes it slow shares a thread with the calls that wait for it.
describe.each(FLOWS)("$name", (flow) => {
  test("an etcd that is slow is waited for", async () => {
    await using world = await startWorld(flow);
    const { node, proxy, byProxy } = world;
    proxy.delayMs = 200;
    const added = await node.call("ADD", { config: byProxy });
    expect(findIncompleteness(flow, added, await node.changes())).toEqual([]);
    expect((await node.call("DEL", { config: byProxy })).stdout).toBe("");
    expect(await node.changes()).toEqual([]);
    await expectAddedByNextCalls(world);
  });
});
