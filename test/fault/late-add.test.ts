/**
 * An ADD or DEL of `netplug` that outlives its runtime, at each moment at which the same container may be added again in another namespace.
 */

import { describe, expect, test } from "bun:test";
import { readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cni/host.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import type { CniReply } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { afterStep, beforeStep, isCommit, isDelegate, isRead } from "./support/at-step.ts";
import { type Flow, HOST_LOCAL, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, findIncompleteness } from "./support/judge.ts";
import { ANOTHER, type FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";

const { startNode } = shareEtcd();

const OWN: Flow = { ...NETPLUG, waits: false };

/** Both namespaces of one container: the late ADD's, and that of the node's pod, in which it is added again. */
class Restart implements AsyncDisposable {
  readonly node: FaultNode;
  readonly old = new TestNetns();
  again: CniReply | undefined;

  private constructor(node: FaultNode) {
    this.node = node;
  }

  static async on(flow: Flow): Promise<Restart> {
    return new Restart(await startNode(flow));
  }

  /** Does what the next runtime does. @param ends whether it removes the old namespace */
  happen(ends: boolean): () => Promise<void> {
    return async () => {
      if (ends) this.old.delete();
      this.again = await this.node.call("ADD", { config: WITHOUT_WAIT });
      expect(this.again.stdout).toContain("10.");
    };
  }

  /** The second ADD has all that an ADD has, and its DEL leaves nothing. */
  async expectWhole(): Promise<void> {
    const { node, again } = this;
    if (again === undefined) throw new Error("the container was not added again");
    expect(findIncompleteness(node.flow, again, await node.changes())).toEqual([]);
    expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.call("DEL")).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.old[Symbol.dispose]();
    await this.node[Symbol.asyncDispose]();
  }
}

const ENDS = [
  ["its namespace is gone", true, 8],
  ["its namespace stands", false, 11],
] as const;

describe.each([OWN, HOST_LOCAL])("$name", (flow) => {
  describe.each(ENDS)("%s", (_, ends, code) => {
    const moments = [
      ["after it has read what there is", (happen: () => Promise<void>) => afterStep(isRead, happen)],
      ["when its commit is under way", (happen: () => Promise<void>) => beforeStep(isCommit, happen)],
      ["when its commit is done: what it had taken is adopted", (happen: () => Promise<void>) => afterStep(isCommit, happen)],
    ] as const;
    test.concurrent.each(moments)("the container is added again %s", async (_moment, at) => {
      await using restart = await Restart.on(flow);
      const late = await restart.node.call("ADD", { netns: restart.old.path, config: WITHOUT_WAIT, host: at(restart.happen(ends)) });
      // the kernel may be the first to refuse it: its interface was replaced
      expect([code, 109]).toContain(late.json?.code ?? 0);
      if (!ends) expect(restart.old.link("eth0")).toBeUndefined();
      await restart.expectWhole();
    });
  });
});

test.concurrent.each([OWN, HOST_LOCAL])("a DEL that outlives its runtime leaves what the container has again: $name", async (flow) => {
  await using restart = await Restart.on(flow);
  const { node, old } = restart;
  expect((await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT })).status).toBe(0);
  // A delegate that is at work already would release what the container gets meanwhile: nobody can call it back.
  const released = Promise.withResolvers<void>();
  if (flow === OWN) released.resolve();
  const tellReleased = afterStep(isDelegate, async () => released.resolve());
  const addAgain = afterStep(isRead, () => released.promise.then(restart.happen(true)));
  expect((await node.call("DEL", { netns: old.path, host: (real) => addAgain(tellReleased(real)) })).stdout).toBe("");
  await restart.expectWhole();
});

test.concurrent("a DEL that outlives its runtime, and then fails, leaves no release of what the container has again", async () => {
  await using restart = await Restart.on(OWN);
  const { node, old } = restart;
  expect((await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT })).status).toBe(0);
  const fail = async (): Promise<never> => {
    await restart.happen(true)();
    throw new NetplugError("tryAgainLater", "test: no answer");
  };
  expect((await node.call("DEL", { netns: old.path, host: beforeStep(isRead, fail) })).json?.code).toBe(11);
  expect(readdirSync(join(node.folder, "unreleased"))).toEqual([]);
  await restart.expectWhole();
});

test.concurrent("a newer interface is not taken for one that is in the way", async () => {
  await using restart = await Restart.on(OWN);
  const { node, old } = restart;
  const leftover = ["link", "add", node.hostInterface, "type", "veth", "peer", "name", "leftover"];
  old.must(["ip", "-n", node.hostNetns, ...leftover]);
  const late = await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT, host: afterStep(isCommit, restart.happen(false)) });
  expect(late.json).toMatchObject({ code: 11, msg: expect.stringContaining("a newer ADD has it in") });
  await restart.expectWhole();
});

/** Another call works in the namespace for a while. */
function whileBusy(happen: () => Promise<void>): (real: Host) => Host {
  let isBusy = true;
  return (real) => ({
    ...real,
    kernel: { ...real.kernel, lockNetns: (netns) => !isBusy && real.kernel.lockNetns(netns) },
    clock: {
      ...real.clock,
      async sleep(ms, signal) {
        if (isBusy) await happen();
        isBusy = false;
        await real.clock.sleep(ms, signal);
      },
    },
  });
}

test.concurrent("an ADD that has waited for another call in its namespace does not take the container back", async () => {
  await using restart = await Restart.on(OWN);
  const { node, old } = restart;
  const late = await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT, host: whileBusy(restart.happen(false)) });
  expect(late.json).toMatchObject({ code: 11, msg: expect.stringContaining("a newer ADD has it in") });
  await restart.expectWhole();
});

const HOUR_MS = 3_600_000;

describe("a DEL that began before the ADD does its work", () => {
  const host = (real: Host): Host => ({ ...real, processStartSinceBoot: () => real.sinceBoot() - HOUR_MS });

  test.concurrent("when it has another path of the same namespace", async () => {
    await using node = await startNode(OWN);
    expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
    const netns = join(node.folder, "netns");
    symlinkSync(node.pod.path, netns);
    expect((await node.call("DEL", { netns, host })).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("when it has none, and the ADD's is gone", async () => {
    await using restart = await Restart.on(OWN);
    const { node, old } = restart;
    expect((await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT })).status).toBe(0);
    old.delete();
    expect((await node.call("DEL", { netns: "", host })).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });
});

describe("in a folder that has outlived a boot, what an ADD wrote keeps no call from its work:", () => {
  const beforeBoot = (real: Host): Host => ({ ...real, sinceBoot: () => real.sinceBoot() + HOUR_MS });

  test.concurrent("a DEL without a namespace", async () => {
    await using node = await startNode(OWN);
    expect((await node.call("ADD", { config: WITHOUT_WAIT, host: beforeBoot })).status).toBe(0);
    expect((await node.call("DEL", { netns: "" })).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("an ADD of the same container", async () => {
    await using restart = await Restart.on(OWN);
    const { node, old } = restart;
    expect((await node.call("ADD", { netns: old.path, config: WITHOUT_WAIT, host: beforeBoot })).status).toBe(0);
    await restart.happen(true)();
    await restart.expectWhole();
  });
});
