/** netplug on the Kubernetes API under what only a whole cluster does: annotations, garbage, and an API server that goes and comes. */

import { afterAll, beforeAll, describe, expect, test as always } from "bun:test";
import { readFileSync } from "node:fs";
import { readLedger } from "../../src/lib/ledger.ts";
import { ensureGoProgram, LIBCNI_DRIVER } from "../../tools/prerequisites/go.ts";
import { addressesInBlocks, untilAddressesAgree } from "./addresses.ts";
import { canStartCluster, startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { kubernetesAccess, netplugctl, netplugOnKubernetes } from "./networks.ts";
import type { ClusterNode } from "./node.ts";
import { listPods, pingFrom, runPods } from "./pods.ts";
import { createReplicas } from "./workload.ts";

const test = always.skipIf(!canStartCluster());
const POOLS = ["10.65.0.0/16", "fd65::/112"];

let cluster: Cluster;
let node: ClusterNode;
let driver: string | undefined;
beforeAll(async () => {
  if (!canStartCluster()) return;
  driver = await ensureGoProgram(LIBCNI_DRIVER);
  cluster = await startCluster({ network: netplugOnKubernetes({ pools: POOLS }) });
  const [first] = cluster.nodes;
  if (first === undefined) throw new Error("want a node");
  node = first;
  await cluster.kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=30s"]);
}, 180_000);
afterAll(async () => await cluster?.stop());

const annotations = (own: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [`cni.netplug.io/${name}`, JSON.stringify(value)]));

async function applyPool(name: string, cidr: string): Promise<void> {
  const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec: { cidr } };
  await netplugctl(kubernetesAccess(cluster), ["apply", "-f", "-"], JSON.stringify(pool));
}

async function removePods(namespace: string, ...names: readonly string[]): Promise<void> {
  await cluster.kubectl(["--namespace", namespace, "delete", "pod", ...names, "--wait", "--timeout=60s"]);
}

/** Its sandbox, as the plugin stamped it on the pod. */
async function containerOf(pod: string): Promise<string> {
  return await cluster.kubectl(["get", "pod", pod, "-o", "jsonpath={.metadata.annotations.cni\\.netplug\\.io/containerID}"]);
}

describe("annotations", () => {
  test("a pod gets the address that it asks for, and again when it is made anew", async () => {
    const fixed = { name: "fixed", annotations: annotations({ ipAddrs: ["10.65.7.7"] }) };
    for (const _ of ["first", "again"]) {
      const [pod] = await runPods(cluster, [fixed]);
      expect(pod?.addresses).toEqual(["10.65.7.7"]);
      expect(await untilAddressesAgree(cluster)).toEqual(["10.65.7.7"]);
      await removePods("default", "fixed");
      await untilAddressesAgree(cluster, 0);
    }
  });

  test("pods of a namespace get addresses of the namespace's pool; a pod of its own choice is asked first", async () => {
    await applyPool("tenant", "10.77.0.0/24");
    await applyPool("special", "10.78.0.0/24");
    await cluster.kubectl(["create", "namespace", "tenant"]);
    await cluster.kubectl(["annotate", "namespace", "tenant", `cni.netplug.io/ipv4pools=${JSON.stringify(["tenant"])}`]);
    const [plain, special] = await runPods(cluster, [
      { name: "plain", namespace: "tenant" },
      { name: "special", namespace: "tenant", annotations: annotations({ ipv4pools: ["special"] }) },
    ]);
    expect([plain?.address, special?.address]).toEqual([expect.stringMatching(/^10\.77\.0\./), expect.stringMatching(/^10\.78\.0\./)]);
    await removePods("tenant", "plain", "special");
    await untilAddressesAgree(cluster, 0);
  });

  test("a pod that asks for both families has both, and reaches both of another", async () => {
    const both = annotations({ ipFamilies: ["IPv4", "IPv6"] });
    const [a, b] = await runPods(cluster, [
      { name: "a", annotations: both },
      { name: "b", annotations: both },
    ]);
    expect(b?.addresses).toEqual([expect.stringMatching(/^10\.65\./), expect.stringMatching(/^fd65::/)]);
    expect(await untilAddressesAgree(cluster)).toEqual([...(a?.addresses ?? []), ...(b?.addresses ?? [])].sort());
    await pingFrom(cluster, "a", b?.addresses ?? []);
    await removePods("default", "a", "b");
    await untilAddressesAgree(cluster, 0);
  });

  test("a malformed annotation is told by an event of the pod; corrected in a new pod, it starts", async () => {
    await cluster.kubectl(["create", "-f", "-"], JSON.stringify(waiting("wrong", { "cni.netplug.io/ipAddrs": "10.65.7.9" })));
    await eventually(async () =>
      expect(await cluster.kubectl(["events", "--for=pod/wrong", "--types=Warning"])).toMatch(
        /ipAddrs.*default\/wrong|default\/wrong.*ipAddrs/,
      ),
    );
    await removePods("default", "wrong");
    const [right] = await runPods(cluster, [{ name: "wrong", annotations: annotations({ ipAddrs: ["10.65.7.9"] }) }]);
    expect(right?.address).toBe("10.65.7.9");
    await removePods("default", "wrong");
    await untilAddressesAgree(cluster, 0);
  });
});

