/** The suite's parts: what each runs and needs. */

import {
  API_SERVER_PROGRAMS,
  CLUSTER_PROGRAMS,
  CONFORMANCE_PROGRAMS,
  KUBERNETES_MODULE,
  OLDEST_KUBERNETES_MODULE,
} from "../prerequisites/cluster-programs.ts";
import type { ClusterProgram } from "../prerequisites/cluster-programs.ts";
import { LIBCNI_DRIVER, NEWER_ETCD } from "../prerequisites/go-programs.ts";
import type { GoProgram } from "../prerequisites/go-programs.ts";
import type { SystemToolName } from "../prerequisites/system-tools.ts";

export interface TestPart {
  readonly name: string;
  /** Folders with its test files. */
  readonly folders: readonly string[];
  /** Of the files in those folders only these. @default all */
  readonly files?: readonly string[];
  /** Of the files in those folders none whose path fits. @default all */
  readonly without?: RegExp;
  /** For the environment of its tests. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly needsRoot: boolean;
  readonly tools: readonly SystemToolName[];
  /** Whether its tests run `dist/netplug`. */
  readonly needsBuild: boolean;
  /** A program built from a Go module that its tests are about, and the variable that tells them where it is; left out without Go. */
  readonly goProgram?: { readonly program: GoProgram; readonly variable: string };
  /** Programs of a Kubernetes cluster that its tests start; without Go the tests named `… (needs cluster)` skip themselves. */
  readonly clusterPrograms?: readonly ClusterProgram[];
  /** Whether no test of it runs without those programs: then it is left out in one line. */
  readonly isAboutCluster?: boolean;
  /** How many files run at once, each in a process of its own; two cores do three that often wait in less time than two. @default 1, all in one process */
  readonly workers?: number;
  /**
   * How many files run at once, each in a process and a sandbox of its own: for tests that look at all interfaces of their namespace.
   *
   * @default 1
   */
  readonly lanes?: number;
  /** Of the files in lanes those that take long for their size. @default none */
  readonly slow?: readonly string[];
  /** Of one test, unless the test says otherwise; it ends what hangs, and is long enough for a machine that is ten times slower. */
  readonly testTimeoutMs: number;
  /** Of the whole part; a part that hangs is ended then. */
  readonly timeoutMs: number;
}

const MINUTE = 60_000;
const DATASTORE = ["etcd", "etcdctl", "openssl", "ip", "nft"] as const;
const NODE = [...DATASTORE, "nsenter", "ping", "cni-plugins"] as const;

const cniTest = (name: string): string => `test/cni/${name}.test.ts`;
const SLOW_CNI_TESTS = ["address-in-use", "expiring-token", "kubernetes-faults", "kubernetes-restart", "late-add", "model", "prefetch"].map(
  cniTest,
);

