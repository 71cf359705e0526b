import { expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { leavePending } from "./after-failed-del.ts";

const FILE = "/run/netplug/unreleased/net@c1@eth0";
const NETNS = "/run/netns/a";

/** A DEL in a namespace that exists, and that has no interface. */
function createWorld(plugin: string): LocalWorld {
  const world = createLocalWorld(NETNS);
  world.files["/run/netns"] = "";
  world.namespaces[NETNS] = "1";
  Object.assign(world.call, { plugin });
  Object.assign(world.call.host.kernel, { openRouteSocket: () => ({ transact: () => [], [Symbol.dispose]() {} }) });
  return world;
}

const nothing = (): void => {};
const withoutNetns = ({ namespaces }: LocalWorld): void => void delete namespaces[NETNS];
const withDanglingLink = (world: LocalWorld): void => {
  withoutNetns(world);
  world.files[NETNS] = "";
};
const withoutFolder = (world: LocalWorld): void => {
  withoutNetns(world);
  delete world.files["/run/netns"];
};
const noting =
  (text: string) =>
  ({ files }: LocalWorld): void =>
    void (files[FILE] = text);

test.each<[what: string, plugin: string, holder: string | undefined, change: (world: LocalWorld) => void, left: string | undefined]>([
  ["an interface of ours, which is gone, waits for nothing", "netplug", "netplug", nothing, "\n0\n\n"],
  ["an interface that nobody has held, and that is not there, waits for nothing", "netplug", undefined, nothing, "\n0\n\n"],
  ["an interface of another main plugin waits for the end of its namespace", "netplug", "netplug-ipam", nothing, `${NETNS}\n0\n1\n`],
  ["netplug-ipam waits for the end of the namespace", "netplug-ipam", "netplug-ipam", nothing, `${NETNS}\n0\n1\n`],
  ["an interface whose namespace is gone waits for nothing", "netplug", undefined, withoutNetns, "\n0\n\n"],
  ["an interface whose namespace may exist unseen is left to nobody", "netplug", undefined, withoutFolder, undefined],
  ["so is one whose namespace has a link for a name, which leads nowhere", "netplug", undefined, withDanglingLink, undefined],
  ["netplug-ipam without a namespace is left to nobody", "netplug-ipam", undefined, withoutNetns, undefined],
  [
    "netplug-ipam waits for the end of the ADD's namespace, which is gone",
    "netplug-ipam",
    "netplug-ipam",
    withoutNetns,
    `${NETNS}\n0\n1\n`,
  ],
  ["the same where that may exist unseen", "netplug-ipam", "netplug-ipam", withoutFolder, `${NETNS}\n0\n1\n`],
  [
    "the same namespace keeps what an earlier call knew",
    "netplug-ipam",
    undefined,
    noting(`${NETNS}\n5\n1\n10.65.0.7\nteam/web`),
    `${NETNS}\n5\n1\n10.65.0.7\nteam/web`,
  ],
  [
    "another namespace, which may have the addresses, stays as it is",
    "netplug",
    "netplug",
    noting("/run/netns/b\n5\n2\n"),
    "/run/netns/b\n5\n2\n",
  ],
])("what a DEL could not release: %s", (_what, plugin, holder, change, left) => {
  const world = createWorld(plugin);
  change(world);
  leavePending(world.call, holder === undefined ? undefined : { path: NETNS, id: "1", plugin: holder, isOver: true });
  expect(world.files[FILE]).toBe(left);
});

test.each([
  ["is gone", withoutNetns],
  ["stands", nothing],
])("a DEL of netplug-ipam in a namespace that %s waits for the end of the one in which the ADD was", (_how, change) => {
  const world = createWorld("netplug-ipam");
  change(world);
  leavePending(world.call, { path: "/run/netns/b", id: "2", plugin: "netplug-ipam", isOver: true });
  expect(world.files[FILE]).toBe("/run/netns/b\n0\n2\n");
});

test("a DEL of netplug-ipam in a namespace that is gone leaves nothing where the ADD was in none", () => {
  const world = createWorld("netplug-ipam");
  withoutNetns(world);
  leavePending(world.call, { path: NETNS, id: "", plugin: "netplug-ipam", isOver: true });
  expect(world.files[FILE]).toBeUndefined();
});

test("where nothing was noted ahead, the last request of a killed ADD is waited for", () => {
  const world = createWorld("netplug");
  leavePending(world.call, { path: NETNS, id: "1", plugin: "netplug", isOver: false });
  expect(world.files[FILE]).toBe(`\n${world.clock.now() + LONGEST_ADD_MS}\n\n`);
});

test.each(["netplug", "netplug-ipam"])(
  "a DEL of %s whose namespace is that of a process that has ended leaves nothing: others may be in it",
  (plugin) => {
    const world = createWorld(plugin);
    const path = "/proc/7/ns/net";
    world.files["/proc/7/ns"] = "";
    Object.assign(world.call.environment, { netns: path });
    leavePending(world.call, { path, id: "1", plugin: "netplug-ipam", isOver: true });
    expect(world.files[FILE]).toBeUndefined();
  },
);

test.each(["/proc/7/ns/net", "/proc/7/fd/9"])(
  "so does one in such a namespace while the process has it, for nobody would see the end of it: %s",
  (path) => {
    const world = createWorld("netplug-ipam");
    world.files[path.slice(0, path.lastIndexOf("/"))] = "";
    world.namespaces[path] = "1";
    Object.assign(world.call.environment, { netns: path });
    leavePending(world.call, { path, id: "1", plugin: "netplug-ipam", isOver: true });
    expect(world.files[FILE]).toBeUndefined();
  },
);
