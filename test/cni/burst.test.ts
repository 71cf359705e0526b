/** Many ADDs at once on a node: whoever has its turn gives the others, who wait, their addresses too. */

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { takeLock } from "../../src/linux/flock.ts";
import type { CniReply } from "../support/programs/cni.ts";
import { standStill } from "../support/programs/stand-still.ts";
import { eventually } from "../support/time/eventually.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const PODS = 12;
const TOLD = "others in the queue got their addresses, too";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

const lockFile = (): string => join(node.folder, "ipam.lock");

/** Keeps all ADDs waiting until it is disposed of. */
async function holdTurn(): Promise<Disposable> {
  const held = await takeLock(lockFile(), { waitMs: 5_000, clock: systemClock });
  if (held === undefined) throw new Error("somebody has the turn");
  return held;
}

/** Requests that lie beside the lock. */
const requests = (): readonly string[] => (existsSync(`${lockFile()}.requests`) ? readdirSync(`${lockFile()}.requests`) : []);

async function untilAsked(count: number): Promise<void> {
  await eventually(() => {
    // Each is made first, and then written.
    const written = requests().filter((name) => readFileSync(join(`${lockFile()}.requests`, name), "utf8").endsWith("}"));
    if (written.length !== count) throw new Error(`${written.length} of ${count} wait`);
  }, 30_000);
}

const BOTH = { ipam: { assign_ipv4: "true", assign_ipv6: "true" } };

interface Started {
  readonly containerID: string;
  readonly pod: TestNetns;
  readonly reply: Promise<CniReply>;
}

function startAdd(pods: DisposableStack, pod: TestNetns = pods.use(new TestNetns())): Started {
  const containerID = node.newContainerID();
  return { containerID, pod, reply: node.call("ADD", { containerID, netns: pod.path, config: node.config(BOTH) }) };
}

const addressesOf = ({ json }: CniReply): readonly string[] => (json?.ips ?? []).map(({ address }) => address);

/** How many others each ADD gave addresses to. */
function countsTold(): readonly number[] {
  return node.logLines().flatMap((line) => (line["msg"] === TOLD ? [Number(line["count"])] : []));
}

test("all get different addresses of both families, most of them by another's commit; DELs release all", async () => {
  using pods = new DisposableStack();
  // The node has blocks from here on.
  const first = startAdd(pods);
  expect((await first.reply).status).toBe(0);
  const places = Array.from({ length: PODS }, () => pods.use(new TestNetns()));
  // They wait ten seconds, no longer, for a queue that does not move.
  const held = await holdTurn();
  const adds = places.map((place) => startAdd(pods, place));
  await untilAsked(PODS);
  held[Symbol.dispose]();
  const replies = await Promise.all(adds.map(({ reply }) => reply));
  expect(replies.map(({ status, stdout }) => (status === 0 ? "" : stdout)).join("")).toBe("");
  const addresses = replies.flatMap(addressesOf);
  expect(new Set(addresses).size).toBe(2 * PODS);
  for (const [i, { pod }] of adds.entries())
    expect([...pod.addresses("eth0")].sort()).toEqual([...addressesOf(replies[i] as CniReply)].sort());
  expect(countsTold()).toEqual([PODS - 1]);
  expect(await node.addressesInUse()).toBe(2 * PODS + 2);
  expect(await node.endpoints()).toHaveLength(PODS + 1);
  expect(requests()).toEqual([]);
  expect(JSON.parse(await node.ctl(["ipam", "check", "-o", "json"]))).toMatchObject({ problems: [] });
  await Promise.all([first, ...adds].map(({ containerID }) => node.del({ containerID, config: node.config(BOTH) })));
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toEqual([]);
});

/** The process of an ADD. */
function pidOf(containerID: string): number {
  const isIts = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`CNI_CONTAINERID=${containerID}`);
    } catch {
      return false; // it has ended
    }
  };
  return Number(readdirSync("/proc").find((name) => /^\d+$/.test(name) && isIts(name)));
}

