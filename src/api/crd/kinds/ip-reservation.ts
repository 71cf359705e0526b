/** The CRD of IP reservations. */

import type { IPReservationSpec } from "../../ip-reservation.ts";
import { AGE, specColumn } from "../columns.ts";
import type { KindDefinition } from "../definition.ts";

/** Has no rules between fields: what a CIDR may be, its schema says. */
export const IP_RESERVATION_DEFINITION: KindDefinition<IPReservationSpec> = {
  text: "Addresses that are never given automatically. A pod that asks for one of them gets it, and a pod that has one keeps it.",
  specText: "What is reserved.",
  fields: { reservedCIDRs: "CIDRs without host bits, or single addresses." },
  samples: [{}],
  rules: {},
  columns: [specColumn("Reserved", "reservedCIDRs", "string", "The reserved addresses."), AGE],
};
