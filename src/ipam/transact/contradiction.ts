/** The error for a datastore whose answers contradict each other. This is rare, so the module is loaded only then. */

import type { Query } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { toAddressText } from "../../lib/ip/address.ts";

/** The failure of a decision that keeps asking for what was already answered. */
export function contradiction(wanted: readonly Query[]): NetplugError {
  const about = wanted.flatMap((query) =>
    query.type === "block-of-address" ? [`the block around "${toAddressText(query.address)}"`] : [],
  );
  return new NetplugError(
    "ioFailure",
    `read ${about.join(", ") || "blocks"}: it is claimed, but has no record; see "netplugctl ipam check"`,
  );
}