/** In the order in which `npm test` runs them: the quick and telling ones first. */
export const TEST_PARTS: readonly TestPart[] = [
  {
    name: "unit",
    folders: ["src", "tools", "test/bench", "test/conformance"],
    without: /\/conformance\.test\.ts$/,
    needsRoot: false,
    tools: [],
    needsBuild: false,
    workers: 2,
    testTimeoutMs: MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  { name: "log", folders: ["test/log"], needsRoot: false, tools: [], needsBuild: false, testTimeoutMs: MINUTE, timeoutMs: 5 * MINUTE },
  {
    name: "kernel",
    folders: ["test/kernel"],
    needsRoot: true,
    tools: ["ip", "nsenter", "ping", "nft", "iptables"],
    needsBuild: false,
    testTimeoutMs: MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "datastore",
    folders: ["test/datastore"],
    needsRoot: true,
    tools: DATASTORE,
    needsBuild: false,
    clusterPrograms: API_SERVER_PROGRAMS,
    workers: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 15 * MINUTE,
  },
  {
    name: "newer-etcd",
    folders: ["test/datastore"],
    // they ask no etcd of theirs
    without: /\/(?:kubernetes|memory)[^/]*$/,
    needsRoot: true,
    tools: DATASTORE,
    needsBuild: false,
    goProgram: { program: NEWER_ETCD, variable: "ETCD_BINARY" },
    workers: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 15 * MINUTE,
  },
  {
    name: "libcni",
    folders: ["test/libcni"],
    needsRoot: true,
    tools: [...NODE, "iptables"],
    needsBuild: true,
    goProgram: { program: LIBCNI_DRIVER, variable: "LIBCNI_DRIVER" },
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "cni",
    folders: ["test/cni"],
    needsRoot: true,
    tools: NODE,
    needsBuild: true,
    clusterPrograms: API_SERVER_PROGRAMS,
    lanes: 3,
    slow: SLOW_CNI_TESTS,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 20 * MINUTE,
  },
  {
    // the same contract on the Kubernetes datastore
    name: "cni-kubernetes",
    folders: ["test/cni"],
    files: [
      "add",
      "address-in-use",
      "addresses-by-pod",
      "burst",
      "changed-annotations",
      "changed-main",
      "changed-request",
      "check",
      "damaged-block",
      "del",
      "delegated",
      "explain",
      "explain-manifest",
      "late-add",
      "limits",
      "mistyped-node",
      "model",
      "moving",
      "prefetch",
      "other-main-plugins",
      "pod-annotations",
      "pod-cidr",
      "pod-lookup",
      "pod-node",
      "pod-selector",
      "renamed-node",
      "restored-datastore",
      "run-folder-status",
      "status-gc",
      "versions",
    ].map(cniTest),
    variables: { CNI_DATASTORE: "kubernetes" },
    needsRoot: true,
    tools: NODE,
    needsBuild: true,
    clusterPrograms: API_SERVER_PROGRAMS,
    isAboutCluster: true,
    lanes: 3,
    slow: SLOW_CNI_TESTS,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 15 * MINUTE,
  },
  {
    name: "fault",
    folders: ["test/fault"],
    needsRoot: true,
    tools: NODE,
    needsBuild: true,
    workers: 3,
    // Some hundred processes that are killed, one after the other.
    testTimeoutMs: 15 * MINUTE,
    timeoutMs: 30 * MINUTE,
  },
  {
    name: "cli",
    folders: ["test/cli"],
    needsRoot: true,
    tools: [...DATASTORE, "zsh", "fish"],
    needsBuild: true,
    clusterPrograms: API_SERVER_PROGRAMS,
    workers: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "install",
    folders: ["test/install"],
    needsRoot: true,
    tools: ["cni-plugins", "openssl"],
    needsBuild: true,
    clusterPrograms: API_SERVER_PROGRAMS,
    workers: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "containerd",
    folders: ["test/containerd"],
    needsRoot: true,
    tools: [...NODE, "containerd", "ctr", "runc", "busybox", "iptables", "nft"],
    needsBuild: true,
    testTimeoutMs: 4 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "podman",
    folders: ["test/podman"],
    needsRoot: true,
    tools: [...NODE, "podman", "runc", "busybox", "iptables"],
    needsBuild: true,
    testTimeoutMs: 4 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "crds",
    folders: ["test/crds"],
    needsRoot: true,
    tools: ["openssl"],
    needsBuild: false,
    clusterPrograms: API_SERVER_PROGRAMS,
    isAboutCluster: true,
    workers: 2,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "kube",
    folders: ["test/kube"],
    needsRoot: false,
    tools: ["openssl", "etcdctl"],
    needsBuild: false,
    clusterPrograms: API_SERVER_PROGRAMS,
    workers: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    // what depends most on the API server, on the oldest one
    name: "older-kubernetes",
    folders: ["test/older-kubernetes"],
    files: [
      "older-kubernetes/release",
      "crds/agreement",
      "crds/changes",
      "datastore/kubernetes",
      "datastore/kubernetes-crds",
      "kube/operations",
      "cli/kubernetes-init",
      "cli/kubernetes-permissions",
      "cni/kubernetes",
      "install/roles",
    ].map((name) => `test/${name}.test.ts`),
    needsRoot: true,
    tools: NODE,
    needsBuild: true,
    variables: { [KUBERNETES_MODULE]: OLDEST_KUBERNETES_MODULE },
    clusterPrograms: API_SERVER_PROGRAMS,
    isAboutCluster: true,
    lanes: 3,
    testTimeoutMs: 3 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
  {
    name: "cluster",
    folders: ["test/cluster"],
    needsRoot: true,
    tools: [...NODE, "busybox", "runc", "iptables", "nft"],
    needsBuild: true,
    clusterPrograms: CLUSTER_PROGRAMS,
    isAboutCluster: true,
    lanes: 2,
    // each starts two clusters, one after the other
    slow: ["test/cluster/reboot.test.ts", "test/cluster/workloads.test.ts"],
    testTimeoutMs: 5 * MINUTE,
    timeoutMs: 30 * MINUTE,
  },
  {
    name: "conformance",
    folders: ["test/conformance"],
    files: ["test/conformance/conformance.test.ts"],
    needsRoot: true,
    tools: [...NODE, "busybox", "runc", "iptables", "nft", "curl", "dash", "ldd", "nc.openbsd"],
    needsBuild: true,
    clusterPrograms: [...CLUSTER_PROGRAMS, ...CONFORMANCE_PROGRAMS],
    isAboutCluster: true,
    // Kubernetes' tests run in one go before the first test here
    testTimeoutMs: 25 * MINUTE,
    timeoutMs: 30 * MINUTE,
  },
  {
    name: "repository",
    folders: ["test/repository"],
    needsRoot: true,
    tools: NODE,
    needsBuild: true,
    testTimeoutMs: 4 * MINUTE,
    timeoutMs: 10 * MINUTE,
  },
];
