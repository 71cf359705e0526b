/** A pod that Kubernetes has bound to a node of another name than ours: whether that name is only another one, or another node's. */

import { toPodText } from "../../endpoint/annotations/sources.ts";
import { NODES } from "../../kube/core-types.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { CallOfPod } from "./facts.ts";

/**
 * A node may have a name of its own, but not that of another node: a GC on one of them would release the addresses of the other's pods. It has
 * that after it was made of another node's image; and a late ADD looks the same, whose pod was made anew on another node.
 *
 * @param boundTo the node of the pod
 * @throws NetplugError podMismatch when our name is another node's
 */
export async function requireOwnName(
  { node, args, config, log, datastore }: CallOfPod,
  boundTo: string,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const pod = toPodText(args.pod);
  const names = `on node ${quote(boundTo)}, and the name here is ${quote(node)}`;
  if (await isOfCluster(client, node, signal)) {
    throw new NetplugError(
      "podMismatch",
      `find ${pod}: it is ${names}, which is another node's; correct "nodename", unless the pod was deleted and made anew there`,
    );
  }
  // In etcd a node has labels under its own name.
  if (!datastore.traits.recordsArePods || boundTo === config.kubernetes.nodeName) return;
  log.warning(`${pod} is ${names}: pools' nodeSelector sees no labels of that node; set "nodename" to its name`);
}

/** False also where nodes may not be read: such a node gave addresses before, too. */
async function isOfCluster(client: KubeClient, name: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await client.get(NODES, { name }, { signal })) !== undefined;
  } catch (thrown) {
    if (thrown instanceof NetplugError && thrown.kind === "accessDenied") return false;
    throw thrown;
  }
}
