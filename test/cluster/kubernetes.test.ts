/** netplug on the Kubernetes API under what only a whole cluster does: annotations and garbage. Faults are in `faults.test.ts`. */

import { describe, expect } from "bun:test";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { ensureGoProgram, LIBCNI_DRIVER } from "../../tools/prerequisites/go-programs.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { applyPool, mustNetplugctl, runNetplugctl } from "../support/cli/netplugctl.ts";
import { addressesInBlocks, untilAddressesAgree } from "./support/addresses.ts";
import { kubernetesAccess } from "./support/datastores.ts";
import { eventually } from "../support/time/eventually.ts";
import { netplugOnKubernetes } from "./support/networks.ts";
import { BUSYBOX_IMAGE, STATIC_PODS } from "./support/node-config.ts";
import { onCluster } from "./support/on-cluster.ts";
import { listPods, pingFrom, podManifest, runPods } from "./support/pods.ts";
import { createService, SERVE, shownKubeProxyConfig, untilAnswered } from "./support/services.ts";
import { createReplicas } from "./support/workload.ts";

const POOLS = ["10.65.0.0/16", "fd65::/112"];

let driver: string | undefined;
const [test, cluster] = onCluster({ network: netplugOnKubernetes({ pools: POOLS }), kubeProxy: shownKubeProxyConfig() }, async () => {
  driver = await ensureGoProgram(LIBCNI_DRIVER);
});
const node = cluster.nodes[0];

const annotations = (own: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(own).map(([name, value]) => [`cni.netplug.io/${name}`, JSON.stringify(value)]));

