/** An etcd with users: what their passwords cost a node. */

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AS_ROOT, PASSWORD, switchUsersOn } from "../datastore/users.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

let config: Json;
const node = share(
  () => TestNode.start(),
  async (node) => {
    await switchUsersOn(node.etcd);
    config = node.config({ etcd_username: "netplug", etcd_password: PASSWORD });
  },
);

/** @returns how many round trips the ADD made */
async function addAndDel(): Promise<unknown> {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  await node.add(pod, { containerID, config });
  const roundTrips = node.logLines().findLast(({ msg }) => msg === "ledger")?.["roundTrips"];
  await node.del({ containerID, netns: pod.path, config });
  return roundTrips;
}

test("one call logs in for all others of its node, and says so to nobody", async () => {
  // The log-in, the places for the node's first block; then reads and commit.
  expect([await addAndDel(), await addAndDel(), await addAndDel()]).toEqual([4, 2, 2]);
  const folder = join(node.folder, "etcd-tokens");
  const [file = "", ...more] = readdirSync(folder);
  expect(more).toEqual([]);
  const { token } = JSON.parse(readFileSync(join(folder, file), "utf8")) as { token: string };
  const log = readFileSync(node.logFile, "utf8");
  expect(log).not.toContain(token);
  expect(log).not.toContain(PASSWORD);
});

test("one call finds out for all others that users were switched off, and that the token is worth nothing", async () => {
  await addAndDel();
  await node.etcd.ctl(["auth", "disable", ...AS_ROOT]);
  // A request with the token that was kept, and is refused; a log-in; reads and commit. Nobody keeps that there are no users.
  expect([await addAndDel(), await addAndDel(), await addAndDel()]).toEqual([4, 3, 3]);
  await node.etcd.ctl(["auth", "enable"]);
  expect([await addAndDel(), await addAndDel()]).toEqual([3, 2]);
});

test("a user takes over pods from another one of the same role, whose password nobody knows any more", async () => {
  using pod = new TestNetns();
  const call = { containerID: node.newContainerID(), netns: pod.path };
  const prevResult = await node.add(pod, { ...call, config });
  await node.etcd.ctl(["user", "passwd", "netplug", "--interactive=false", ...AS_ROOT], [], "another\n");
  expect((await node.call("CHECK", { ...call, config: { ...config, prevResult } })).json?.code).toBe(108);
  await node.etcd.ctl(["user", "add", `second:${PASSWORD}`, ...AS_ROOT]);
  await node.etcd.ctl(["user", "grant-role", "second", "netplug", ...AS_ROOT]);
  const stored = async (): Promise<string> => await node.etcd.ctl(["get", "--prefix", "/netplug/", ...AS_ROOT]);
  expect(await stored()).toContain(call.containerID);
  await node.del({ ...call, config: { ...config, etcd_username: "second" } });
  expect(await stored()).not.toContain(call.containerID);
});
