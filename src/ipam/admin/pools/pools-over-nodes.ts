/** Pools that may give a pod the address of a node: only that node itself would not. */

import type { NodeSpec } from "../../../api/node.ts";
import type { Resource } from "../../../api/resource.ts";
import type { Stored } from "../../../datastore/datastore.ts";
import { type Address, toAddressText, tryParseAddress } from "../../../lib/ip/address.ts";
import { containsAddress } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import type { Pool } from "../../pools.ts";
import { toReservedSet } from "../../reservations.ts";
import type { PoolWarning } from "./pool-warnings.ts";

interface NodeAddress {
  readonly node: string;
  readonly address: Address;
}

/** A warning for each of these pools that pods get addresses from and that holds one of a node, unless it is reserved. */
export function poolsOverNodes(
  pools: readonly Pick<Pool, "name" | "cidr" | "spec">[],
  nodes: readonly Stored<Resource>[],
  reservations: readonly Stored<Resource>[],
): readonly PoolWarning[] {
  const reserved = toReservedSet(reservations);
  const exposed = nodes.flatMap(({ value }) => addressesOf(value)).filter(({ address }) => !reserved.has(address));
  return pools.flatMap(({ name, cidr, spec }): PoolWarning[] => {
    if (spec.disabled || !spec.allowedUses.includes("Workload")) return [];
    const inside = exposed.filter(({ address }) => containsAddress(cidr, address));
    return inside.length === 0 ? [] : [{ kind: "IPPool", object: name, detail: describe(inside) }];
  });
}

function describe(inside: readonly NodeAddress[]): string {
  const [first] = inside;
  const example = `${first === undefined ? "" : toAddressText(first.address)}, an address of node ${quote(first?.node ?? "")}`;
  const more = inside.length === 1 ? "" : ` and ${inside.length - 1} more`;
  return `it contains ${example}${more}, which no other node keeps from pods; reserve such addresses by an IPReservation`;
}

/** With or without a prefix length; what is no address is left out. Written with etcdctl, they may have any shape. */
function addressesOf({ metadata, spec }: Resource): readonly NodeAddress[] {
  const { addresses, bgp } = spec as NodeSpec;
  const listed: readonly ({ readonly address?: unknown } | null)[] = Array.isArray(addresses) ? addresses : [];
  const texts: readonly unknown[] = [...listed.map((one) => one?.address), bgp?.ipv4Address, bgp?.ipv6Address];
  const found = texts
    .map((text) => (typeof text === "string" ? tryParseAddress(text.replace(/\/.*$/, "")) : undefined))
    .filter((address) => address !== undefined);
  const distinct = new Map(found.map((address) => [toAddressText(address), address]));
  return [...distinct.values()].map((address) => ({ node: metadata.name, address }));
}
