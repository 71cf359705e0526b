import { expect, test } from "bun:test";
import { createLocalWorld, type LocalWorld } from "../../../test/support/calls/local-call.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { NO_CONDITION, type PendingRelease } from "../attachment-state/pending-file.ts";
import type { Call } from "../call.ts";
import { gatherLeftovers } from "./leftovers.ts";
import type { PendingOfDel } from "./while-deleting.ts";

const RUN = "/run/netplug";

/** @param changes of the call; it is one of `netplug` for which the runtime gives no result of an ADD */
function createWorld(changes: object = {}): LocalWorld & { readonly call: Call } {
  const world = createLocalWorld();
  world.now = 1_000_000;
  world.files["/run/netns"] = "";
  return Object.assign(world, { call: { ...world.call, ...changes } as Call });
}

/** The DEL's own. @param written undefined: it has written none */
const pendingOfDel = (written: PendingRelease | undefined): PendingOfDel => ({ write: () => {}, drop: () => {}, afterDel: () => written });

const WRITTEN: PendingRelease = { ...NO_CONDITION, until: 0, addresses: [] };

test.each([
  ["an ADD that has failed, for all that the runtime knows,", undefined, 300, 256],
  ["an ADD whose result the runtime knows", {}, 300, 16],
])("a DEL after %s makes pending releases of stale holds", async (_what, prevResult, holds, releases) => {
  const world = createWorld();
  const { call, files } = world;
  for (let i = 0; i < holds; i++)
    files[`${RUN}/attached/net@other${i}@eth0`] = `/run/netns/a\n1\nnetplug\n${world.now - LONGEST_ADD_MS - 1}\n2\n3`;
  expect(await gatherLeftovers({ ...call, config: { ...call.config, prevResult } } as Call, pendingOfDel(undefined))).toBe(true);
  expect(Object.keys(files).filter((path) => path.startsWith(`${RUN}/unreleased/`))).toHaveLength(releases);
});

test.each(["netplug", "netplug-ipam"])("the DEL of %s looks whether a pending release is due", async (plugin) => {
  const { call, files, namespaces } = createWorld({ plugin });
  expect(await gatherLeftovers(call, undefined)).toBe(false);
  namespaces["/run/netns/b"] = "1";
  files[`${RUN}/unreleased/net@waits@eth0`] = "/run/netns/b\n0\n1";
  expect(await gatherLeftovers(call, undefined)).toBe(false);
  files[`${RUN}/unreleased/net@other@eth0`] = "\n0\n";
  expect(await gatherLeftovers(call, undefined)).toBe(true);
});

test("a pending release of the DEL's own is none that is due", async () => {
  const { call, files } = createWorld();
  files[`${RUN}/unreleased/net@c1@eth0`] = "\n0\n";
  expect(await gatherLeftovers(call, pendingOfDel(WRITTEN))).toBe(false);
  files[`${RUN}/unreleased/net@other@eth0`] = "\n0\n";
  expect(await gatherLeftovers(call, pendingOfDel(WRITTEN))).toBe(true);
});

test.each([
  ["only those of its network's attachments", {}, false],
  ["those of the node's own files, too, after an ADD that failed", undefined, true],
])("a DEL removes what killed calls left unfinished: %s", async (_what, prevResult, areAllRemoved) => {
  const { call, files } = createWorld();
  const [ofNode, ofNetwork] = [`${RUN}/blocks.json.9.0.tmp`, `${RUN}/attached/net@c2@eth0.9.0.tmp`];
  files[ofNode] = files[ofNetwork] = "";
  await gatherLeftovers({ ...call, config: { ...call.config, prevResult } } as Call, pendingOfDel(undefined));
  expect([ofNetwork in files, ofNode in files]).toEqual([false, !areAllRemoved]);
});
