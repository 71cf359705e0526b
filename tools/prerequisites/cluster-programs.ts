/** The programs of a Kubernetes cluster, built from the Go modules in `test/cluster`, and Kubernetes' tests, of the one in `test/conformance`. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { TaskFailure } from "../terminal.ts";
import { goCacheFolder } from "./go-cache.ts";
import { wantedGo } from "./go-compiler.ts";
import { ensureGoProgram, ensureGoPrograms, goProgramPath, NEWER_ETCD } from "./go-programs.ts";
import type { GoProgramSet } from "./go-programs.ts";

const KUBERNETES = "test/cluster/kubernetes";
/** The oldest Kubernetes that we name. */
export const OLDEST_KUBERNETES_MODULE = "test/older-kubernetes";
/** Apart from Kubernetes: each wants a release of the container runtime interface that the other does not compile with. */
const CONTAINERD = "test/cluster/containerd";
/** Apart, too: nobody else wants what only Kubernetes' tests are made of. */
export const CONFORMANCE_MODULE = "test/conformance";

/** What `startApiServer()` needs. */
export const API_SERVER_PROGRAMS = ["kube-apiserver", "kubectl"] as const;
const CONTROL_AND_NODES = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"] as const;
const KUBERNETES_PROGRAMS = [...CONTROL_AND_NODES, "kubectl"] as const;
/** The CNI project's plugins, of a version that knows CNI 1.1. */
export const CNI_PLUGIN_PROGRAMS = ["ptp", "bridge", "loopback", "host-local", "portmap"] as const;
const CONTAINERD_PROGRAMS = ["containerd", "containerd-shim-runc-v2", "ctr", ...CNI_PLUGIN_PROGRAMS] as const;
/** What a whole cluster needs. */
export const CLUSTER_PROGRAMS = [...KUBERNETES_PROGRAMS, ...CONTAINERD_PROGRAMS] as const;

/** Kubernetes' own tests of networks, what runs them in several processes, and the server and client that they put into pods. */
export const CONFORMANCE_PROGRAMS = ["conformance", "ginkgo", "agnhost"] as const;

export type ClusterProgram = (typeof CLUSTER_PROGRAMS | typeof CONFORMANCE_PROGRAMS)[number];

/**
 * The variable that chooses another release of Kubernetes: its value is the folder of a Go module, from the repository's root, that pins one. Then
 * all programs but kubectl are of that one.
 */
export const KUBERNETES_MODULE = "KUBERNETES_MODULE";

type Environment = Readonly<Record<string, string | undefined>>;

/** The release that a module's go.mod pins, `1.36.3`. @param folder with go.mod, from the repository's root */
export function kubernetesVersion(folder: string = KUBERNETES): string {
  const file = join(repositoryRoot, folder, "go.mod");
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const found = /^\s*(?:require )?k8s\.io\/kubernetes v(\S+)/m.exec(text);
  if (found?.[1] === undefined) throw new TaskFailure(`${folder}/go.mod: is missing, or requires no k8s.io/kubernetes`);
  return found[1];
}

/** The release that clusters are of: that of the module chosen by {@link KUBERNETES_MODULE}. */
export function clusterVersion(env: Environment = process.env): string {
  return kubernetesVersion(env[KUBERNETES_MODULE]);
}

/** What a machine needs that builds them: `Go 1.26.6 or newer`. */
export function goForCluster(): string {
  return (
    [KUBERNETES, CONTAINERD, CONFORMANCE_MODULE]
      .map((folder) => wantedGo(folder))
      .sort()
      .at(-1) ?? "Go"
  );
}

/**
 * Builds what is missing of the programs named, and of etcd; progress goes to stderr.
 *
 * @param env of those that will run them
 * @returns false without a usable Go
 */
