/**
 * `manifests/install-cni.yaml` on a node that has no network: what a user of a cluster does, from the first `apply` to the last `delete`.
 */

import { afterAll, beforeAll, expect, test as always } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLedger } from "../../src/lib/log/read-ledger.ts";
import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { spawnPlugin } from "../support/programs/cni.ts";
import { initialise } from "../support/cli/netplugctl.ts";
import { applyRoles } from "../support/servers/rights.ts";
import { AuditLog, rightsOf } from "./support/audit-log.ts";
import { canStartCluster, startCluster } from "./support/cluster.ts";
import type { Cluster } from "./support/cluster.ts";
import { etcdAccess, prepareKubernetes } from "./support/datastores.ts";
import { eventually } from "../support/time/eventually.ts";
import {
  applyInstaller,
  deleteInstaller,
  INSTALLER_PODS,
  importInstallerImage,
  makeExecutables,
  runInstallerOnce,
  untilInstalled,
} from "./support/installer.ts";
import type { ClusterNode } from "./support/node.ts";
import { runPods } from "./support/pods.ts";
import { shownKubeProxyConfig } from "./support/services.ts";
import { userOfToken } from "../support/servers/short-token.ts";
import { createReplicas } from "./support/workload.ts";

const test = always.skipIf(!canStartCluster());
/** As a user's ConfigMap has it. */
const TEMPLATE = `{
  "name": "k8s-pod-network",
  "cniVersion": "1.1.0",
  "plugins": [
    {
      "type": "netplug",
      "log_level": "__LOG_LEVEL__",
      "log_file_path": "__LOG_FILE_PATH__",
      "datastore_type": "__DATASTORE_TYPE__",
      "etcd_endpoints": "__ETCD_ENDPOINTS__",
      "nodename": "__KUBERNETES_NODE_NAME__",
      "mtu": __CNI_MTU__,
      "ipam": { "type": "netplug-ipam" },
      "policy": { "type": "k8s" },
      "kubernetes": { "kubeconfig": "__KUBECONFIG_FILEPATH__" }
    }
  ]
}`;
/** What becomes of it, by the hand of a person. */
const filledIn = (): string =>
  TEMPLATE.replace("__LOG_LEVEL__", "INFO")
    .replace("__LOG_FILE_PATH__", "/var/log/netplug/cni/cni.log")
    .replace("__DATASTORE_TYPE__", "etcdv3")
    .replace("__ETCD_ENDPOINTS__", cluster.etcdEndpoint)
    .replace("__KUBERNETES_NODE_NAME__", "node-1")
    .replace("__CNI_MTU__", "1400")
    .replace("__KUBECONFIG_FILEPATH__", "/etc/cni/net.d/netplug-kubeconfig");

const IMAGES = ["localhost/netplug:1", "localhost/netplug:2"] as const;

let cluster: Cluster;
let node: ClusterNode;
let folder: string;
let audit: AuditLog;
/** Of the images. */
let executables: readonly [string, string];

