import { describe, expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { toPendingOfStaleHolds } from "./from-stale-holds.ts";

const FILE = "net@c2@eth0";
const HELD = `/run/netplug/attached/${FILE}`;
const PENDING = `/run/netplug/unreleased/${FILE}`;

interface Held {
  readonly path?: string;
  readonly id?: string;
  readonly plugin?: string;
  readonly ageMs?: number;
}

/** A node with one hold, whose namespace is gone. */
function createWorld({ path = "/run/netns/a", id = "1", plugin = "netplug", ageMs = LONGEST_ADD_MS + 1 }: Held = {}): LocalWorld {
  const world = createLocalWorld();
  world.now = 1_000_000;
  world.files["/run/netns"] = "";
  world.files[HELD] = [path, id, plugin, world.now - ageMs, 2, 3].join("\n");
  return world;
}

function move(files: LocalWorld["files"], name: string): void {
  files[`/run/netplug/attached/${name}`] = files[HELD] ?? null;
  delete files[HELD];
}

test.each([
  ["whose ADD must be over", LONGEST_ADD_MS + 1],
  ["of an earlier boot, in a folder that was not cleared", -1],
])("a hold %s, and whose namespace is gone, becomes a pending release", (_what, ageMs) => {
  const world = createWorld({ ageMs });
  toPendingOfStaleHolds(world.call, 16);
  expect(world.files).toEqual({ "/run/netns": "", [PENDING]: "/run/netns/a\n0\n1\n" });
});

describe("a hold stays", () => {
  test.each<[what: string, held: Held, change: (world: LocalWorld) => void]>([
    ["whose ADD may run", { ageMs: LONGEST_ADD_MS }, () => {}],
    ["whose ADD may wait for the policy", { ageMs: LONGEST_ADD_MS + 10_000 }, waitForPolicy],
    ["of another plugin", { plugin: "netplug-ipam" }, () => {}],
    ["of a namespace that nobody opened", { id: "" }, () => {}],
    ["whose namespace exists", {}, ({ namespaces }) => (namespaces["/run/netns/a"] = "2")],
    ["whose namespace may exist unseen", { path: "/elsewhere/a" }, () => {}],
    ["of another network", {}, ({ files }) => move(files, "other@c2@eth0")],
    ["of the call's own attachment", {}, ({ files }) => move(files, "net@c1@eth0")],
    ["beside a damaged pending release", {}, ({ files }) => (files[PENDING] = "")],
  ])("%s", (_what, held, change) => {
    const world = createWorld(held);
    change(world);
    const before = { ...world.files };
    toPendingOfStaleHolds(world.call, 16);
    expect(world.files).toEqual(before);
  });

  test("that an ADD takes meanwhile", () => {
    const world = createWorld();
    const { files } = world.call.host;
    const writeAtomically: typeof files.writeAtomically = (...args) => {
      files.writeAtomically(...args);
      world.files[HELD] = ["/run/netns/b", "2", "netplug", world.now, 2, 3].join("\n");
    };
    Object.assign(world.call.host, { files: { ...files, writeAtomically } });
    toPendingOfStaleHolds(world.call, 16);
    expect(world.files[HELD]).toStartWith("/run/netns/b");
  });
});

test.each<[what: string, change: (world: LocalWorld) => void]>([
  ["whose ADD no longer waits for the policy", waitForPolicy],
  ["beside a pending release, which stays as it is", leavePending],
  ["beside one that cannot be read", damageAnother],
  ["behind another one, where a look begins in the middle", beginAtSecond],
])("a hold goes %s", (_what, change) => {
  const world = createWorld({ ageMs: LONGEST_ADD_MS + 10_001 });
  change(world);
  const pending = world.files[PENDING] ?? "/run/netns/a\n0\n1\n";
  toPendingOfStaleHolds(world.call, 16);
  expect([world.files[HELD], world.files[PENDING]]).toEqual([undefined, pending]);
});

test.each([
  ["first", 0, "c2"],
  ["second", 0.5, "c3"],
])("a look at one hold begins at a random one: the %s", (_which, random, containerID) => {
  const { call, files } = createWorld();
  files["/run/netplug/attached/net@c3@eth0"] = files[HELD] ?? null;
  Object.assign(call.host, { random: () => random });
  toPendingOfStaleHolds(call, 1);
  expect(Object.keys(files).filter((path) => path.includes("unreleased"))).toEqual([`/run/netplug/unreleased/net@${containerID}@eth0`]);
});

function waitForPolicy({ call }: LocalWorld): void {
  Object.assign(call.config, { policySetupTimeoutMs: 10_000 });
}

function leavePending({ files }: LocalWorld): void {
  files[PENDING] = "/run/netns/b\n0\n9\n";
}

function damageAnother({ files }: LocalWorld): void {
  const held = files[HELD] ?? null;
  delete files[HELD];
  Object.assign(files, { "/run/netplug/attached/net@c0@eth0": null, [HELD]: held });
}

function beginAtSecond({ call, files }: LocalWorld): void {
  files["/run/netplug/attached/net@c3@eth0"] = "";
  Object.assign(call.host, { random: () => 0.5 });
}
