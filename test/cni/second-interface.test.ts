/** Pods with interfaces of two networks, on a node whose kernel compares the source of each packet with its routes, as most distributions have it. */

import { expect, test } from "bun:test";
import { ShownDocument } from "../support/documents/document.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { TestNode } from "../support/node/test-node.ts";
import { share } from "../support/share.ts";

/** What docs/network-config.md tells to write into the second network. */
const ROUTES = new ShownDocument("docs/network-config.md").one('"routes":');

const node = share(
  () => TestNode.start(["10.65.0.0/24"]),
  (node) => node.createPool("blue", { cidr: "10.66.0.0/24", assignmentMode: "Manual" }),
);

/** Adds `eth0` of one network and `net1` of another. @returns the address of `net1` */
async function addTwice(pod: TestNetns, routes: Json): Promise<string> {
  const containerID = node.newContainerID();
  const second = node.config({ name: "blue", ipam: { ipv4_pools: ["blue"], ...routes } });
  const results = [await node.add(pod, { containerID }), await node.add(pod, { containerID, ifname: "net1", config: second })];
  for (const { interfaces } of results) nodePlace.must(["sysctl", "-qw", `net.ipv4.conf.${interfaces?.[0]?.name ?? ""}.rp_filter=2`]);
  return (results[1]?.ips?.[0]?.address ?? "").replace(/\/.*/, "");
}

test.each<[string, Json, boolean]>([
  ["cannot be reached with the default routes", {}, false],
  ["can be reached with a route to whoever asks", JSON.parse(`{${ROUTES}}`) as Json, true],
])("a second interface %s", async (_what, routes, isReached) => {
  await using client = await TestNetns.create();
  await using server = await TestNetns.create();
  await addTwice(client, routes);
  const address = await addTwice(server, routes);
  const { status } = await client.runAsync(["ping", "-n", "-c1", "-W1", "-I", "net1", address]);
  expect(status === 0).toBe(isReached);
});