async function removePods(namespace: string, ...names: readonly string[]): Promise<void> {
  await cluster.kubectl(["--namespace", namespace, "delete", "pod", ...names, "--wait", "--timeout=180s"]);
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

  test("each pod of a StatefulSet gets the addresses that its template has for it, and again; one without any waits until it has", async () => {
    const shown = new ShownDocument("docs/pod-annotations.md").block("yaml", "kind: StatefulSet");
    const manifest = shown
      .replace("image: busybox", `image: ${BUSYBOX_IMAGE}`)
      .replace("    spec:\n", "$&      terminationGracePeriodSeconds: 1\n");
    const listed: Record<string, readonly string[]> = { "db-0": ["10.65.0.16", "fd65::16"], "db-1": ["10.65.0.17", "fd65::17"] };
    const expectListed = async (): Promise<void> => {
      await cluster.kubectl(["rollout", "status", "statefulset/db", "--timeout=180s"]);
      const pods = await listPods(cluster, ["-l", "app=db"]);
      expect(Object.fromEntries(pods.map(({ name, addresses }) => [name, addresses]))).toEqual(listed);
      expect(await untilAddressesAgree(cluster)).toEqual(Object.values(listed).flat().sort());
    };
    await cluster.kubectl(["create", "-f", "-"], manifest);
    await expectListed();
    await removePods("default", "db-0", "db-1");
    await expectListed();

    await cluster.kubectl(["scale", "statefulset/db", "--replicas=3"]);
    await eventually(async () =>
      expect(await cluster.kubectl(["events", "--for=pod/db-2", "--types=Warning"])).toContain('want an entry "db-2"'),
    );
    listed["db-2"] = ["10.65.0.18"];
    const template = { metadata: { annotations: annotations({ ipAddrsByPod: listed }) } };
    await cluster.kubectl(["patch", "statefulset/db", "-p", JSON.stringify({ spec: { template } })]);
    await removePods("default", "db-2");
    await expectListed();
    await cluster.kubectl(["delete", "statefulset/db", "ipreservation/db", "--cascade=foreground", "--wait", "--timeout=180s"]);
    await untilAddressesAgree(cluster, 0);
  });

  test("pods of a namespace get addresses of the namespace's pool; a pod of its own choice is asked first", async () => {
    await applyPool(kubernetesAccess(cluster), "tenant", { cidr: "10.77.0.0/24", assignmentMode: "Manual" });
    await applyPool(kubernetesAccess(cluster), "special", { cidr: "10.78.0.0/24", assignmentMode: "Manual" });
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

  test("a pod that asks for both families has both, and reaches both of another, by a Service, too", async () => {
    const both = annotations({ ipFamilies: ["IPv4", "IPv6"] });
    const [a, b] = await runPods(cluster, [
      { name: "a", annotations: both },
      { name: "b", annotations: both, labels: { app: "b" } },
    ]);
    if (a === undefined || b === undefined) throw new Error("want two pods");
    expect(b.addresses).toEqual([expect.stringMatching(/^10\.65\./), expect.stringMatching(/^fd65::/)]);
    expect(await untilAddressesAgree(cluster)).toEqual([...a.addresses, ...b.addresses].sort());
    await pingFrom(cluster, "a", b.addresses);
    await cluster.kubectl(["exec", "b", "--", ...SERVE]);
    const { clusterIPs } = await createService(cluster, "b", { selector: { app: "b" }, ipFamilyPolicy: "RequireDualStack" });
    expect(clusterIPs).toEqual([expect.stringMatching(/^10\.96\./), expect.stringMatching(/^fd96::/)]);
    for (const address of clusterIPs) await untilAnswered(cluster, a, [address, 80], [b]);
    await removePods("default", "a", "b");
    await untilAddressesAgree(cluster, 0);
  });

  test("a pod of a file on the node, whose mirror has another UID, gets the address that it asks for, and releases it", async () => {
    const file = node.path(`${STATIC_PODS}/still.json`);
    const staging = node.path(`${STATIC_PODS}/.still`);
    writeFileSync(
      staging,
      JSON.stringify(podManifest({ name: "still", graceSeconds: 1, annotations: annotations({ ipAddrs: ["10.65.7.8"] }) })),
    );
    renameSync(staging, file);
    const mirror = `still-${node.name}`;
    await cluster.kubectl(["wait", "--for=create", `pod/${mirror}`, "--timeout=180s"]);
    await cluster.untilReady([mirror]);
    expect(await untilAddressesAgree(cluster)).toEqual(["10.65.7.8"]);
    const { metadata } = JSON.parse(await cluster.kubectl(["get", "pod", mirror, "-o", "json"])) as {
      readonly metadata: { readonly uid: string; readonly annotations: Readonly<Record<string, string>> };
    };
    // what the runtime calls its UID
    expect(metadata.annotations["kubernetes.io/config.mirror"]).not.toBe(metadata.uid);

    // It runs on without its mirror, which comes back with another UID.
    await node.kubelet.stop();
    await cluster.kubectl(["delete", "pod", mirror, "--force", "--grace-period=0"]);
    const alone = await runNetplugctl(kubernetesAccess(cluster), ["ipam", "check"]);
    await node.kubelet.start();
    expect(alone.stdout).toContain("1 allocation, 0 endpoints\nfound 0 problems");
    await cluster.kubectl(["wait", "--for=create", `pod/${mirror}`, "--timeout=180s"]);
    expect(await mustNetplugctl(kubernetesAccess(cluster), ["ipam", "check"])).toContain("found 0 problems");
    await cluster.untilReady([mirror]);
    expect(await untilAddressesAgree(cluster)).toEqual(["10.65.7.8"]);
    rmSync(file);
    await untilAddressesAgree(cluster, 0);
  });

  test("a malformed annotation is told by an event of the pod; corrected in a new pod, it starts", async () => {
    const wrong = podManifest({ name: "wrong", graceSeconds: 1, annotations: { "cni.netplug.io/ipAddrs": "10.65.7.9" } });
    await cluster.kubectl(["create", "-f", "-"], JSON.stringify(wrong));
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

test("pods of two Deployments that start together get addresses of two pools by their labels", async () => {
  const access = kubernetesAccess(cluster);
  const select = async (podSelector: string): Promise<string> =>
    await mustNetplugctl(access, ["patch", "ippool", "pool-0", "-p", JSON.stringify({ spec: { podSelector, allowedUses: ["Workload"] } })]);
  await applyPool(access, "mail", { cidr: "10.79.0.0/24", podSelector: 'app == "mail"' });
  await select('app != "mail"');
  await Promise.all(["mail", "web"].map((app) => createReplicas(cluster, "Deployment", app, 6)));
  for (const [app, ofPool] of [
    ["mail", /^10\.79\.0\./],
    ["web", /^10\.65\./],
  ] as const) {
    await cluster.kubectl(["rollout", "status", `deployment/${app}`, "--timeout=180s"]);
    const pods = await listPods(cluster, ["-l", `app=${app}`]);
    expect(pods.map(({ addresses }) => addresses)).toEqual(Array.from({ length: 6 }, () => [expect.stringMatching(ofPool)]));
  }
  await untilAddressesAgree(cluster, 12);
  // A running pod keeps its address, whatever its label is now; the one that the Deployment makes in its place gets one of the pool.
  const [relabelled] = await listPods(cluster, ["-l", "app=mail"]);
  const { name = "", address = "" } = relabelled ?? {};
  await cluster.kubectl(["label", "pod", name, "app=web", "--overwrite"]);
  expect(await untilAddressesAgree(cluster, 13)).toContain(address);
  const ofMail = (await listPods(cluster, ["-l", "app=mail"])).map((pod) => pod.address);
  expect(ofMail).toEqual(Array.from({ length: 6 }, () => expect.stringMatching(/^10\.79\.0\./)));
  expect(ofMail).not.toContain(address);
  await cluster.kubectl(["delete", "deployment/mail", "deployment/web", "--cascade=foreground", "--wait", "--timeout=180s"]);
  await cluster.kubectl(["delete", "pod", name, "--wait", "--timeout=180s"]);
  await untilAddressesAgree(cluster, 0);
  await mustNetplugctl(access, ["delete", "ippool", "mail"]);
  await select("");
});

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
    expect(JSON.parse(node.must(call, { stdin: conflist }))).toEqual({ result: null });
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
