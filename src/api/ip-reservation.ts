/** IP reservations: addresses that are never given automatically. */

import type { Resource } from "./resource.ts";

export interface IPReservationSpec {
  /** CIDRs, or single addresses. An explicit request and addresses already in use are not affected. */
  readonly reservedCIDRs?: readonly string[];
}

export type IPReservation = Resource<"IPReservation", IPReservationSpec>;
