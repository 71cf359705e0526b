/**
 * netplug on the Kubernetes API of a whole cluster while something fails: in the end all pods have come or gone, and nothing has leaked.
 */

import { afterAll, beforeAll, describe, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { readLedger } from "../../src/lib/log/read-ledger.ts";
import { initialise, mustNetplugctl } from "../support/cli/netplugctl.ts";
import { addressesInBlocks, addressesOfPods, untilAddressesAgree } from "./support/addresses.ts";
import { canStartCluster } from "./support/cluster.ts";
import { applyRoles } from "../support/servers/rights.ts";
import { kubernetesAccess } from "./support/datastores.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";
import { eventually } from "../support/time/eventually.ts";
import type { Fault, FaultPlan } from "./support/fault-plan.ts";
import { startNodeFaultProxy } from "./support/node-fault-proxy.ts";
import type { NodeFaultProxy } from "./support/node-fault-proxy.ts";
import { netplugOnKubernetes } from "./support/networks.ts";
import { installerFor, runInstaller } from "./support/node-installer.ts";
import { onCluster } from "./support/on-cluster.ts";
import { podsManifest } from "./support/pods.ts";
import { watchPods } from "./support/pod-versions.ts";
import { Turnover, wakeKubelet } from "./support/turnover.ts";
import { createReplicas } from "./support/workload.ts";

const POOLS = ["10.65.0.0/16"];
const REPLICAS = 6;

let turnover: Turnover;
const [test, cluster] = onCluster({ network: netplugOnKubernetes({ pools: POOLS }) }, async (cluster) => {
  turnover = await Turnover.begin(cluster, cluster.nodes[0], REPLICAS);
});
const node = cluster.nodes[0];

/** Notes how calls of the plugin fail on the node from now on: `ADD 108`, each once. */
function noteFailures(): () => readonly string[] {
  const read = (): readonly string[] =>
    readLedger(readFileSync(node.path("/var/log/netplug/cni/cni.log"), "utf8").split("\n")).map(({ verb, code }) => `${verb} ${code}`);
  const before = read().length;
  return () => [...new Set(read().slice(before))].filter((call) => !call.endsWith(" 0")).sort();
}

/** Waits until calls of the plugin have met what a test makes them meet. */
async function untilFailures(failures: () => readonly string[]): Promise<void> {
  await eventually(() => expect(failures()).not.toEqual([]));
}

/** What the API server says of itself and its etcd. */
async function isServerReady(): Promise<boolean> {
  const { url, caFile } = cluster.api;
  return (await fetch(`${url}/readyz`, { tls: { ca: readFileSync(caFile, "utf8") } })).ok;
}

/** Waits until the events of a pod, as kubectl shows them, say so. */
async function untilTold(pod: string, text: string): Promise<void> {
  await eventually(async () => expect(await cluster.kubectl(["events", `--for=pod/${pod}`, "--types=Warning"])).toContain(text));
}

/** Waits until a pod that failed to start is Ready. */
async function untilStarted(pod: string): Promise<void> {
  await eventually(async () => {
    await wakeKubelet(cluster);
    await cluster.kubectl(["wait", "--for=condition=Ready", `pod/${pod}`, "--timeout=1s"]);
  });
}

/** Waits until no pod has an interface: DEL takes it away whatever else fails, and an ADD that fails leaves none. */
async function untilNoLink(): Promise<void> {
  await eventually(() => expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg"));
}

/** Pods that no scheduler has to find a node for. */
async function createPods(...names: readonly string[]): Promise<void> {
  await cluster.kubectl(["create", "-f", "-"], podsManifest(names.map((name) => ({ name, node: node.name, graceSeconds: 1 }))));
}

async function deletePods(...names: readonly string[]): Promise<void> {
  await cluster.kubectl(["delete", "pod", ...names, "--wait", "--timeout=180s"]);
}

describe("pods go and others come while", () => {
  test("the API server is killed and started again", async () => {
    const failures = noteFailures();
    await turnover.swap(async () => {
      await cluster.api.server.stop();
      await untilFailures(failures);
      await cluster.api.server.start();
    });
  });

  test("the API server answers nothing for a while", async () => {
    const failures = noteFailures();
    await turnover.swap(async () => {
      await cluster.api.server.pause();
      await untilFailures(failures);
      cluster.api.server.resume();
    });
  });

  test("the etcd behind the API server is killed and started again", async () => {
    await turnover.swap(async () => {
      await cluster.api.etcd.stop();
      await eventually(async () => expect(await isServerReady()).toBe(false));
      await cluster.api.etcd.start();
    });
  });
});

describe("an API server that answers the plugin", () => {
  let proxy: NodeFaultProxy;
  beforeAll(async () => {
    if (!canStartCluster()) return;
    proxy = await startNodeFaultProxy(node, cluster);
    await runInstaller(node, cluster, { door: proxy });
  });
  afterAll(async () => {
    if (!canStartCluster()) return;
    await runInstaller(node, cluster);
    await proxy?.stop();
  });

  const refusals: readonly Fault[] = [
    { status: 409, reason: "Conflict" },
    { status: 410, reason: "Expired" },
    { status: 422, reason: "Invalid" },
    { status: 429, reason: "TooManyRequests", retryAfter: "1" },
    { status: 500, reason: "InternalError" },
    { status: 503, reason: "ServiceUnavailable", retryAfter: "1" },
  ];
  const losses: readonly Fault[] = [
    "lose-reply",
    "lose-request",
    { status: 500, reason: "InternalError", isDone: true },
    { status: 504, reason: "Timeout", isDone: true },
  ];
  // the last of them later than the plugin waits
  const delays: readonly Fault[] = [1_000, 500, 1_500, 6_000].map((delayMs) => ({ delayMs }));

  test.each([
    ["that it does not do it, in every way", { faults: refusals, every: 3, times: 1 }],
    ["nothing: connections break before a request is carried out, or after it", { faults: losses, every: 2, times: 2 }],
    ["late, and sometimes too late", { faults: delays, every: 3, times: 1 }],
  ] satisfies readonly [string, FaultPlan][])("%s", async (_how, plan) => {
    await proxy.follow(plan);
    await turnover.turn();
    await turnover.settle();
    const all = plan.faults.length * plan.times;
    expect(await proxy.met()).toEqual({ reads: all, writes: all });
  });

  test("slowly: pods of a StatefulSet, deleted between its answers and made anew under the same names, never carry what was another's", async () => {
    await proxy.follow({ faults: [{ delayMs: 200 }], every: 2, times: 1_000_000 });
    const failures = noteFailures();
    using watch = await watchPods(cluster, "app=again");
    await createReplicas(cluster, "StatefulSet", "again", 4);
    const sandboxes = (): number => new Set(watch.seen.flatMap(({ containerID }) => containerID ?? [])).size;
    // until some were made anew between two answers of one ADD
    const isMet = (): boolean => failures().includes("ADD 106");
    for (let round = 0; round < 6 || (round < 18 && !isMet()); round++) {
      const before = sandboxes();
      await eventually(async () => expect(await cluster.kubectl(["get", "pods", "-l", "app=again", "-o", "name"])).not.toBe(""));
      // every other round meets pods of which one is just recorded, the others meet the plugin at another step each
      if (round % 2 === 0) await Bun.sleep(100 * (round % 6));
      else await eventually(() => expect(sandboxes()).toBeGreaterThan(before));
      const how = round % 3 === 2 ? ["--grace-period=1"] : ["--force", "--grace-period=0"];
      await cluster.kubectl(["delete", "pods", "-l", "app=again", ...how, "--wait=false"]);
    }
    await cluster.kubectl(["rollout", "status", "statefulset/again", "--timeout=180s"]);
    await untilAddressesAgree(cluster, REPLICAS + 4);
    await cluster.kubectl(["delete", "statefulset/again", "--cascade=foreground", "--wait", "--timeout=180s"]);
    await untilAddressesAgree(cluster, REPLICAS);
    expect(isMet()).toBe(true);

    const stamped = watch.seen.filter(({ containerID }) => containerID !== undefined);
    const versionsOf = Map.groupBy(stamped, ({ containerID }) => containerID);
    expect(versionsOf.size).toBeGreaterThan(4);
    for (const versions of versionsOf.values()) expect(new Set(versions.map(({ uid }) => uid)).size).toBe(1);
    const reported = stamped.filter(({ podIPs, statusIPs }) => podIPs !== "" && statusIPs.length > 0);
    expect(reported.map(({ podIPs }) => podIPs)).toEqual(reported.map(({ statusIPs }) => `${statusIPs.join()}/32`));
    expect(new Set(reported.map(({ name }) => name)).size).toBe(4);
  });
});

describe("the plugin's token", () => {
  test("that is of no use any more is told by the pod's events, and the installer's next one helps", async () => {
    const { command, env } = await installerFor(node, cluster);
    const isReady = (): boolean => installer.log().includes('"event":"ready"');
    const installer = node.daemon("installer", command, isReady, { ...env, CNI_TOKEN_REFRESH_INTERVAL: "3s" });
    await installer.start();
    await installer.pause();
    await cluster.kubectl(["--namespace", "kube-system", "delete", "serviceaccount", "netplug-cni-plugin"]);
    await applyRoles(cluster);
    // it remembers for some seconds whom it let in
    await eventually(async () => expect(await isTokenAccepted()).toBe(false));

    const failures = noteFailures();
    await turnover.turn();
    await createPods("without-token");
    const user = 'the token of user "netplug-cni-plugin" in kubeconfig "/etc/cni/net.d/netplug-kubeconfig"';
    await untilTold("without-token", `does not accept ${user}; renew it: see whether "netplug install-cni" runs on this node`);
    // once STATUS has told the runtime, no ADD is tried any more
    await eventually(() => expect(failures()).toContain("DEL 108"));
    await untilNoLink();
    expect(["ADD 108", "DEL 108"]).toEqual(expect.arrayContaining([...failures()]));
    installer.resume();
    await untilStarted("without-token");
    await deletePods("without-token");
    await turnover.settle();
    expect(installer.log()).toContain('"msg":"token renewed"');
    await installer.stop();
  });

  /** Of the one that is in the kubeconfig of the plugin. */
  async function isTokenAccepted(): Promise<boolean> {
    const { users } = JSON.parse(readFileSync(node.path("/etc/cni/net.d/netplug-kubeconfig"), "utf8")) as {
      readonly users: readonly { readonly user: { readonly token: string } }[];
    };
    const headers = { authorization: `Bearer ${users[0]?.user.token}` };
    const { url, caFile } = cluster.api;
    return (await fetch(`${url}/version`, { headers, tls: { ca: readFileSync(caFile, "utf8") } })).status !== 401;
  }
});

describe("the Node object", () => {
  test("is deleted while the kubelet runs: pods come and go without it, and as before when it is registered again", async () => {
    await cluster.kubectl(["delete", "node", node.name]);
    await createPods("bare-1", "bare-2", "bare-3");
    await cluster.untilReady(["bare-1", "bare-2", "bare-3"]);
    await deletePods("bare-1");
    // without a node, `ipam check` finds its blocks orphaned
    await eventually(async () => expect(await addressesInBlocks(cluster)).toEqual(await addressesOfPods(cluster)));
    expect(await addressesInBlocks(cluster)).toHaveLength(REPLICAS + 2);
    expect(await cluster.kubectl(["get", "nodes", "-o", "name"])).toBe("");

    // a kubelet registers when it starts
    await node.kubelet.stop();
    await node.kubelet.start();
    await cluster.kubectl(["wait", "--for=create", `node/${node.name}`, "--timeout=180s"]);
    await cluster.kubectl(["wait", "--for=condition=Ready", "node", "--all", "--timeout=180s"]);
    await turnover.swap(() => deletePods("bare-2", "bare-3"));
  });
});

describe("CRDs", () => {
  test("of an older version stop what needs them and lose nothing; the command that the pod's events name helps", async () => {
    const spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    const older = [
      { op: "remove", path: `${spec}/properties/allocations` },
      { op: "replace", path: `${spec}/required`, value: ["cidr"] },
    ];
    await cluster.kubectl(["patch", "crd", "ipamblocks.netplug.io", "--type=json", "-p", JSON.stringify(older)]);
    await eventually(async () => expect(await cluster.kubectl(["get", "ipamblocks", "-o", "json"])).not.toContain('"allocations"'));

    const failures = noteFailures();
    await turnover.turn();
    await createPods("older");
    await untilTold("older", 'the CRD of blocks is of another version: run "netplugctl init"');
    await eventually(() => expect(failures()).toEqual(["ADD 112", "DEL 112"]));
    await untilNoLink();
    await mustNetplugctl(kubernetesAccess(cluster), ["init"]);
    await untilStarted("older");
    await deletePods("older");
    await turnover.settle();
  });

  test("that are missing are told by the pod's events with the command that brings them; then pods start", async () => {
    await turnover.end();
    const crds = (await cluster.kubectl(["get", "crd", "-o", "jsonpath={.items[*].metadata.name}"])).split(" ");
    await deleteCrds(
      cluster,
      crds.filter((name) => name.endsWith(".netplug.io")),
    );
    await createPods("early");
    await untilTold("early", 'it was never initialised; run "netplugctl init"');
    await initialise(kubernetesAccess(cluster), POOLS);
    await untilStarted("early");
    await untilAddressesAgree(cluster, 1);
    await deletePods("early");
    await untilAddressesAgree(cluster, 0);
    await untilNoLink();
  });
});
