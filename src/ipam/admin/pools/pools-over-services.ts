/** Pools that may give a pod the address of a Service of Kubernetes. */

import { overlaps, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import type { Stored } from "../../../datastore/datastore.ts";
import type { Resource } from "../../../api/resource.ts";
import type { Pool } from "../../pools.ts";
import { toReservedSet } from "../../reservations.ts";
import type { PoolWarning } from "./pool-warnings.ts";

/** Where Services get their addresses. */
export interface ServiceCidr {
  /** Of the object that says so, which may have one for each family. */
  readonly name: string;
  readonly cidr: Prefix;
}

/** A warning for each of these pools that pods get addresses from and that overlaps the addresses of Services, unless what both have is reserved. */
export function poolsOverServices(
  pools: readonly Pick<Pool, "name" | "cidr" | "spec">[],
  services: readonly ServiceCidr[],
  reservations: readonly Stored<Resource>[],
): readonly PoolWarning[] {
  const reserved = toReservedSet(reservations);
  return pools.flatMap(({ name, cidr, spec }): PoolWarning[] => {
    if (spec.disabled || !spec.allowedUses.includes("Workload")) return [];
    const over = services.filter((service) => {
      if (!overlaps(cidr, service.cidr)) return false;
      // Of two prefixes that overlap, one contains the other.
      return !reserved.covers(cidr.length > service.cidr.length ? cidr : service.cidr);
    });
    return over.length === 0 ? [] : [{ kind: "IPPool", object: name, detail: describe(over) }];
  });
}

function describe(over: readonly ServiceCidr[]): string {
  const networks = over.map((service) => `${toPrefixText(service.cidr)} of servicecidr ${quote(service.name)}`);
  return `it overlaps ${networks.join(" and ")}: a pod may get the address of a Service, and what is sent to it go there; reserve what both have by an IPReservation, or make another pool`;
}
