/** `netplug-ipam` under `ptp` in a whole cluster, on the Kubernetes API: `ipam check` names what a pod had that is gone, and nothing of one that runs. */

import { expect } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { mustNetplugctl, runNetplugctl } from "../support/cli/netplugctl.ts";
import { eventually } from "../support/time/eventually.ts";
import { addressesInBlocks } from "./support/addresses.ts";
import { kubernetesAccess } from "./support/datastores.ts";
import { netplugOnKubernetes } from "./support/networks.ts";
import { STATIC_PODS } from "./support/node-config.ts";
import { onCluster } from "./support/on-cluster.ts";
import { podManifest, runPods } from "./support/pods.ts";

const CONFLIST = "/etc/cni/net.d/10-netplug.conflist";
const install = netplugOnKubernetes({ pools: ["10.65.0.0/24"] });

const [test, cluster] = onCluster({
  network: async (node, facts) => {
    await install(node, facts);
    const { plugins } = JSON.parse(readFileSync(node.path(CONFLIST), "utf8")) as { readonly plugins: readonly object[] };
    rmSync(node.path(CONFLIST));
    node.setNetwork({ cniVersion: "1.0.0", name: "pods", plugins: [{ ...plugins[0], type: "ptp" }] });
  },
});
const node = cluster.nodes[0];

const access = () => kubernetesAccess(cluster);
const check = async (): Promise<string> => (await runNetplugctl(access(), ["ipam", "check"])).stdout;

test("pods that start, run, end or are static have not leaked their addresses; one that was deleted by force while its node was down has", async () => {
  const ready = new AbortController();
  const checking = (async () => {
    while (!ready.signal.aborted) expect(await check()).toContain("found 0 problems");
  })();
  const file = node.path(`${STATIC_PODS}/still.json`);
  writeFileSync(file, JSON.stringify(podManifest({ name: "still", graceSeconds: 1 })));
  const mirror = `still-${node.name}`;
  const [, left] = await runPods(cluster, [{ name: "kept" }, { name: "left" }]);
  await cluster.kubectl(["wait", "--for=create", `pod/${mirror}`, "--timeout=180s"]);
  await cluster.untilReady([mirror]);
  ready.abort();
  await checking;
  expect(await addressesInBlocks(cluster)).toHaveLength(3);

  await Promise.all([node.kubelet.stop(), node.containerd.stop()]);
  await cluster.kubectl(["delete", "pod", "left", mirror, "--force", "--grace-period=0"]);
  const found = await check();
  expect(found).toEndWith("\nfound 1 problem\n");
  expect(found).toMatch(new RegExp(`^leaked-address +${left?.address} .* under another main plugin, and that pod is gone$`, "m"));
  await mustNetplugctl(access(), ["ipam", "release", `--ip=${left?.address}`]);
  expect(await check()).toContain("found 0 problems");

  await node.containerd.start();
  await node.kubelet.start();
  await cluster.kubectl(["wait", "--for=create", `pod/${mirror}`, "--timeout=180s"]);
  await cluster.untilReady([mirror, "kept"]);
  expect(await check()).toContain("found 0 problems");
  rmSync(file);
  await cluster.kubectl(["delete", "pod", "kept"]);
  await eventually(async () => expect(await addressesInBlocks(cluster)).toEqual([]));
});
