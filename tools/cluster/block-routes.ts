/** Routes between the nodes of `npm run cluster`, which netplug itself does not make yet. */

import type { Cluster } from "../../test/cluster/cluster.ts";
import { netplugctl } from "../../test/cluster/networks.ts";

const LOOK_EVERY_MS = 1_000;

/** What `ipam show -o json` says, as far as it matters here. */
interface Shown {
  readonly blocks: readonly { readonly cidr: string; readonly node: string }[];
}

/**
 * Has each block's addresses reached by way of the node that owns it, soon after it was claimed.
 *
 * @param access for `netplugctl`
 * @returns what ends it
 */
export function keepBlocksRouted(cluster: Cluster, access: Readonly<Record<string, string>>): () => void {
  const routed = new Map<string, string>();
  const look = async (): Promise<void> => {
    const { blocks } = JSON.parse(await netplugctl(access, ["ipam", "show", "-o", "json"])) as Shown;
    for (const { cidr, node } of blocks) {
      const owner = cluster.nodes.find(({ name }) => name === node);
      if (owner === undefined || routed.get(cidr) === node) continue;
      cluster.route(cidr, owner);
      routed.set(cidr, node);
    }
  };
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    // a datastore that somebody plays with may be away; the next look finds it again
    void look()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false;
      });
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
