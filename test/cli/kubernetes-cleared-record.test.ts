/** `ipam check` on a real API server: pods that run, by their kubelet, although their record was cleared. */

import { expect } from "bun:test";
import { ENDING_ADDRESSES, REPORTED_ADDRESSES } from "../../src/api/reported-addresses.ts";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { giveAddress, reportStatus, runWithRecord, shareWorldOfPods } from "../support/cli/pod-addresses.ts";
import { allocateFor, releaseOf } from "../support/cli/container-addresses.ts";
import { createPod, deletePod } from "../support/servers/kubernetes.ts";

const [test, world] = shareWorldOfPods();

/** What the kubelet says of `web-0`. */
async function report(ip: string, hasSandbox: "True" | "False" = "True", phase = "Running"): Promise<void> {
  const conditions = [{ type: "PodReadyToStartContainers", status: hasSandbox }];
  await reportStatus(world, "web-0", ip, { phase, conditions });
}

test("the address of a pod that runs, whose record and allocation were cleared (needs cluster)", async () => {
  await createPod(world.api, {
    name: "web-0",
    namespace: "prod",
    spec: { nodeName: "n1" },
    annotations: { containerID: "c1", podIPs: "" },
  });
  await report("10.65.0.8", "False");
  expect(await readIpamProblems(world)).toEqual([]);
  await report("10.65.0.8");
  expect(await readIpamProblems(world)).toEqual([
    'unallocated-in-use 10.65.0.8: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), as its kubelet says, but recorded and allocated nowhere',
  ]);
  const next =
    "next: recreate the workloads, or if they have their interfaces still, on the node of each, as root: netplugctl ipam adopt --node=NODE\n";
  expect((await world.ctl(["ipam", "check"])).stderr).toBe(next);
  // as `ipam adopt` allocates it
  await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.8" });
  expect(await readIpamProblems(world)).toEqual([]);
  await releaseOf(world.datastore, "c1", "n1");
  await runWithRecord(world, "web-1", "n1", await giveAddress(world, "web-1", "n1", "10.65.0.8", "c-web-1", 120_000));
  expect(await readIpamProblems(world)).toEqual([
    expect.stringMatching(/^duplicate-address 10\.65\.0\.8: used by pod "prod\/web-1" .* and pod "prod\/web-0"/),
  ]);
});

test.each([
  ["its node", "n1"],
  ["a node that calls itself otherwise than Kubernetes does", "rack-7"],
])("the address of a pod that runs, whose record alone was cleared, on %s (needs cluster)", async (_where, node) => {
  await runWithRecord(world, "web-1", "n1", await giveAddress(world, "web-1", node, "10.65.0.7"));
  const ip = await giveAddress(world, "web-0", node, "10.65.0.8", "c1", 120_000);
  await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations: { podIPs: "" } });
  await report(ip);
  expect(await readIpamProblems(world)).toEqual([
    `unrecorded-in-use ${ip}: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), as its kubelet says, and allocated to it, but not recorded`,
  ]);
  const { stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  expect((await world.ctl(["ipam", "check"])).stderr).toBe(
    "next: recreate each pod whose address is not recorded: kubectl delete pod -n NAMESPACE NAME\n",
  );
  await world.ctl(["ipam", "release", "--from-report=-"], { stdin: stdout });
  expect(await world.done(["ipam", "show", `--ip=${ip}`])).toContain('pod "prod/web-0"');
  const { stderr } = await world.ctl(["ipam", "release", `--ip=${ip}`]);
  expect(stderr).toContain(`workloadendpoint "prod/${node.replace("-", "--")}-k8s-web--0-eth0" still has ${ip}`);
});

const NAMELESS = "but its record names no container";

test.each<[what: string, annotations: Record<string, string>, found: string | undefined]>([
  ["removed as a whole", {}, NAMELESS],
  ["robbed of its container", { podIPs: "10.65.0.8/32" }, NAMELESS],
  [
    "overwritten with another container",
    { containerID: "another", podIPs: "10.65.0.8/32" },
    'but the record is that of container "another"',
  ],
  ["left as it was", { containerID: "c1", podIPs: "10.65.0.8/32" }, undefined],
])("the address of a pod that runs, and whose record was %s (needs cluster)", async (_what, annotations, found) => {
  const ip = await giveAddress(world, "web-0", "n1", "10.65.0.8", "c1", 120_000);
  await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations });
  await report(ip);
  const start =
    'unrecorded-in-use 10.65.0.8: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), and allocated to its container "c1", ';
  expect(await readIpamProblems(world)).toEqual(found === undefined ? [] : [start + found]);
});

test.each([
  ["a node that calls itself otherwise than Kubernetes does", "rack-7", "netplug.io/bound to: n1"],
  ["its node, with an address that only the kubelet reports", "n1", "netplug.io/reported addresses: 10.65.0.8"],
])("what is shown of an endpoint on %s can be written again, and changed (needs cluster)", async (_where, node, shown) => {
  await createPod(world.api, {
    name: "web-0",
    namespace: "prod",
    spec: { nodeName: "n1" },
    annotations: { containerID: "c1", podIPs: "" },
  });
  await report("10.65.0.8");
  const name = `${node.replace("-", "--")}-k8s-web--0-eth0`;
  const read = (): Promise<string> => world.done(["get", "wep", name, "-n", "prod", "-o", "yaml"]);
  const before = await read();
  expect(before).toContain(shown);
  expect(await world.done(["apply", "-f", "-"], { stdin: before })).toBe(`workloadendpoint/${name} unchanged\n`);
  await world.done(["replace", "-f", "-"], { stdin: before.replace("ipNetworks: []", "ipNetworks: [10.65.0.8/32]") });
  expect(await read()).toContain("10.65.0.8/32");
  await world.done(["patch", "wep", name, "-n", "prod", "-p", "spec: {ipNetworks: []}"]);
  expect(await read()).toContain("ipNetworks: []");
  const forged = before.replace(shown, "netplug.io/other thing: n1");
  expect(await world.ctl(["apply", "-f", "-"], { stdin: forged })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("other thing"),
  });
});

