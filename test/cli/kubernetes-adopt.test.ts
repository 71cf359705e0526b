/** Under which names `ipam adopt` takes a host where nodes and pods are Kubernetes'; `ipam-adopt.test.ts` has the rest. */

import { beforeEach, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { runWithRecord, shareWorldOfPods } from "../support/cli/pod-addresses.ts";
import { createNode } from "../support/servers/kubernetes.ts";

const [test, world] = shareWorldOfPods();
beforeEach(async () => await runWithRecord(world, "web", "n1", "10.65.0.7"));

const found: readonly HostAddress[] = [
  { attachment: { network: "test-net", containerID: "c-web", ifName: "eth0" }, address: parseAddress("10.65.0.7"), where: "npg-web" },
];

const adopt = async (node: string): ReturnType<typeof world.ctl> =>
  await world.ctl(["ipam", "adopt", `--node=${node}`, `--run-dir=${world.folder}`], { hostAddresses: () => found });

/** What the plugin has written there. */
const hint = (node: string): void => {
  const text = JSON.stringify({ node, cluster: "", isComplete: true, listedAt: 0, blocks: {} });
  writeFileSync(join(world.folder, "blocks.json"), text);
};

test("a name that Kubernetes does not know may be the node's own: it is warned of, but not if the plugin's list has it (needs cluster)", async () => {
  hint("former");
  const { status, stderr } = await adopt("rack-7");
  expect([status, stderr]).toEqual([
    0,
    'warning: nothing tells of a node "rack-7", and pods of this host are on node "n1"; if the name is wrong, correct that by ' +
      `netplugctl ipam adopt --node=n1 --instead-of=rack-7 --run-dir=${world.folder}\n`,
  ]);
  await world.api.kubectl(["delete", "ipamblocks", "--all"]);
  hint("rack-7");
  expect(await adopt("rack-7")).toMatchObject({ status: 0, stderr: "" });
});

test("another node of the cluster is not this one (needs cluster)", async () => {
  await createNode(world.api, "n2", []);
  const { status, stdout, stderr } = await adopt("n2");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain('to node "n2": container "c-web", which is on this host, is recorded on node "n1"\n');
  expect(stderr).toContain(`next: netplugctl ipam adopt --node=n1 --run-dir=${world.folder}\n`);
  expect(await world.done(["ipam", "show", "--ip=10.65.0.7"])).toContain("not assigned");
});

test.each([
  ["by an ADD, which knows the pod's UID, is the node's own", { podUID: "u-1" }, "--node=rack-7"],
  ["otherwise may be a slip, where Kubernetes knows the right one", {}, "--node=n1 --instead-of=rack-7"],
])("the name under which an address is allocated %s (needs cluster)", async (_how, owner, words) => {
  await allocateFor(world.datastore, "c-web", "rack-7", { address: "10.65.0.7", owner: { network: "test-net", ...owner } });
  const { status, stderr } = await adopt("n1");
  expect([status, stderr]).toEqual([1, expect.stringContaining(`\nnext: netplugctl ipam adopt ${words} --run-dir=${world.folder}\n`)]);
});
