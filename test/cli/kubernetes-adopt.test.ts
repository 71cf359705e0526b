/** Under which names `ipam adopt` takes a host where nodes and pods are Kubernetes'; `ipam-adopt.test.ts` has the rest. */

import { beforeEach, expect } from "bun:test";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { runWithRecord, shareWorldOfPods } from "../support/cli/pod-addresses.ts";
import { createNode, createPod } from "../support/servers/kubernetes.ts";

const [test, world] = shareWorldOfPods();
beforeEach(async () => await runWithRecord(world, "web", "n1", "10.65.0.7"));

const first: HostAddress = {
  attachment: { network: "test-net", containerID: "c-web", ifName: "eth0" },
  address: parseAddress("10.65.0.7"),
  where: "npg-web",
};

const adopt = async (words: string, ...found: readonly HostAddress[]): ReturnType<typeof world.ctl> =>
  await world.ctl(["ipam", "adopt", ...`--node=${words} --run-dir=${world.folder}`.split(" ")], {
    hostAddresses: () => (found.length === 0 ? [first] : found),
  });

test("a name that Kubernetes does not know may be the node's own: it is warned of as long as the datastore does not know it (needs cluster)", async () => {
  const { status, stderr } = await adopt("rack-7");
  expect([status, stderr]).toEqual([
    0,
    'warning: the datastore knows no node "rack-7", and pods of this host are on node "n1"; if the name is wrong, correct that by ' +
      `netplugctl ipam adopt --node=n1 --instead-of=rack-7 --run-dir=${world.folder}\n`,
  ]);
  expect(await adopt("rack-7")).toMatchObject({ status: 0, stderr: "" });
});

test("a pod that no node has yet tells no name, whatever record it has brought along (needs cluster)", async () => {
  const annotations = { containerID: "c-web", podIP: "10.65.0.7/32", podIPs: "10.65.0.7/32" };
  await createPod(world.api, { name: "copy", namespace: "prod", annotations });
  await world.api.kubectl(["delete", "pod", "web", "-n", "prod", "--force", "--grace-period=0"]);
  expect((await adopt("rack-7")).stderr).toStartWith('warning: the datastore knows no node "rack-7", but "n1"; ');
});

test("another node of the cluster is not this one (needs cluster)", async () => {
  await createNode(world.api, "n2", []);
  const { status, stdout, stderr } = await adopt("n2");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain('to node "n2": container "c-web", which is on this host, is recorded on node "n1"\n');
  expect(stderr).toContain(`next: netplugctl ipam adopt --node=n1 --run-dir=${world.folder}\n`);
  expect(await world.done(["ipam", "show", "--ip=10.65.0.7"])).toContain("not allocated");
});

test("under which of two names a node has its addresses, Kubernetes' and its own, nobody can tell but a person (needs cluster)", async () => {
  const owner = { network: "test-net", podUID: "u-1" };
  await allocateFor(world.datastore, "c-web", "n1", { address: "10.65.0.7", owner });
  const ofPlugin = { ...first, attachment: { ...first.attachment, containerID: "c-new" }, address: parseAddress("10.65.0.8") };
  await allocateFor(world.datastore, "c-new", "rack-7", { address: "10.65.0.8", owner });
  const words = (node: string, wrong: string): string => `netplugctl ipam adopt --node=${node}${wrong} --run-dir=${world.folder}`;
  const { status, stderr } = await adopt("rack-7", first, ofPlugin);
  expect([status, stderr]).toEqual([
    1,
    'netplugctl: allocate addresses to node "rack-7": this host got 10.65.0.7 as node "n1"; ' +
      `if that name is right: ${words("n1", "")}; if it was wrong: ${words("rack-7", " --instead-of=n1")}\n`,
  ]);
  expect((await adopt("rack-7 --instead-of=n1", first, ofPlugin)).stdout).toContain(
    "allocated 1 of 2 addresses in use on this host, 1 already",
  );
  expect(await adopt("rack-7", first, ofPlugin)).toMatchObject({ status: 0, stderr: "" });
});