/** An ADD that waits for its turn, and whose process is known. */
async function startWaiting(pods: DisposableStack): Promise<Started & { readonly pid: number }> {
  const others = requests().length;
  const started = startAdd(pods);
  await untilAsked(others + 1);
  return { ...started, pid: pidOf(started.containerID) };
}

/** One ADD that has the first turn, and another one that stands still in the queue, and gets its addresses from the first. */
async function metWhileStopped(
  pods: DisposableStack,
): Promise<{ readonly leader: Started; readonly stopped: Started & { readonly pid: number } }> {
  using held = await holdTurn();
  const leader = await startWaiting(pods);
  const stopped = await startWaiting(pods);
  await standStill(stopped.pid);
  const before = await node.addressesInUse();
  held[Symbol.dispose]();
  expect((await leader.reply).status).toBe(0);
  expect(await node.addressesInUse()).toBe(before + 4);
  return { leader, stopped };
}

describe("an ADD that somebody gave addresses to, and that", () => {
  test("is killed before it knows releases them by its DEL", async () => {
    using pods = new DisposableStack();
    const { leader, stopped } = await metWhileStopped(pods);
    process.kill(stopped.pid, "SIGKILL");
    await stopped.reply;
    await node.del({ containerID: stopped.containerID, netns: stopped.pod.path, config: node.config(BOTH) });
    expect(await node.addressesInUse()).toBe(2);
    await node.del({ containerID: leader.containerID, netns: leader.pod.path, config: node.config(BOTH) });
    expect(await node.addressesInUse()).toBe(0);
  });

  test("fails then has released them by itself", async () => {
    using pods = new DisposableStack();
    const { leader, stopped } = await metWhileStopped(pods);
    stopped.pod.delete();
    process.kill(stopped.pid, "SIGCONT");
    expect((await stopped.reply).json).toMatchObject({ code: 8 });
    expect(await node.addressesInUse()).toBe(2);
    await node.del({ containerID: leader.containerID, netns: leader.pod.path, config: node.config(BOTH) });
    expect(await node.addressesInUse()).toBe(0);
    expect(await node.endpoints()).toEqual([]);
  });
});

test("who is killed in the queue gets nothing, and its request does not stay", async () => {
  using pods = new DisposableStack();
  const held = await holdTurn();
  const [leader, killed] = [await startWaiting(pods), await startWaiting(pods)];
  process.kill(killed.pid, "SIGKILL");
  await killed.reply;
  held[Symbol.dispose]();
  expect((await leader.reply).status).toBe(0);
  expect(await node.addressesInUse()).toBe(2);
  // Cleared by whoever next reads what those in the queue want.
  const again = await metWhileStopped(pods);
  process.kill(again.stopped.pid, "SIGCONT");
  expect((await again.stopped.reply).status).toBe(0);
  expect(requests()).toEqual([]);
  for (const { containerID } of [leader, killed, again.leader, again.stopped]) await node.del({ containerID, config: node.config(BOTH) });
  expect(await node.addressesInUse()).toBe(0);
});

test("an ADD that asks for an address, and a repeated one, ask nobody: they have their own turns", async () => {
  using pods = new DisposableStack();
  const first = startAdd(pods);
  expect((await first.reply).status).toBe(0);
  const before = requests();
  const held = await holdTurn();
  const queue = (): readonly string[] => readdirSync(`${lockFile()}.line`);
  const again = node.call("ADD", { containerID: first.containerID, netns: first.pod.path, config: node.config(BOTH) });
  const [containerID, pod] = [node.newContainerID(), pods.use(new TestNetns())];
  const fixed = node.call("ADD", { containerID, netns: pod.path, args: "IP=10.65.0.77" });
  await eventually(() => expect(queue()).toHaveLength(2));
  expect(requests()).toEqual(before);
  held[Symbol.dispose]();
  expect(addressesOf(await fixed)).toEqual(["10.65.0.77/32"]);
  expect(addressesOf(await again)).toEqual(addressesOf(await first.reply));
  for (const id of [first.containerID, containerID]) await node.del({ containerID: id });
  expect(await node.addressesInUse()).toBe(0);
});
