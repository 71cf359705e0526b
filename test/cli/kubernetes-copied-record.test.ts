/** `ipam check` on a real API server: pods that were made from a backup, or from another pod's manifest, with that pod's annotations. */

import { expect } from "bun:test";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { readIpamProblems } from "../support/cli/ipam-report.ts";
import { shareWorldOfPods } from "../support/cli/pod-addresses.ts";
import { createPod, deletePod, type TestPod } from "../support/servers/kubernetes.ts";

const [test, world] = shareWorldOfPods();

const COPIED = { containerID: "c1", podIP: "10.65.0.8/32", podIPs: "10.65.0.8/32" };

/** A pod that has its address, and the record that says so. */
async function runOriginal(): Promise<TestPod> {
  const pod = await createPod(world.api, { name: "web", namespace: "prod", spec: { nodeName: "n1" }, annotations: COPIED });
  const owner = { endpoint: "n1-k8s-web-eth0", pod: "web", namespace: "prod", podUID: pod.uid };
  await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.8", owner, agoMs: 120_000 });
  return pod;
}

test("a copy that has not started does not have its original's address (needs cluster)", async () => {
  const original = await runOriginal();
  await createPod(world.api, { name: "on-node", namespace: "prod", spec: { nodeName: "n1" }, annotations: COPIED });
  await createPod(world.api, { name: "on-none", namespace: "prod", annotations: COPIED });
  expect(await readIpamProblems(world)).toEqual([]);
  await deletePod(world.api, original);
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(/^leaked-address 10\.65\.0\.8: .*, which does not exist$/)]);
});

test("nor when that is free again, as long as no node has the copy: on a node it may have started (needs cluster)", async () => {
  await deletePod(world.api, await runOriginal());
  await world.done(["ipam", "release", "--ip=10.65.0.8"]);
  for (const name of ["pending-1", "pending-2"]) await createPod(world.api, { name, namespace: "prod", annotations: COPIED });
  expect(await readIpamProblems(world)).toEqual([]);
  await createPod(world.api, { name: "on-node", namespace: "prod", spec: { nodeName: "n1" }, annotations: COPIED });
  expect(await readIpamProblems(world)).toEqual([
    expect.stringMatching(/^unallocated-in-use 10\.65\.0\.8: used by pod "prod\/on-node" \(endpoint "[^"]*"\), but allocated to nobody$/),
  ]);
  const ours = ["podIP", "podIPs", "containerID"].map((which) => `cni.netplug.io/${which}-`);
  await world.api.kubectl(["annotate", "pod", "on-node", "-n", "prod", ...ours]);
  expect(await readIpamProblems(world)).toEqual([]);
});

test("nor does one that has its original's name (needs cluster)", async () => {
  await deletePod(world.api, await runOriginal());
  await createPod(world.api, { name: "web", namespace: "prod", spec: { nodeName: "n1" }, annotations: COPIED });
  const leak = /^leaked-address 10\.65\.0\.8: .* for endpoint "n1-k8s-web-eth0", which is another pod's by now$/;
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(leak)]);
  expect(await world.done(["ipam", "show", "--ip=10.65.0.8"])).toContain(
    '\nbut workloadendpoint "prod/n1-k8s-web-eth0" is another pod\'s by now\n',
  );
});

test("a static pod's record is its own, though its mirror has another UID than the runtime knows (needs cluster)", async () => {
  const otherAnnotations = { "kubernetes.io/config.mirror": "0f2a" };
  await createPod(world.api, { name: "web-n1", namespace: "prod", spec: { nodeName: "n1" }, annotations: COPIED, otherAnnotations });
  const owner = { endpoint: "n1-k8s-web--n1-eth0", pod: "web-n1", namespace: "prod", podUID: "0f2a" };
  await allocateFor(world.datastore, "c1", "n1", { address: "10.65.0.8", owner, agoMs: 120_000 });
  await createPod(world.api, { name: "other", namespace: "prod", spec: { nodeName: "n1" }, annotations: { ...COPIED, containerID: "c2" } });
  expect(await readIpamProblems(world)).toEqual([expect.stringMatching(/^duplicate-address 10\.65\.0\.8: /)]);
});
