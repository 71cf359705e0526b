/** IP reservations: addresses that are never given automatically. */

import type { Resource } from "./resource.ts";

/** What an administrator keeps from being given. All reservations count together, for every pool. */
export interface IPReservationSpec {
  /** CIDRs, or single addresses. An explicit request and addresses already in use are not affected. */
  readonly reservedCIDRs?: readonly string[];
}

/** Read by each ADD that chooses addresses, and by `ipam show`, which counts what is reserved. */
export type IPReservation = Resource<"IPReservation", IPReservationSpec>;
