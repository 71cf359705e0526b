/** `netplug-ipam` when those who called it are gone: what it gave is released, and never while anybody may use it. */

import { describe, expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import type { CniReply } from "../support/programs/cni.ts";
import { TestNetns } from "../support/node/netns.ts";
import { afterStep, beforeStep, beforeTurn, isCommit, isRead } from "./support/at-step.ts";
import { IPAM_ALONE } from "./support/flows.ts";
import { allocatedIn } from "./support/judge.ts";
import { ANOTHER, type CallOptions, type FaultNode, LATER } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";
import { withSteps } from "./support/steps.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** To an etcd that is away. */
const AWAY = { etcd_endpoints: "http://127.0.0.1:1" };

async function allocated(node: FaultNode): Promise<number> {
  return allocatedIn(await node.changes());
}

/**
 * As a process of its own, unless the host is another: what others left it has three seconds to release, and in this process it would
 * wait for all tests that run beside it.
 */
async function expectDel(node: FaultNode, options: CallOptions): Promise<void> {
  const call =
    options.host === undefined
      ? node.callVictim(victim.program, "DEL", 0, "before", options).then(({ reply }) => reply)
      : node.call("DEL", options);
  expect((await call).stdout).toBe("");
}

const unheard = (real: Host): Host => ({
  ...real,
  writeAnswer() {
    throw new Error("test: nobody reads it");
  },
});

describe("an ADD that outlives its DEL and its namespace", () => {
  test.concurrent("does not commit any more", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const end = async (): Promise<void> => {
      await expectDel(node, { netns: pod.path });
      pod.delete();
    };
    const late = beforeStep(isRead, end);
    const commits: string[] = [];
    const watched = (real: Host): Host =>
      withSteps(late(real), (step, work) => {
        if (isCommit(step)) commits.push(step.name);
        return work.whole();
      });
    const reply = await node.call("ADD", { netns: pod.path, host: watched });
    expect(commits).toEqual([]);
    expect(reply.json).toMatchObject({ code: 8, msg: expect.stringContaining("the container has ended meanwhile") });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("keeps nothing when its commit was under way", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const end = async (): Promise<void> => {
      await expectDel(node, { netns: pod.path });
      pod.delete();
    };
    const reply = await node.call("ADD", { netns: pod.path, host: beforeStep(isCommit, end) });
    expect(reply.json).toMatchObject({ code: 8 });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("nor when another DEL has looked for what is left before the commit came", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const end = async (): Promise<void> => {
      await expectDel(node, { netns: pod.path });
      pod.delete();
      await expectDel(node, ANOTHER);
      await expectDel(node, ANOTHER);
    };
    const reply = await node.call("ADD", { netns: pod.path, host: beforeStep(isCommit, end) });
    expect(reply.json).toMatchObject({ code: 8 });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("keeps nothing when the namespace still stands", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const reply = await node.call("ADD", {
      netns: pod.path,
      host: beforeStep(isCommit, () => expectDel(node, { netns: pod.path })),
    });
    expect(reply.json).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("is noted when it cannot be released: once the namespace is gone the next DEL does", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    let hasEnded = false;
    const end = async (): Promise<void> => {
      await expectDel(node, { netns: pod.path });
      hasEnded = true;
    };
    const late = beforeStep(isCommit, end);
    // Once its own commit is done nobody answers it any more.
    const cut = (real: Host): Host =>
      withSteps(late(real), (step, work) => {
        if (!hasEnded || !step.name.startsWith("openDatastore()")) return work.whole();
        return Promise.reject(new NetplugError("tryAgainLater", "nobody answers"));
      });
    expect((await node.call("ADD", { netns: pod.path, host: cut })).json).toMatchObject({ code: 11 });
    await expectDel(node, ANOTHER);
    expect(await allocated(node)).toBe(2);
    pod.delete();
    await expectDel(node, ANOTHER);
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("nor when the DEL failed as well", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const failingDel = async (): Promise<void> => {
      expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    };
    const reply = await node.call("ADD", { netns: pod.path, host: beforeStep(isCommit, failingDel) });
    expect(reply.json).toMatchObject({ code: 11, msg: expect.stringContaining("a DEL or GC has ended it meanwhile") });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("takes nothing from the same container in its next namespace", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    using next = new TestNetns();
    let ips: unknown;
    const restart = async (): Promise<void> => {
      pod.delete();
      const again = await node.call("ADD", { netns: next.path });
      expect(again.status).toBe(0);
      ips = again.json?.ips;
    };
    const late = await node.call("ADD", { netns: pod.path, host: afterStep(isCommit, restart) });
    expect(late.json).toMatchObject({ code: 8 });
    // Adopted by the second: what the first had taken is its own.
    expect(await allocated(node)).toBe(2);
    await expectDel(node, ANOTHER);
    expect(await allocated(node)).toBe(2);
    expect((await node.call("ADD", { netns: next.path })).json?.ips).toEqual(ips as never);
    await expectDel(node, { netns: next.path });
    expect(await node.verify()).toEqual([]);
  });
});

describe("an ADD whose answer nobody reads takes nothing from the same container that is added again in its namespace", () => {
  test.concurrent.each([
    ["after its DEL", true],
    ["without one", false],
  ])("%s", async (_when, hasDel) => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    let ips: unknown;
    const addAgain = beforeTurn(async (path) => {
      if (!path.endsWith("/unreleased.lock")) return;
      if (hasDel) await expectDel(node, { netns: pod.path });
      ips = (await node.call("ADD", { netns: pod.path })).json?.ips;
    });
    expect((await node.call("ADD", { netns: pod.path, host: (real) => addAgain(unheard(real)) })).status).toBe(1);
    expect(await allocated(node)).toBe(2);
    expect((await node.call("ADD", { netns: pod.path })).json?.ips).toEqual(ips as never);
    await expectDel(node, { netns: pod.path });
    expect(await node.verify()).toEqual([]);
  });
});

describe("an ADD that fails leaves what a newer one in its namespace may have sent to be released", () => {
  /** The commit is applied, and from then on nobody answers. */
  const losesReply = (real: Host): Host => {
    let isLost = false;
    return withSteps(real, (step, work) => {
      if (isLost && step.name.startsWith("openDatastore()")) return Promise.reject(new NetplugError("tryAgainLater", "nobody answers"));
      if (!isCommit(step)) return work.whole();
      isLost = true;
      return (work.whole() as Promise<unknown>).then(() => Promise.reject(new OutcomeUnknown("nobody answers")));
    });
  };
  const unreadable = (real: Host): Host =>
    withSteps(real, (step, work) => (isRead(step) ? Promise.reject(new NetplugError("accessDenied", "test: no")) : work.whole()));

  test.concurrent.each<[when: string, happens: (add: () => Promise<void>) => (real: Host) => Host, status: number]>([
    ["before it commits", (add) => (real) => beforeStep(isRead, add)(unreadable(real)), 108],
    [
      "as it gives its answer",
      (add) => (real) => beforeTurn((path) => (path.endsWith("/unreleased.lock") ? add() : undefined))(unheard(real)),
      1,
    ],
  ])("%s", async (_when, happens, status) => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    const addAgain = async (): Promise<void> => {
      expect((await node.call("ADD", { netns: pod.path, host: losesReply })).json?.code).toBe(11);
    };
    const reply = await node.call("ADD", { netns: pod.path, host: happens(addAgain) });
    expect(reply.json?.code ?? reply.status).toBe(status);
    expect(await allocated(node)).toBe(2);
    pod.delete();
    await expectDel(node, LATER);
    expect(await node.verify()).toEqual([]);
  });
});

describe("what a DEL could not release", () => {
  test.concurrent("stays with a container that is added again while another DEL is about to release it", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    using next = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    pod.delete();
    let adding: Promise<CniReply> | undefined;
    const waiting = Promise.withResolvers<void>();
    const tell = beforeTurn((path) => (path.endsWith("/unreleased.lock") ? void waiting.resolve() : undefined));
    // The first turn is for its own address, the second for those that are noted.
    let turns = 0;
    const addMeanwhile = beforeTurn((path) => {
      if (!path.endsWith("/ipam.lock") || ++turns !== 2) return undefined;
      adding = node.call("ADD", { netns: next.path, host: tell });
      return Promise.race([adding, waiting.promise]);
    });
    await expectDel(node, { ...ANOTHER, host: addMeanwhile });
    expect(await adding).toMatchObject({ status: 0 });
    expect(await allocated(node)).toBe(2);
    await expectDel(node, { netns: next.path });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent.each(["in a namespace", "in none"])("stays with a container that is added again, %s", async (where) => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    using place = new TestNetns();
    const next = { path: where === "in none" ? "/run/netns/npgt-never" : place.path };
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    expect((await node.call("ADD", { netns: next.path })).status).toBe(0);
    pod.delete();
    await expectDel(node, ANOTHER);
    expect(await allocated(node)).toBe(2);
    await expectDel(node, { netns: next.path });
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent.each([undefined, "/run/netns/npgt-never", "/dev/null"])(
    "is for its caller alone to release when CNI_NETNS is %p: nothing tells when its interface ends",
    async (netns) => {
      await using node = await startNode(IPAM_ALONE);
      expect((await node.call("ADD", { netns: netns ?? "/run/netns/npgt-never" })).status).toBe(0);
      const none = netns ?? "";
      expect((await node.call("DEL", { netns: none, config: AWAY })).json?.code).toBe(11);
      await expectDel(node, ANOTHER);
      expect(await allocated(node)).toBe(2);
      await expectDel(node, { netns: none });
      expect(await node.verify()).toEqual([]);
    },
  );

  test.concurrent(
    "is released by the next DEL where the namespace ended before the DEL failed: its main plugin was killed, say",
    async () => {
      await using node = await startNode(IPAM_ALONE);
      using pod = new TestNetns();
      expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
      pod.delete();
      expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
      await expectDel(node, ANOTHER);
      expect(await node.verify()).toEqual([]);
    },
  );

  test.concurrent("is released once the namespace of its ADD is gone where the DEL named none", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: "", config: AWAY })).json?.code).toBe(11);
    await expectDel(node, LATER);
    expect(await allocated(node)).toBe(2);
    pod.delete();
    await expectDel(node, LATER);
    expect(await node.verify()).toEqual([]);
  });

  test.concurrent("waits where the folder of the namespace is not to be seen", async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    const blind = (real: Host): Host => ({
      ...real,
      kernel: { ...real.kernel, openNetns: (path) => (path === pod.path ? undefined : real.kernel.openNetns(path)) },
      files: { ...real.files, list: (path) => (path === "/run/netns" ? undefined : real.files.list(path)) },
    });
    await expectDel(node, { ...ANOTHER, host: blind });
    expect(await allocated(node)).toBe(2);
    pod.delete();
    await expectDel(node, ANOTHER);
    expect(await node.verify()).toEqual([]);
  });
});