function waiting(name: string, given: Readonly<Record<string, string>>): object {
  const spec = { terminationGracePeriodSeconds: 1, containers: [{ name: "main", image: "localhost/busybox:1" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, annotations: given }, spec };
}

describe("garbage", () => {
  test("GC through libcni, while the runtime is dead, frees what it left and nothing of a pod that lives", async () => {
    if (driver === undefined) throw new Error("build the libcni driver: Go is missing");
    const [kept, left] = await runPods(cluster, [{ name: "kept" }, { name: "left" }]);
    if (kept === undefined || left === undefined) throw new Error("want two pods");
    const valid = JSON.stringify([{ containerID: await containerOf("kept"), ifname: "eth0" }]);
    await Promise.all([node.kubelet.stop(), node.containerd.stop()]);
    await cluster.kubectl(["delete", "pod", "left", "--force", "--grace-period=0"]);
    expect(await addressesInBlocks(cluster)).toEqual([kept.address, left.address].sort());

    const conflist = readFileSync(node.path("/etc/cni/net.d/10-netplug.conflist"), "utf8");
    const call = [driver, "-verb", "gc", "-path", "/opt/cni/bin", "-cache", "/var/lib/cni", "-valid", valid];
    expect(JSON.parse(node.must(call, conflist))).toEqual({ result: null });
    expect(await addressesInBlocks(cluster)).toEqual([kept.address]);
    expect(node.must(["ip", "-o", "link", "show"]).match(/npg/g)).toHaveLength(1);

    await node.containerd.start();
    await node.kubelet.start();
    await untilAddressesAgree(cluster, 1);
    const [other] = await runPods(cluster, [{ name: "other" }]);
    await eventually(() => pingFrom(cluster, "other", [kept.address]));
    expect(other?.address).not.toBe(kept.address);
    await removePods("default", "kept", "other");
    await untilAddressesAgree(cluster, 0);
  });
});

/** How many calls of the plugin have failed on the node so far. */
function failedCalls(): number {
  const entries = readLedger(readFileSync(node.path("/var/log/netplug/cni/cni.log"), "utf8").split("\n"));
  return entries.filter(({ code }) => code !== 0).length;
}

describe("faults behind pods that come and go", () => {
  /** Does something to the cluster as soon as the first addresses are given, and again as soon as the first are given back. */
  async function upAndDown(app: string, disturb: () => Promise<void>): Promise<void> {
    await createReplicas(cluster, "Deployment", app, 12);
    await eventually(async () => expect((await addressesInBlocks(cluster)).length).toBeGreaterThan(1));
    await disturb();
    await eventually(() => cluster.kubectl(["rollout", "status", `deployment/${app}`, "--timeout=90s"]));
    await untilAddressesAgree(cluster, 12);
    await cluster.kubectl(["scale", `deployment/${app}`, "--replicas=0"]);
    await eventually(async () => expect((await addressesInBlocks(cluster)).length).toBeLessThan(12));
    await disturb();
    await untilAddressesAgree(cluster, 0);
    await cluster.kubectl(["delete", `deployment/${app}`, "--wait", "--timeout=60s"]);
    expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg");
  }

  test("the API server killed and started again leaks nothing", async () => {
    const before = failedCalls();
    await upAndDown("away", async () => {
      await cluster.api.server.stop();
      // so long that calls of the plugin meet a server that is not there
      await Bun.sleep(2_000);
      await cluster.api.server.start();
    });
    expect(failedCalls()).toBeGreaterThan(before);
  });

  test("an API server that answers nothing for a while leaks nothing", async () => {
    const before = failedCalls();
    await upAndDown("slow", async () => {
      cluster.api.server.pause();
      // longer than a request may take
      await Bun.sleep(7_000);
      cluster.api.server.resume();
    });
    expect(failedCalls()).toBeGreaterThan(before);
  });

  test("the etcd behind the API server killed and started again leaks nothing", async () => {
    await upAndDown("behind", async () => {
      await cluster.api.etcd.stop();
      await Bun.sleep(1_000);
      await cluster.api.etcd.start();
    });
  });

  test("pods deleted by force while they start, and made anew under the same names, leak nothing", async () => {
    await createReplicas(cluster, "StatefulSet", "again", 4);
    for (let round = 0; round < 6; round++) {
      await eventually(async () => expect(await cluster.kubectl(["get", "pods", "-l", "app=again", "-o", "name"])).not.toBe(""));
      await cluster.kubectl(["delete", "pods", "-l", "app=again", "--force", "--grace-period=0", "--wait=false"]);
      // each round meets the plugin at another step
      await Bun.sleep(150 * round);
    }
    await cluster.kubectl(["rollout", "status", "statefulset/again", "--timeout=90s"]);
    await untilAddressesAgree(cluster, 4);
    const pods = await listPods(cluster, ["-l", "app=again"]);
    const stamps = await cluster.kubectl([
      "get",
      "pods",
      "-l",
      "app=again",
      "-o",
      "jsonpath={.items[*].metadata.annotations.cni\\.netplug\\.io/podIP}",
    ]);
    expect(
      stamps
        .split(" ")
        .map((stamp) => stamp.replace(/\/32$/, ""))
        .sort(),
    ).toEqual(pods.map(({ address }) => address).sort());
    await cluster.kubectl(["delete", "statefulset/again", "--cascade=foreground", "--wait", "--timeout=60s"]);
    await untilAddressesAgree(cluster, 0);
    expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg");
  });
});