beforeAll(async () => {
  if (!canStartCluster()) return;
  folder = mkdtempSync(join(tmpdir(), "npgt-installer-"));
  audit = new AuditLog(folder, ["netplug-node", "netplug-cni-plugin"]);
  executables = makeExecutables(folder);
  cluster = await startCluster({
    isNetworkLate: true,
    kubeProxy: shownKubeProxyConfig(),
    args: audit.flags,
    network: async (one, facts) => {
      // files, not links to what a container does not see
      for (const name of ["loopback", "portmap"] as const) {
        rmSync(one.path(`/opt/cni/bin/${name}`));
        copyFileSync(clusterProgram(name), one.path(`/opt/cni/bin/${name}`));
      }
      for (const [index, executable] of executables.entries()) {
        importInstallerImage(one, join(folder, "image"), IMAGES[index] ?? "", executable);
      }
      await prepareKubernetes(facts, ["10.65.0.0/16"]);
    },
  });
  node = cluster.nodes[0];
});
afterAll(async () => {
  await cluster?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** Where the API server is, it knows as every pod: by the Service. */
const settings = (more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  CNI_TOKEN_REFRESH_INTERVAL: "2s",
  ...more,
});

const files = (): { readonly [name in "conflist" | "kubeconfig" | "executable" | "ipam"]: string } => ({
  conflist: node.path("/etc/cni/net.d/10-netplug.conflist"),
  kubeconfig: node.path("/etc/cni/net.d/netplug-kubeconfig"),
  executable: node.path("/opt/cni/bin/netplug"),
  ipam: node.path("/opt/cni/bin/netplug-ipam"),
});

async function nodeCondition(): Promise<string> {
  return await cluster.kubectl(["get", "node", node.name, "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}"]);
}

async function untilNode(isReady: boolean): Promise<void> {
  await cluster.kubectl(["wait", `--for=condition=Ready=${isReady}`, `node/${node.name}`, "--timeout=180s"]);
}

/** Exit status of a pod that has ended. */
async function statusOf(pod: string): Promise<number> {
  const path = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}";
  return Number(await cluster.kubectl(["--namespace", "kube-system", "get", "pod", pod, "-o", path]));
}

const isSame = (path: string, other: string): boolean => readFileSync(path).equals(readFileSync(other));

