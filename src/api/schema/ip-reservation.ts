/** The schema of IP reservations. */

import * as v from "valibot";
import { cidr, listOfAtMost } from "./fields.ts";

/** An API server checks every entry, and refuses a list whose checks could take too long. */
const MAX_RESERVED = 10_000;

/** Stores a single address as its /32 or /128. */
export const ipReservationSpec = v.object({ reservedCIDRs: v.exactOptional(listOfAtMost(MAX_RESERVED, cidr)) });
