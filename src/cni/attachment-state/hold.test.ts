import { describe, expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import type { LocalCall } from "../call.ts";
import { endHold } from "./ended-hold.ts";
import { Hold, type HoldState } from "./hold.ts";
import { readHold } from "./hold-note.ts";

const PATH = "/run/netns/a";
const FILE = "/run/netplug/attached/net@c1@eth0";

/** A node with two namespaces, before the process of any late call began. */
function createWorld(netns: string | undefined = PATH): LocalWorld {
  const world = createLocalWorld(netns);
  world.now = 5_000;
  Object.assign(world.namespaces, { [PATH]: "1", "/run/netns/b": "2" });
  return world;
}

/** Takes hold as a call in another namespace does, or of another plugin. */
function hold({ call }: LocalWorld, netns = call.environment.netns, plugin = call.plugin): Hold {
  const other = { ...call, plugin, environment: { ...call.environment, netns } } as LocalCall;
  return new Hold(other, netns === undefined ? undefined : call.host.kernel.openNetns(netns));
}

describe("a hold", () => {
  test.each<[state: HoldState, what: string, happens: (world: LocalWorld) => unknown, failure: string]>([
    ["held", "nothing else", () => undefined, ""],
    ["held", "another ADD in its namespace", (world) => hold(world), ""],
    ["ended", "a DEL", ({ call }) => endHold(call), "a DEL or GC has ended it meanwhile"],
    ["taken", "an ADD in another namespace", (world) => hold(world, "/run/netns/b"), 'a newer ADD has it in "/run/netns/b"'],
    ["taken", "an ADD of another plugin", (world) => hold(world, PATH, "netplug-ipam"), `a newer ADD has it in "${PATH}"`],
    ["unknown", "its file became unreadable", ({ files }) => (files[FILE] = null), ""],
  ])("is %s after %s", (state, _what, happens, failure) => {
    const world = createWorld();
    const held = hold(world);
    happens(world);
    expect(held.state()).toBe(state);
    if (failure === "") held.requireHeld();
    else expect(() => held.requireHeld()).toThrow(`add interface "eth0" of container "c1": ${failure}`);
  });

  test("is taken by an ADD in a namespace of the same path that was made anew", () => {
    const world = createWorld();
    const held = hold(world);
    world.namespaces[PATH] = "3";
    hold(world);
    expect(held.state()).toBe("taken");
    expect(() => held.requireHeld()).toThrow("it was removed");
  });

  test("in a namespace that nobody opened is told by its path", () => {
    const world = createWorld("/nowhere");
    const held = hold(world);
    hold(world, "/elsewhere");
    expect(held.state()).toBe("taken");
  });

  test("is unknown where it could not be written, whatever stands there", () => {
    const world = createWorld();
    const { files } = world.call.host;
    const writeAtomically = (): never => {
      throw new Error("no space");
    };
    const call = { ...world.call, host: { ...world.call.host, files: { ...files, writeAtomically } } };
    expect(hold({ ...world, call }).state()).toBe("unknown");
  });
});

test.each([
  ["netplug-ipam", true],
  ["netplug", false],
] as const)("an ADD of %s is superseded by a newer one in its namespace: %p; both go on", (plugin, isSuperseded) => {
  const world = createWorld();
  const call = { ...world.call, plugin };
  const held = hold({ ...world, call });
  expect(held.isSuperseded()).toBe(false);
  world.now++;
  hold({ ...world, call });
  expect(held.isSuperseded()).toBe(isSuperseded);
  expect(held.state()).toBe("held");
  held.requireHeld();
});

test("a hold that a DEL has ended can be taken again, and one that another has cannot", () => {
  const world = createWorld();
  const held = hold(world);
  endHold(world.call);
  held.retake();
  expect(held.state()).toBe("held");
  hold(world, "/run/netns/b");
  expect(() => held.retake()).toThrow("a newer ADD has it");
});

test("the success of an ADD is noted, the last one last, and never where a DEL has ended the hold", () => {
  const world = createWorld();
  const held = hold(world);
  expect(readHold(world.call)).toEqual({
    path: PATH,
    id: "1",
    plugin: "netplug",
    takenAt: 5_000,
    processId: 7,
    callerId: 6,
    succeededAt: NaN,
    isOver: false,
  });
  for (const now of [21_000, 22_000]) {
    world.now = now;
    held.noteSuccess();
    expect(readHold(world.call)?.succeededAt).toBe(now);
  }
  endHold(world.call);
  held.noteSuccess();
  expect(world.files[FILE]).toBeUndefined();
});

test.each<[who: string, netns: string, plugin: LocalCall["plugin"]]>([
  ["in another namespace", "/run/netns/b", "netplug"],
  ["of another plugin", PATH, "netplug-ipam"],
])(
  "the success of an ADD is not noted in the file of a newer one %s, which may still be under way when it is killed",
  (_who, netns, plugin) => {
    const world = createWorld();
    const late = hold(world);
    hold(world, netns, plugin);
    world.now = 21_000;
    late.noteSuccess();
    late[Symbol.dispose]();
    expect(readHold(world.call)).toMatchObject({ path: netns, succeededAt: NaN, isOver: false });
  },
);

test("a repeated ADD that fails hides no success from a GC", () => {
  const world = createWorld();
  const first = hold(world);
  const repeated = hold(world);
  world.now = 21_000;
  first.noteSuccess();
  repeated[Symbol.dispose]();
  expect(readHold(world.call)).toMatchObject({ succeededAt: 21_000, isOver: true });
});

test("the failure of an ADD of netplug-ipam is not noted in the file of another one in its namespace, which may be under way", () => {
  const world = createWorld();
  const first = hold(world, PATH, "netplug-ipam");
  world.now = 21_000;
  const second = hold(world, PATH, "netplug-ipam");
  first[Symbol.dispose]();
  expect(readHold(world.call)?.isOver).toBe(false);
  second[Symbol.dispose]();
  expect(readHold(world.call)?.isOver).toBe(true);
});

describe("a failed ADD is over only when nothing may arrive that was sent for it:", () => {
  const events = {
    sent: (held: Hold) => held.beforeCommit(),
    "left to others": ({ commits }: Hold) => commits.noteUnderWay(),
    applied: ({ commits }: Hold) => commits.onOutcome(true),
    refused: ({ commits }: Hold) => commits.onOutcome(false),
    recorded: ({ commits }: Hold) => commits.noteRecorded(),
  };
  test.each<[mayArrive: boolean, happened: readonly (keyof typeof events)[]]>([
    [false, []],
    [true, ["sent"]],
    [false, ["sent", "applied"]],
    [false, ["sent", "refused"]],
    [true, ["sent", "sent", "refused"]],
    [true, ["sent", "sent", "refused", "sent", "refused"]],
    [false, ["sent", "sent", "refused", "sent", "applied"]],
    [true, ["left to others"]],
    [true, ["left to others", "sent", "refused"]],
    [false, ["left to others", "sent", "applied"]],
    [false, ["left to others", "recorded"]],
    [true, ["sent", "recorded", "sent"]],
    [false, ["sent", "recorded", "sent", "refused"]],
  ])("something may arrive: %p, after %p", (mayArrive, happened) => {
    const world = createWorld();
    const held = hold(world);
    for (const event of happened) events[event](held);
    expect(held.commits.mayArrive).toBe(mayArrive);
    held[Symbol.dispose]();
    expect(readHold(world.call)?.isOver).toBe(!mayArrive);
  });
});

describe("a call that is late, because another ADD took hold after its process began at 10 000 ms,", () => {
  test.each<[what: string, takenAt: number, isLate: boolean, netns: string, there: object]>([
    ["is one", 10_021, true, PATH, {}],
    ["is none within the exactness of the kernel's clock", 10_020, false, PATH, {}],
    ["is one up to now", 20_000, true, PATH, {}],
    ["is none when that is in the future, of an earlier boot", 20_001, false, PATH, {}],
    ["is none in the other's namespace", 15_000, false, "/run/netns/b", {}],
    ["is none in the other's namespace under another path", 15_000, false, "/run/netns/link", { "/run/netns/link": "2" }],
    ["is none when the other's namespace was made anew", 15_000, false, PATH, { "/run/netns/b": "3" }],
    ["is one when its own namespace is gone", 15_000, true, "/run/netns/gone", {}],
  ])("%s", (_what, takenAt, isLate, netns, there) => {
    const world = createWorld(netns);
    world.now = takenAt;
    hold(world, "/run/netns/b");
    const before = world.files[FILE];
    world.now = 20_000;
    Object.assign(world.namespaces, there);
    const ended = endHold(world.call);
    expect([ended.hold?.plugin, ended.isTaken(), world.files[FILE] === before]).toEqual(["netplug", isLate, isLate]);
    world.files[FILE] = before ?? null;
    if (isLate) expect(() => hold(world)).toThrow('a newer ADD has it in "/run/netns/b"');
    else expect(hold(world).state()).toBe("held");
  });

  test.each([
    ["is none", "/nowhere", false],
    ["is one in another namespace", PATH, true],
  ])("and names a namespace that nobody opened, %s", (_what, netns, isLate) => {
    const world = createWorld(netns);
    world.now = 15_000;
    hold(world, "/nowhere");
    expect(endHold(world.call).isTaken()).toBe(isLate);
  });
});