function kubeconfigOnNode(): { readonly server: string | undefined; readonly token: string } {
  const { clusters, users } = JSON.parse(readFileSync(files().kubeconfig, "utf8")) as {
    readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  return { server: clusters[0]?.cluster.server, token: users[0]?.user.token ?? "" };
}

const tokenOnNode = (): string => kubeconfigOnNode().token;

/** Looks without a pause while something goes on. @returns each thing that it saw, once */
async function watch<T>(look: () => Promise<T | undefined> | T | undefined, work: () => Promise<void>): Promise<readonly T[]> {
  const seen = new Set<T>();
  const over = new AbortController();
  const watching = (async () => {
    for (; !over.signal.aborted; await Bun.sleep(1)) {
      const one = await look();
      if (one !== undefined) seen.add(one);
    }
  })();
  try {
    await Promise.race([work(), watching]);
  } finally {
    over.abort();
  }
  await watching;
  return [...seen];
}

/** What a runtime finds that has just found the network config: modes of the files, and whether the executable is all there. */
function lookAtFiles(): string | undefined {
  const { kubeconfig, executable, ipam, conflist } = files();
  if (!existsSync(conflist)) return undefined;
  for (const path of [kubeconfig, conflist]) JSON.parse(readFileSync(path, "utf8"));
  const modes = [conflist, kubeconfig, executable, ipam].map((path) => (statSync(path).mode & 0o7777).toString(8));
  return `${modes.join(" ")} ${statSync(executable).size === statSync(executables[0]).size ? "whole" : "part"}`;
}

/** What comes of running the executable, whichever it is. */
async function runExecutable(): Promise<string> {
  try {
    const { status, stdout } = await spawnPlugin(files().executable, { CNI_COMMAND: "VERSION" }, '{"cniVersion":"1.1.0"}');
    return `status ${status} ${stdout.includes("supportedVersions") ? "with" : "without"} an answer`;
  } catch (thrown) {
    return String(thrown);
  }
}

/** Codes of the plugin's calls so far that have failed. */
function failedCalls(): readonly number[] {
  const entries = readLedger(readFileSync(node.path("/var/log/netplug/cni/cni.log"), "utf8").split("\n"));
  return entries.map(({ code }) => code).filter((code) => code !== 0);
}

test("a node without a network config is NotReady and says why; the DaemonSet brings all of it at once, and it is Ready (needs cluster)", async () => {
  await eventually(async () => expect(await nodeCondition()).toContain("cni plugin not initialized"));
  const seen = await watch(lookAtFiles, async () => {
    await applyInstaller(cluster, IMAGES[0], settings());
    await untilInstalled(cluster);
    await untilNode(true);
  });
  expect(seen).toEqual(["600 600 755 755 whole"]);
  expect(isSame(files().executable, executables[0])).toBe(true);
  expect(JSON.parse(readFileSync(files().conflist, "utf8"))).toMatchObject({
    cniVersion: "1.1.0",
    plugins: [{ nodename: node.name, datastore_type: "kubernetes" }, { type: "portmap" }],
  });
  const service = await cluster.kubectl(["get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}"]);
  expect(kubeconfigOnNode().server).toBe(`https://${service}`);
  // it is Ready by its state file; that line is the next thing that it does, and the runtime's to pass on
  const log = await eventually(async () => {
    const lines = await cluster.kubectl(["logs", ...INSTALLER_PODS]);
    expect(lines).toContain('"event":"ready"');
    return lines;
  });
  expect(log).not.toContain(tokenOnNode());
  const [pod] = await runPods(cluster, [{ name: "first" }]);
  expect(pod?.address).toStartWith("10.65.");
});

test("the kubeconfig's token is another one every time, good for the plugin's account, and read again by the plugin (needs cluster)", async () => {
  const first = tokenOnNode();
  await eventually(() => expect(tokenOnNode()).not.toBe(first));
  expect(await userOfToken(cluster.api, tokenOnNode())).toBe("system:serviceaccount:kube-system:netplug-cni-plugin");
  // with its account all tokens that there were are gone; the plugin's next call needs one of the new account
  await cluster.kubectl(["--namespace", "kube-system", "delete", "serviceaccount", "netplug-cni-plugin"]);
  await eventually(async () => expect(await userOfToken(cluster.api, first)).toBeUndefined());
  await eventually(async () =>
    expect(await cluster.warnings("kube-system")).toMatch(
      /token is not accepted any more .* there is no such account; apply manifests\/rbac.yaml/,
    ),
  );
  await applyRoles(cluster);
  // by then the installer asks no more often than every 20 s
  await eventually(async () => expect(await userOfToken(cluster.api, tokenOnNode())).toBeDefined(), 60_000);
  await runPods(cluster, [{ name: "second" }]);
});

test("a new image replaces the executable in one step while pods start: none fails, and nobody finds a busy or half file (needs cluster)", async () => {
  const before = failedCalls().length;
  const answers = await watch(runExecutable, async () => {
    await createReplicas(cluster, "Deployment", "busy", 20);
    await applyInstaller(cluster, IMAGES[1], settings());
    await untilInstalled(cluster);
    expect(isSame(files().executable, executables[1])).toBe(true);
    await cluster.kubectl(["rollout", "status", "deployment/busy", "--timeout=180s"]);
  });
  expect(answers).toEqual(["status 0 with an answer"]);
  expect(failedCalls().length).toBe(before);
  expect(await cluster.warnings("default")).not.toMatch(/FailedCreatePodSandBox .*busy/);
  await cluster.kubectl(["delete", "deployment/busy", "--cascade=foreground", "--timeout=180s"]);
});

test("without the installer the node goes on (needs cluster)", async () => {
  await deleteInstaller(cluster);
  expect([existsSync(files().conflist), existsSync(files().kubeconfig)]).toEqual([true, true]);
  await runPods(cluster, [{ name: "alone" }]);
  await cluster.kubectl(["delete", "pods", "--all", "--timeout=180s"]);
});

// before the next test takes the plugin's role away, which the runtime's STATUS may notice
test("the API server's own log: no account was refused anything, and each asked for all that its role lets it (needs cluster)", async () => {
  expect(audit.askedBy("netplug-node")).toEqual(["create serviceaccounts/token"]);
  const permitted = await rightsOf(cluster, "clusterrole/netplug-cni");
  // what has been garbage for five minutes
  const seldom = new Set(["delete ipamblocks"]);
  // who it is, this test asks; what it may do, STATUS; which version, the installer, to see whether the token is good
  const ofEverybody = ["create selfsubjectreviews", "create selfsubjectaccessreviews", "get /version"];
  const asked = audit.askedBy("netplug-cni-plugin");
  expect(asked.filter((request) => !permitted.includes(request) && !ofEverybody.includes(request))).toEqual([]);
  expect(permitted.filter((right) => !asked.includes(right) && !seldom.has(right))).toEqual([]);
});

test("a config of the user's own, with etcd and the roles for it; its clean stop takes it away, and the node is NotReady (needs cluster)", async () => {
  await initialise(etcdAccess(cluster), ["10.66.0.0/16"]);
  await applyRoles(cluster, "rbac-etcd.yaml");
  await cluster.kubectl(["delete", "clusterrolebinding", "netplug-cni"]);
  const etcd = { DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: cluster.etcdEndpoint };
  await applyInstaller(cluster, IMAGES[1], settings({ ...etcd, CNI_MTU: "1400", CNI_NETWORK_CONFIG: TEMPLATE, REMOVE_ON_STOP: "true" }));
  await untilInstalled(cluster);
  expect(JSON.parse(readFileSync(files().conflist, "utf8"))).toEqual(JSON.parse(filledIn()));
  const [pod] = await runPods(cluster, [{ name: "own" }]);
  expect(pod?.address).toStartWith("10.66.");
  expect(await cluster.kubectl(["exec", "own", "--", "cat", "/sys/class/net/eth0/mtu"])).toBe("1400\n");

  await cluster.kubectl(["delete", "pods", "--all", "--timeout=180s"]);
  await deleteInstaller(cluster);
  expect([existsSync(files().conflist), existsSync(files().kubeconfig), existsSync(files().executable)]).toEqual([false, true, true]);
  await untilNode(false);
  expect(await nodeCondition()).toContain("cni plugin not initialized");
});

test("a host folder that is read-only or full is told by kubectl logs; one that is missing is made (needs cluster)", async () => {
  node.must(["sh", "-c", "mkdir /opt/full /opt/fixed && mount -t tmpfs -o size=8m none /opt/full"]);
  await Promise.all([
    runInstallerOnce(cluster, IMAGES[0], { name: "fixed", node: node.name, bin: "/opt/fixed", isReadOnly: true, settings: settings() }),
    runInstallerOnce(cluster, IMAGES[0], { name: "full", node: node.name, bin: "/opt/full", settings: settings() }),
    runInstallerOnce(cluster, IMAGES[0], { name: "missing", node: node.name, bin: "/opt/not/there/yet", settings: settings() }),
  ]);
  const lastOf = async (pod: string): Promise<unknown> => {
    const lines = (await cluster.kubectl(["--namespace", "kube-system", "logs", pod])).trimEnd().split("\n");
    const { level, msg } = JSON.parse(lines.at(-1) ?? "") as { readonly level: string; readonly msg: string };
    return [await statusOf(pod), level, msg];
  };
  const there = "/host/opt/cni/bin";
  expect(await lastOf("fixed")).toEqual([
    1,
    "ERROR",
    `install into "${there}": write to "${there}": EROFS (read-only file system); mount it writable, or name another folder`,
  ]);
  expect(await lastOf("full")).toEqual([
    1,
    "ERROR",
    `install "${there}/netplug": write "${there}/.netplug.netplug-tmp": ENOSPC (no space left on device)`,
  ]);
  expect(node.must(["ls", "-A", "/opt/full"])).toBe("");
  expect(await lastOf("missing")).toEqual([0, "WARNING", expect.stringContaining("nobody renews the token from now on")]);
  expect(isSame(node.path("/opt/not/there/yet/netplug"), executables[0])).toBe(true);
});