test.each([
  ["its node", "n1"],
  ["a node that calls itself otherwise than Kubernetes does", "rack-7"],
])("no address is leaked of a pod that runs, whatever its owner wrote into its record, on %s (needs cluster)", async (_where, node) => {
  await runWithRecord(world, "web-1", "n1", await giveAddress(world, "web-1", node, "10.65.0.7"));
  const annotations = { containerID: "another", podIPs: "10.65.0.9/32" };
  const { uid: podUID } = await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations });
  const owner = { endpoint: `${node}-k8s-web--0-eth0`, pod: "web-0", namespace: "prod", podUID };
  await report(await allocateFor(world.datastore, "c1", node, { address: "10.65.0.8", owner, agoMs: 120_000 }));
  expect(await readIpamProblems(world)).toEqual([
    expect.stringMatching(/^unallocated-in-use 10\.65\.0\.9: used by pod "prod\/web-0"/),
    expect.stringMatching(/^unrecorded-in-use 10\.65\.0\.8: used by pod "prod\/web-0"/),
  ]);
  expect((await world.ctl(["ipam", "check"])).stderr).not.toContain("ipam release");
});

test("the address of a pod whose record was cleared has not leaked until the pod has ended (needs cluster)", async () => {
  const ip = await giveAddress(world, "web-0", "n1", "10.65.0.8", "c1", 120_000);
  await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations: { podIPs: "" } });
  await report(ip);
  await world.api.kubectl(["delete", "pod", "web-0", "-n", "prod", "--wait=false"]);
  expect(await readIpamProblems(world)).toEqual([]);
  expect(await world.done(["ipam", "show", `--ip=${ip}`])).not.toContain("does not have it");
  await deletePod(world.api, { namespace: "prod", name: "web-0" });
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(/^leaked-address 10\.65\.0\.8: /)]);
});

test("the address of a pod that somebody called ended has not leaked while its kubelet says that it has its sandbox (needs cluster)", async () => {
  const ip = await giveAddress(world, "web-0", "n1", "10.65.0.8", "c-web-0", 120_000);
  await runWithRecord(world, "web-0", "n1", ip);
  await report(ip, "True", "Failed");
  expect(await readIpamProblems(world)).toEqual([]);
  await report(ip, "False", "Failed");
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(/^leaked-address 10\.65\.0\.8: /)]);
});

test("a pod whose record spells its address otherwise than its kubelet is one pod (needs cluster)", async () => {
  await world.createPool("six", "fd65::/64");
  await createPod(world.api, { name: "web-0", namespace: "prod", spec: { nodeName: "n1" }, annotations: { podIPs: "FD65:0::7/128" } });
  await report("fd65::7");
  expect(await readIpamProblems(world)).toEqual([
    'unallocated-in-use fd65::7: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), but allocated to nobody',
  ]);
});

test("what a kubelet still says of the sandbox before is no address of a pod that has others by now (needs cluster)", async () => {
  await runWithRecord(world, "web-0", "n1", await giveAddress(world, "web-0", "n1", "10.65.0.9"));
  await report("10.65.0.8");
  expect(await readIpamProblems(world)).toEqual([]);
  await runWithRecord(world, "web-1", "n1", await giveAddress(world, "web-1", "n1", "10.65.0.8"));
  expect(await readIpamProblems(world)).toEqual([]);
});

test.each([
  ["of an earlier sandbox than the one whose address ipam adopt has allocated", 300_000, 120_000, true],
  ["of the sandbox after that", 120_000, 300_000, false],
])("the address of a pod that runs, whose record is %s (needs cluster)", async (_which, recordedAgo, adoptedAgo, isFound) => {
  await runWithRecord(world, "web-0", "n1", await giveAddress(world, "web-0", "n1", "10.65.0.7", "c-web-0", recordedAgo));
  // who does not find the pod by its record knows of no pod
  await allocateFor(world.datastore, "c-new", "n1", { address: "10.65.0.8", agoMs: adoptedAgo });
  await report("10.65.0.8");
  const detail = 'as its kubelet says, and allocated to container "c-new", but the record is that of container "c-web-0"';
  const problem = `unrecorded-in-use 10.65.0.8: used by pod "prod/web-0" (endpoint "prod/n1-k8s-web--0-eth0"), ${detail}`;
  expect(await readIpamProblems(world)).toEqual(isFound ? [problem] : []);
});

test("a pod's owner cannot forge what the kubelet says (needs cluster)", async () => {
  await runWithRecord(world, "web-0", "n1", await giveAddress(world, "web-0", "n1", "10.65.0.8"));
  for (const name of [REPORTED_ADDRESSES, ENDING_ADDRESSES]) {
    const forged = world.api.kubectl(["annotate", "pod", "web-0", "-n", "prod", `${name}=10.65.0.9`]);
    await expect(forged).rejects.toThrow("metadata.annotations: Invalid value");
  }
});
