import { describe, expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { Netns } from "../../linux/netns.ts";
import { CommitsUnderWay, Hold, type HoldInUndo, type HoldState } from "../attachment-state/hold.ts";
import type { HoldNote } from "../attachment-state/hold-note.ts";
import { unlessTaken } from "./after-failed-add.ts";
import { cancelPending } from "./cancel.ts";
import { type PendingOfAdd, preparePendingOfAdd } from "./while-adding.ts";
import { type PendingOfDel, preparePendingOfDel } from "./while-deleting.ts";

const FILE = "/run/netplug/unreleased/net@c1@eth0";
const ATTACHED = "/run/netplug/attached/net@c1@eth0";
const PLACE = { path: "/run/netns/a", id: "1" };
const HELD = { ...PLACE, plugin: "netplug", isOver: true } as HoldNote;

const inState = (state: HoldState, isSuperseded = false): HoldInUndo => ({
  state: () => state,
  isSuperseded: () => isSuperseded,
  commits: new CommitsUnderWay(),
});

/** Of an ADD whose commit may still arrive. */
function withCommit(): HoldInUndo {
  const commits = new CommitsUnderWay();
  commits.noteUnderWay();
  return { ...inState("held"), commits };
}

function untilOf({ clock }: LocalWorld): string {
  return `/run/netns/a\n${clock.now() + LONGEST_ADD_MS}\n1\n`;
}

function fails(message: string): never {
  throw new Error(message);
}

/** The pending release of a DEL, where an ADD has the attachment. */
function pendingOfDel({ call, files }: LocalWorld): PendingOfDel {
  files[ATTACHED] = "";
  const pending = preparePendingOfDel(call);
  delete files[ATTACHED];
  if (pending === undefined) throw new Error("no hold was found");
  return pending;
}

/** That of an ADD of netplug-ipam. */
function pendingOfAdd({ call }: LocalWorld, hold: HoldInUndo): PendingOfAdd {
  const pending = preparePendingOfAdd(call, PLACE as Netns, hold);
  if (pending === undefined) throw new Error("the namespace's end would be seen");
  return pending;
}

describe("the pending release of a DEL under way", () => {
  test.each(["netplug", "netplug-ipam"])("stands until the DEL has released what there is, of an ADD of %s", (plugin) => {
    const world = createLocalWorld();
    const pending = pendingOfDel(world);
    pending.write({ ...HELD, plugin });
    expect(world.files).toEqual({ [FILE]: untilOf(world) });
    pending.drop();
    expect(world.files).toEqual({});
  });

  test("stays when the DEL has released what there is, but the last request of a killed ADD may arrive", () => {
    const world = createLocalWorld();
    const pending = pendingOfDel(world);
    pending.write({ ...HELD, isOver: false });
    pending.drop();
    expect(world.files).toEqual({ [FILE]: untilOf(world) });
  });

  test("is none where no ADD has the attachment", () => {
    expect(preparePendingOfDel(createLocalWorld().call)).toBeUndefined();
  });

  test.each([
    ["that nobody opened", { id: "" }],
    ["that only a process names", { path: "/proc/7/ns/net" }],
  ])("is not made for a hold of a namespace %s", (_what, held) => {
    const world = createLocalWorld();
    pendingOfDel(world).write({ ...HELD, ...held });
    expect(world.files).toEqual({});
  });

  test("stays where an ADD has taken the attachment meanwhile, which may have written one in its place", () => {
    const world = createLocalWorld();
    const pending = pendingOfDel(world);
    pending.write(HELD);
    const files = { [FILE]: "of the ADD", [ATTACHED]: "of the ADD" };
    Object.assign(world.files, files);
    pending.drop();
    expect(world.files).toEqual(files);
  });

  test("neither replaces nor ends an earlier one", () => {
    const world = createLocalWorld();
    world.files[FILE] = "earlier";
    const pending = pendingOfDel(world);
    pending.write(HELD);
    pending.drop();
    expect(world.files).toEqual({ [FILE]: "earlier" });
  });
});

describe("the pending release of an ADD of netplug-ipam", () => {
  test.each(["drop", "leave"] as const)("stays as it is when a newer one in the namespace may have written it: %s", (end) => {
    const world = createLocalWorld();
    const mark = pendingOfAdd(world, inState("held", true));
    mark.write();
    mark[end]();
    expect(world.files[FILE]).toBe(untilOf(world));
  });

  test.each<[state: HoldState, isIts: boolean]>([
    ["held", true],
    ["ended", true],
    ["taken", false],
    ["unknown", false],
  ])("is its own to end or to keep when the attachment is %s: %p", (state, isIts) => {
    for (const end of ["drop", "leave"] as const) {
      const world = createLocalWorld();
      const mark = pendingOfAdd(world, inState(state));
      mark.write();
      const before = untilOf(world);
      expect(world.files[FILE]).toBe(before);
      mark[end]();
      expect(world.files[FILE]).toBe(!isIts ? before : end === "drop" ? undefined : "/run/netns/a\n0\n1\n");
    }
  });

  test.each([
    ["no namespace", undefined],
    ["one that only a process names", { path: "/proc/7/ns/net", id: "1" }],
  ])("is none in %s: nobody would see the end of it", (_what, netns) => {
    expect(preparePendingOfAdd(createLocalWorld().call, netns as Netns | undefined, inState("held"))).toBeUndefined();
  });

  test("is kept for as long as what it has sent may arrive", async () => {
    const world = createLocalWorld();
    const mark = pendingOfAdd(world, withCommit());
    await world.clock.advance(1);
    mark.leave();
    expect(world.files[FILE]).toBe(untilOf(world));
  });
});

const lockedBy =
  (others: boolean) =>
  ({ call }: LocalWorld): void =>
    void (others && Object.assign(call.host, { takeLock: async () => undefined }));

test.each<[state: HoldState, others: boolean, done: string, left: string | undefined]>([
  ["held", false, "done", undefined],
  ["ended", false, "done", undefined],
  ["taken", false, "not done", undefined],
  ["unknown", false, "tell whether a newer ADD has them: nothing is noted on the node", undefined],
  ["held", true, "being released", "\n0\n\n"],
])("what undoes a step of an ADD, when the attachment is %s, and others hold the lock: %p", async (state, others, done, left) => {
  const world = createLocalWorld();
  lockedBy(others)(world);
  const seen: string[] = [];
  const work = async (): Promise<void> => {
    await new Promise(setImmediate);
    seen.push("done", world.files[FILE] ?? "no file");
  };
  const failure = await unlessTaken(world.call, inState(state), work).catch((thrown: unknown) => thrown);
  expect(failure === undefined ? (seen[0] ?? "not done") : (failure as Error).message).toContain(done);
  expect(seen.slice(1)).toEqual(done === "done" ? ["\n0\n\n"] : []);
  expect(world.files[FILE]).toBe(left);
});

test.each([
  ["stays for as long as what the ADD has sent may arrive", "netplug-ipam", `\n${fakeClock().now() + LONGEST_ADD_MS}\n\n`],
  ["goes where that changes no block of ours", "host-local", undefined],
])("the pending release of what undoes a step %s", async (_what, type, left) => {
  const world = createLocalWorld();
  Object.assign(world.call.config, { ipam: { type } });
  await unlessTaken(world.call, withCommit(), async () => {});
  expect(world.files[FILE]).toBe(left);
});

describe.each([
  ["the namespace", inState("held", true)],
  ["another namespace", inState("taken")],
])("what undoes a step takes nothing from a newer ADD in %s", (_where, hold) => {
  test.each<Readonly<Record<string, string>>>([{}, { [FILE]: "/run/netns/b\n5\n2\n" }])(
    "and leaves its pending release as it is: %p",
    async (files) => {
      const world = createLocalWorld();
      Object.assign(world.files, files);
      await unlessTaken(world.call, hold, () => Promise.reject(new Error("it does")));
      expect(world.files).toEqual(files);
    },
  );
});

test("what undoes a step leaves an earlier pending release as it is where others hold the lock", async () => {
  const world = createLocalWorld();
  lockedBy(true)(world);
  world.files[FILE] = "/run/netns/b\n0\n2\n";
  await expect(unlessTaken(world.call, inState("held"), async () => {})).rejects.toThrow("being released");
  expect(world.files[FILE]).toBe("/run/netns/b\n0\n2\n");
});

test.each<[what: string, text: string | null, mayArrive: boolean]>([
  ["whose minute is over", "\n0\n\n", false],
  ["in whose minute something may arrive", `\n${fakeClock().now() + 1}\n\n`, true],
  ["that cannot be read", null, false],
])("an ADD that cancels a pending release %s counts what was sent before as its own: %p", async (_what, text, mayArrive) => {
  const world = createLocalWorld();
  world.files[FILE] = text;
  const hold = new Hold(world.call, undefined);
  await cancelPending(world.call, hold.commits);
  expect(world.files[FILE]).toBeUndefined();
  expect(hold.commits.mayArrive).toBe(mayArrive);
});

test.each<[what: string, writeOwn: (world: LocalWorld) => void, left: string | undefined]>([
  ["takes the place of what it cancels", (world: LocalWorld) => void (world.files[FILE] = "own"), "own"],
  ["goes with what it cancels where it cannot be written", () => fails("no space left"), undefined],
])("an ADD's own pending release %s", async (_what, writeOwn, left) => {
  const world = createLocalWorld();
  world.files[FILE] = "\n0\n\n";
  const removed: string[] = [];
  const { remove } = world.call.host.files;
  Object.assign(world.call.host.files, { remove: (path: string) => (removed.push(path), remove(path)) });
  const commits = new CommitsUnderWay();
  await cancelPending(world.call, commits, () => writeOwn(world));
  expect(commits.mayArrive).toBe(false);
  expect(world.files).toEqual(left === undefined ? {} : { [FILE]: left });
  expect(removed).toEqual(left === undefined ? [FILE] : []);
});

test("an ADD cancels a pending release, unless it is being carried out", async () => {
  const world = createLocalWorld();
  world.files[FILE] = "\n0\n\n";
  const commits = new CommitsUnderWay();
  await cancelPending(world.call, commits);
  expect(world.files).toEqual({});
  lockedBy(true)(world);
  await cancelPending(world.call, commits);
  world.files[FILE] = "\n0\n\n";
  await expect(cancelPending(world.call, commits)).rejects.toThrow("the addresses of an earlier call are being released");
  expect(world.files[FILE]).toBe("\n0\n\n");
  expect(commits.mayArrive).toBe(false);
});
