/** The programs of a Kubernetes cluster, built from the Go modules in `test/cluster`. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { TaskFailure } from "../terminal.ts";
import { ensureGoProgram, ensureGoPrograms, goProgramPath, goProgramsFolder, NEWER_ETCD, wantedGo } from "./go.ts";
import type { GoProgram, GoProgramSet } from "./go.ts";

const KUBERNETES = "test/cluster/kubernetes";
/** Apart from Kubernetes: each wants a release of the container runtime interface that the other does not compile with. */
const CONTAINERD = "test/cluster/containerd";

/** What `startApiServer()` needs. */
export const API_SERVER_PROGRAMS = ["kube-apiserver", "kubectl"] as const;
const KUBERNETES_PROGRAMS = [...API_SERVER_PROGRAMS, "kube-controller-manager", "kube-scheduler", "kubelet"] as const;
/** The CNI project's plugins, of a version that knows CNI 1.1. */
export const CNI_PLUGIN_PROGRAMS = ["ptp", "bridge", "loopback", "host-local", "portmap"] as const;
const CONTAINERD_PROGRAMS = ["containerd", "containerd-shim-runc-v2", "ctr", ...CNI_PLUGIN_PROGRAMS] as const;
/** What a whole cluster needs. */
export const CLUSTER_PROGRAMS = [...KUBERNETES_PROGRAMS, ...CONTAINERD_PROGRAMS] as const;

export type ClusterProgram = (typeof CLUSTER_PROGRAMS)[number];

/** The oldest Kubernetes that we name, as far as `startApiServer()` needs it: it runs this one where `KUBE_APISERVER_BINARY` says so. */
export const OLDER_API_SERVER: GoProgram = {
  name: "kube-apiserver",
  folder: "test/older-kubernetes",
  package: "k8s.io/kubernetes/cmd/kube-apiserver",
  linkerFlags: () => versionFlags("test/older-kubernetes"),
};

/** The release that a module's go.mod pins, `1.36.3`. @param folder with go.mod, from the repository's root */
export function kubernetesVersion(folder: string = KUBERNETES): string {
  const found = /^\s*(?:require )?k8s\.io\/kubernetes v(\S+)/m.exec(readFileSync(join(repositoryRoot, folder, "go.mod"), "utf8"));
  if (found?.[1] === undefined) throw new TaskFailure(`${folder}/go.mod: requires no k8s.io/kubernetes`);
  return found[1];
}

/** What a machine needs that builds them: `Go 1.26.6 or newer`. */
export function goForCluster(): string {
  return (
    [KUBERNETES, CONTAINERD]
      .map((folder) => wantedGo(folder))
      .sort()
      .at(-1) ?? "Go"
  );
}

/** Builds what is missing of the programs named, and of etcd; progress goes to stderr. @returns false without a usable Go */
export async function ensureClusterPrograms(names: readonly ClusterProgram[]): Promise<boolean> {
  if ((await ensureGoProgram(NEWER_ETCD)) === undefined) return false;
  for (const set of [kubernetesSet(), containerdSet()]) {
    const ofSet = names.filter((name) => name in set.packages);
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
  throw new TaskFailure(`${name} is not built: run \`npm run cluster -- build\` (${goForCluster()}; minutes the first time)`);
}

/** Where a program is, or will be when it is built. */
export function clusterProgramPath(name: ClusterProgram): string {
  const kubernetes = kubernetesSet();
  return join(goProgramsFolder(name in kubernetes.packages ? kubernetes : containerdSet()), name);
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

function kubernetesSet(): GoProgramSet {
  return {
    name: "kubernetes",
    folder: KUBERNETES,
    linkerFlags: versionFlags(KUBERNETES),
    packages: Object.fromEntries(KUBERNETES_PROGRAMS.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
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
