/** An etcd with users: what their passwords cost a node. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PASSWORD, switchUsersOn } from "../datastore/users.ts";
import { TestNetns } from "../support/netns.ts";
import { TestNode } from "../support/test-node.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start();
  await switchUsersOn(node.etcd);
});
afterAll(async () => await node[Symbol.asyncDispose]());

test("one call logs in for all others of its node, and says so to nobody", async () => {
  const config = node.config({ etcd_username: "netplug", etcd_password: PASSWORD });
  const roundTrips: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    using pod = new TestNetns();
    const containerID = node.newContainerID();
    await node.add(pod, { containerID, config });
    roundTrips.push(node.logLines().findLast(({ msg }) => msg === "ledger")?.["roundTrips"]);
    await node.del({ containerID, netns: pod.path, config });
  }
  // The log-in, the places for the node's first block; then reads and commit.
  expect(roundTrips).toEqual([4, 2, 2]);
  const folder = join(node.folder, "etcd-tokens");
  const [file = "", ...more] = readdirSync(folder);
  expect(more).toEqual([]);
  const { token } = JSON.parse(readFileSync(join(folder, file), "utf8")) as { token: string };
  const log = readFileSync(node.logFile, "utf8");
  expect(log).not.toContain(token);
  expect(log).not.toContain(PASSWORD);
});