export async function ensureClusterPrograms(names: readonly ClusterProgram[], env: Environment = process.env): Promise<boolean> {
  if ((await ensureGoProgram(NEWER_ETCD)) === undefined) return false;
  const sets = programSets(env);
  for (const set of sets) {
    const ofSet = names.filter((name) => setOf(name, sets) === set);
    // an API server alone wants none of containerd's
    if (ofSet.length === 0) continue;
    if ((await ensureGoPrograms(set, ofSet)) === undefined) return false;
  }
  return true;
}

/** Whether the programs named are built, from the sources of this checkout. */
export function areClusterProgramsBuilt(names: readonly ClusterProgram[]): boolean {
  return existsSync(goProgramPath(NEWER_ETCD)) && names.every((name) => existsSync(clusterProgramPath(name)));
}

/** @returns the absolute path of a program @throws TaskFailure when it is not built */
export function clusterProgram(name: ClusterProgram | "etcd"): string {
  const path = name === "etcd" ? goProgramPath(NEWER_ETCD) : clusterProgramPath(name);
  if (existsSync(path)) return path;
  const command = name in conformanceSet().packages ? "npm run test:conformance" : "npm run cluster -- build";
  throw new TaskFailure(`${name} is not built: run \`${command}\` (${goForCluster()}; minutes the first time)`);
}

/** Where a program is, or will be when it is built. */
export function clusterProgramPath(name: ClusterProgram, env: Environment = process.env): string {
  return join(goCacheFolder(setOf(name, programSets(env))), name);
}

/** The first that has a program is what it is taken from. */
function programSets(env: Environment): readonly GoProgramSet[] {
  const other = env[KUBERNETES_MODULE];
  const others = other === undefined ? [] : [kubernetesSet(other, CONTROL_AND_NODES)];
  return [...others, kubernetesSet(KUBERNETES, KUBERNETES_PROGRAMS), containerdSet(), conformanceSet()];
}

function setOf(name: ClusterProgram, sets: readonly GoProgramSet[]): GoProgramSet {
  const found = sets.find(({ packages }) => name in packages);
  if (found === undefined) throw new Error(`find ${name}: no module has it`);
  return found;
}

/** Without version numbers from the linker the programs call themselves v0.0.0, which clients that compare versions reject. */
function versionFlags(folder: string): readonly string[] {
  const version = kubernetesVersion(folder);
  const [major, minor] = version.split(".");
  const values = {
    gitVersion: `v${version}`,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: "clean",
    gitCommit: "0".repeat(40),
  };
  return Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
}

function kubernetesSet(folder: string, names: readonly string[]): GoProgramSet {
  return {
    name: "kubernetes",
    folder,
    linkerFlags: versionFlags(folder),
    packages: Object.fromEntries(names.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
  };
}

function containerdSet(): GoProgramSet {
  return {
    name: "containerd",
    folder: CONTAINERD,
    linkerFlags: [],
    packages: Object.fromEntries(CONTAINERD_PROGRAMS.map((name) => [name, containerdPackage(name)])),
  };
}

function conformanceSet(): GoProgramSet {
  return {
    name: "conformance",
    folder: CONFORMANCE_MODULE,
    linkerFlags: versionFlags(CONFORMANCE_MODULE),
    packages: {
      conformance: ".",
      ginkgo: "github.com/onsi/ginkgo/v2/ginkgo",
      agnhost: "k8s.io/kubernetes/test/images/agnhost",
    } satisfies Record<(typeof CONFORMANCE_PROGRAMS)[number], string>,
  };
}

function containerdPackage(name: (typeof CONTAINERD_PROGRAMS)[number]): string {
  switch (name) {
    case "ptp":
    case "bridge":
    case "loopback":
      return `github.com/containernetworking/plugins/plugins/main/${name}`;
    case "host-local":
      return "github.com/containernetworking/plugins/plugins/ipam/host-local";
    case "portmap":
      return "github.com/containernetworking/plugins/plugins/meta/portmap";
    default:
      return `github.com/containerd/containerd/v2/cmd/${name}`;
  }
}
