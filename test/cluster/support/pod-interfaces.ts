/** What pods have in the kernel, by `ip` in their namespaces: nothing of it comes from the plugin's own words. */

import ipaddr from "ipaddr.js";
import type { LinkView } from "../../support/node/netns.ts";
import type { ClusterNode } from "./node.ts";

/** An address on a pod's interface. */
export interface AddressInUse {
  readonly address: string;
  /** Node and namespace: two pods never share them. */
  readonly where: string;
}

/** Each namespace of containerd's in one line, or nothing where it ends meanwhile. */
const SHOW_ALL = 'for netns in /run/netns/cni-*; do echo "$netns $(nsenter --net="$netns" ip -j address show dev eth0 2>/dev/null)"; done';

/** Those of all pods of these nodes, looked at one after the other. */
export function addressesInUse(nodes: readonly ClusterNode[]): readonly AddressInUse[] {
  return nodes.flatMap((node) =>
    node
      .must(["sh", "-c", SHOW_ALL])
      .split("\n")
      .flatMap((line) => {
        const [netns, json = ""] = line.split(/ (.*)/, 2);
        const links = json === "" ? [] : (JSON.parse(json) as readonly LinkView[]);
        return links.flatMap(({ addr_info = [] }) =>
          addr_info
            .filter(({ scope }) => scope !== "link")
            .map(({ local }) => ({ address: ipaddr.parse(local).toString(), where: `${node.name} ${netns}` })),
        );
      }),
  );
}
