/** Routes between the nodes of `npm run cluster`, which netplug itself does not make yet. */

import type { Cluster } from "../../test/cluster/support/cluster.ts";
import { mustNetplugctl } from "../../test/support/cli/netplugctl.ts";

const POLL_INTERVAL_MS = 1_000;

/** What `ipam show -o json` and `ipam show --show-borrowed -o json` say, as far as it matters here. */
interface Shown {
  readonly blocks: readonly { readonly cidr: string; readonly node: string }[];
}
interface Borrowed {
  readonly borrowed: readonly { readonly ip: string; readonly borrowingNode: string }[];
}

/**
 * Has the addresses of each block reached by way of the node that owns it, and each borrowed one by way of the node that has it, soon
 * after.
 *
 * @param access for `netplugctl`
 * @returns what ends it
 */
export function keepRouted(cluster: Cluster, access: Readonly<Record<string, string>>): () => void {
  const routed = new Map<string, string>();
  const ask = async <T>(...more: readonly string[]): Promise<T> =>
    JSON.parse(await mustNetplugctl(access, ["ipam", "show", ...more, "-o", "json"])) as T;
  const look = async (): Promise<void> => {
    const { blocks } = await ask<Shown>();
    const { borrowed } = await ask<Borrowed>("--show-borrowed");
    const wanted = new Map([
      ...blocks.map(({ cidr, node }) => [cidr, node] as const),
      ...borrowed.map(({ ip, borrowingNode }) => [ip, borrowingNode] as const),
    ]);
    for (const [destination, node] of wanted) if (routed.get(destination) !== node) route(cluster, destination, node, routed);
    for (const [destination, node] of routed) if (!wanted.has(destination)) unroute(cluster, destination, node, routed);
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
  }, POLL_INTERVAL_MS);
  return () => clearInterval(timer);
}

function route(cluster: Cluster, destination: string, node: string, routed: Map<string, string>): void {
  const owner = cluster.nodes.find(({ name }) => name === node);
  if (owner === undefined) return;
  // the node itself must not send away what is its own now
  owner.run(["ip", "route", "del", destination, "proto", "boot"]);
  cluster.route(destination, owner);
  routed.set(destination, node);
}

/** Only what was made here: the plugin's own routes have another protocol. */
function unroute(cluster: Cluster, destination: string, node: string, routed: Map<string, string>): void {
  for (const other of cluster.nodes) if (other.name !== node) other.run(["ip", "route", "del", destination, "proto", "boot"]);
  routed.delete(destination);
}
