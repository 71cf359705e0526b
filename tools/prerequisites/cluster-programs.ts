/** The programs of a Kubernetes cluster, built from the Go module in `test/cluster`. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { TaskFailure } from "../terminal.ts";
import { ensureGoProgram, ensureGoPrograms, goProgramPath, goProgramsFolder, NEWER_ETCD, wantedGo } from "./go.ts";
import type { GoProgramSet } from "./go.ts";

export const CLUSTER_MODULE = "test/cluster";

/** What `startApiServer()` needs. */
export const API_SERVER_PROGRAMS = ["kube-apiserver", "kubectl"] as const;
const CONTROL_PLANE_PROGRAMS = ["kube-controller-manager", "kube-scheduler"] as const;
const NODE_PROGRAMS = ["kubelet", "containerd", "containerd-shim-runc-v2", "ctr"] as const;
/** The CNI project's plugins, of a version that knows CNI 1.1. */
export const CNI_PLUGIN_PROGRAMS = ["ptp", "bridge", "loopback", "host-local", "portmap"] as const;
/** What a whole cluster needs. */
export const CLUSTER_PROGRAMS = [...API_SERVER_PROGRAMS, ...CONTROL_PLANE_PROGRAMS, ...NODE_PROGRAMS, ...CNI_PLUGIN_PROGRAMS] as const;

export type ClusterProgram = (typeof CLUSTER_PROGRAMS)[number];

/** The release that go.mod pins, `1.36.3`. */
export function kubernetesVersion(): string {
  const found = /^\s*(?:require )?k8s\.io\/kubernetes v(\S+)/m.exec(readFileSync(join(repositoryRoot, CLUSTER_MODULE, "go.mod"), "utf8"));
  if (found?.[1] === undefined) throw new TaskFailure(`${CLUSTER_MODULE}/go.mod: requires no k8s.io/kubernetes`);
  return found[1];
}

/** Builds what is missing of the programs named, and of etcd; progress goes to stderr. @returns false without a usable Go */
export async function ensureClusterPrograms(names: readonly ClusterProgram[]): Promise<boolean> {
  const etcd = await ensureGoProgram(NEWER_ETCD);
  return etcd !== undefined && (await ensureGoPrograms(programSet(), names)) !== undefined;
}

/** Whether the programs named are built, from the sources of this checkout. */
export function areClusterProgramsBuilt(names: readonly ClusterProgram[]): boolean {
  const folder = goProgramsFolder(programSet());
  return existsSync(goProgramPath(NEWER_ETCD)) && names.every((name) => existsSync(join(folder, name)));
}

/** @returns the absolute path of a program @throws TaskFailure when it is not built */
export function clusterProgram(name: ClusterProgram | "etcd"): string {
  const path = name === "etcd" ? goProgramPath(NEWER_ETCD) : join(goProgramsFolder(programSet()), name);
  if (existsSync(path)) return path;
  throw new TaskFailure(`${name} is not built: run \`npm run cluster -- build\` (${wantedGo(CLUSTER_MODULE)}, minutes the first time)`);
}

/** Without version numbers from the linker the programs call themselves v0.0.0, which clients that compare versions reject. */
function programSet(): GoProgramSet {
  const version = kubernetesVersion();
  const [major, minor] = version.split(".");
  const values = {
    gitVersion: `v${version}`,
    gitMajor: major,
    gitMinor: minor,
    gitTreeState: "clean",
    gitCommit: "0".repeat(40),
  };
  return {
    name: "cluster",
    folder: CLUSTER_MODULE,
    linkerFlags: Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
    packages: Object.fromEntries(CLUSTER_PROGRAMS.map((name) => [name, packageOf(name)])),
  };
}

function packageOf(name: ClusterProgram): string {
  switch (name) {
    case "containerd":
    case "containerd-shim-runc-v2":
    case "ctr":
      return `github.com/containerd/containerd/v2/cmd/${name}`;
    case "ptp":
    case "bridge":
    case "loopback":
      return `github.com/containernetworking/plugins/plugins/main/${name}`;
    case "host-local":
      return "github.com/containernetworking/plugins/plugins/ipam/host-local";
    case "portmap":
      return "github.com/containernetworking/plugins/plugins/meta/portmap";
    default:
      return `k8s.io/kubernetes/cmd/${name}`;
  }
}
