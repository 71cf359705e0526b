/** What is said of a datastore that answers one question against the other; seldom, and so loaded only then. */

import type { Query } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import { toAddressText } from "../lib/ip/address.ts";

/** The failure of a decision that asks again and again for what was answered. */
export function contradiction(wanted: readonly Query[]): NetplugError {
  const about = wanted.flatMap((query) =>
    query.type === "block-of-address" ? [`the block around "${toAddressText(query.address)}"`] : [],
  );
  return new NetplugError(
    "ioFailure",
    `read ${about.join(", ") || "blocks"}: its claim stands without its record; see "netplugctl ipam check"`,
  );
}
