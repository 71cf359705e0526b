/** The installer that we ship, run on a node itself rather than in a pod. */

import { join } from "node:path";
import { distFolder } from "../../support/programs/cni.ts";
import type { ApiServer } from "../../support/servers/api-server.ts";
import type { ClusterFacts } from "./cluster.ts";
import type { ClusterNode } from "./node.ts";

/** Where a node's plugin, and its installer, find the API server. */
export type Door = Pick<ApiServer, "url" | "caFile">;

/** How it is called; without more arguments it stays. */
export interface Installer {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface InstallOptions {
  /** Where the plugin is to find the API server. @default where everybody does */
  readonly door?: Door;
  /** Variables of the installer, besides those that say where the API server is. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Runs it once. */
export async function runInstaller(node: ClusterNode, cluster: ClusterFacts, { door, settings = {} }: InstallOptions = {}): Promise<void> {
  const { command, env } = await installerFor(node, cluster, door);
  node.must([...command, "--once"], { env: { ...env, ...settings } });
}

export async function installerFor(
  node: ClusterNode,
  { api, url }: ClusterFacts,
  door: Door = { url, caFile: api.caFile },
): Promise<Installer> {
  const token = await api.kubectl(["--namespace", "kube-system", "create", "token", "netplug-node"]);
  return {
    command: [join(distFolder, "netplug"), "install-cni", "--bin-dir=/opt/cni/bin", "--conf-dir=/etc/cni/net.d"],
    env: {
      DATASTORE_TYPE: "kubernetes",
      K8S_API_ENDPOINT: door.url,
      K8S_API_TOKEN: token.trim(),
      K8S_CA_FILE: door.caFile,
      KUBERNETES_NODE_NAME: node.name,
    },
  };
}
