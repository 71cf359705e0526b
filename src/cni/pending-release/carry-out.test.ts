import { expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { isAnyDue } from "./carry-out.ts";

const PATH = "/run/netns/a";
const FILE = "net@c2@eth0";

/** Whether a release can be carried out. @param note of which the time counts from now */
function isDue([path, leftMs, id]: readonly [path: string, leftMs: number, id: string], change: (world: LocalWorld) => void): boolean {
  const world = createLocalWorld();
  world.files["/run/netns"] = "";
  world.files[`/run/netplug/unreleased/${FILE}`] = [path, leftMs === 0 ? 0 : world.clock.now() + leftMs, id].join("\n");
  change(world);
  return isAnyDue(world.call);
}

const holdIn =
  (path: string, id: string) =>
  ({ files }: LocalWorld): void => {
    files[`/run/netplug/attached/${FILE}`] = [path, id, "netplug", 1, 2, 3].join("\n");
  };
const nothing = (): void => {};

/** A zombie has a folder, and no namespace in it. */
const withFolder =
  (path: string) =>
  ({ files }: LocalWorld): void => {
    files[path] = "";
  };

function beginAtSecond({ call, files }: LocalWorld): void {
  files["/run/netplug/unreleased/net@c3@eth0"] = "/elsewhere/a\n0\n1";
  Object.assign(call.host, { random: () => 0.5 });
}

test.each<[what: string, note: readonly [path: string, leftMs: number, id: string], change: (world: LocalWorld) => void, isNow: boolean]>([
  ["of an interface that is gone", ["", 0, ""], nothing, true],
  ["that another ADD has by now", ["", 0, ""], holdIn(PATH, "1"), false],
  ["that another ADD without a namespace has by now", ["", 0, ""], holdIn("", ""), false],
  ["whose namespace is gone", [PATH, 0, "1"], nothing, true],
  ["whose namespace exists", [PATH, 0, "1"], ({ namespaces }) => (namespaces[PATH] = "1"), false],
  ["whose namespace may exist unseen", ["/elsewhere/a", 0, "1"], nothing, false],
  ["whose process has ended, while others may be in its namespace", ["/proc/7/ns/net", 0, "1"], withFolder("/proc/7/ns"), false],
  ["whose process has closed the namespace, which others may have", ["/proc/7/fd/12", 0, "1"], withFolder("/proc/7/fd"), false],
  ["whose namespace is gone, and was called almost as that of a process", ["/run/netns/net", 0, "1"], nothing, true],
  ["whose namespace has a link for a name, which leads to a process that has ended", [PATH, 0, "1"], withFolder(PATH), false],
  [
    "whose namespace is gone from a folder that is called as those of processes",
    ["/run/ns/net/a", 0, "1"],
    withFolder("/run/ns/net"),
    true,
  ],
  ["whose own ADD held it last", [PATH, 0, "1"], holdIn(PATH, "1"), true],
  ["that an ADD in another namespace has", [PATH, 0, "1"], holdIn("/run/netns/b", "1"), false],
  ["that an ADD in a namespace of the same path has", [PATH, 0, "1"], holdIn(PATH, "2"), false],
  ["whose ADD may run", [PATH, 1, "1"], nothing, false],
  ["whose ADD may run for as long as any", [PATH, LONGEST_ADD_MS, "1"], nothing, false],
  ["whose ADD would run longer than any: the clock was set back", [PATH, LONGEST_ADD_MS + 1, "1"], nothing, true],
  ["whose ADD must be over", [PATH, -1, "1"], nothing, true],
  ["of another network", ["", 0, ""], ({ files }) => void rename(files, "other@c2@eth0"), false],
  ["that was not written to its end", ["", 0, ""], ({ files }) => void rename(files, `${FILE}.1.2.tmp`), false],
  ["of which the half is lost", ["", 0, ""], ({ files }) => (files[`/run/netplug/unreleased/${FILE}`] = ""), false],
  ["behind one that is not due, where a look begins in the middle", ["", 0, ""], beginAtSecond, true],
  ["beside one that cannot be read", ["", 0, ""], ({ files }) => (files["/run/netplug/unreleased/net@c1@eth0"] = null), true],
])("a pending release %s", (_what, note, change, isNow) => {
  expect(isDue(note, change)).toBe(isNow);
});

function rename(files: LocalWorld["files"], name: string): void {
  files[`/run/netplug/unreleased/${name}`] = files[`/run/netplug/unreleased/${FILE}`] ?? null;
  delete files[`/run/netplug/unreleased/${FILE}`];
}
