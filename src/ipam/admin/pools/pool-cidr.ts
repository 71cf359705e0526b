/** Where a pool lies, as far as what the datastore holds makes sense. */

import type { IPPoolSpec } from "../../../api/ip-pool.ts";
import type { Resource } from "../../../api/resource.ts";
import { type Prefix, tryParsePrefix } from "../../../lib/ip/prefix.ts";

/** @returns undefined where somebody wrote a CIDR past the validation that makes no sense, or none */
export function cidrOfPool({ spec }: Resource): Prefix | undefined {
  const { cidr } = spec as Partial<IPPoolSpec>;
  return typeof cidr === "string" ? tryParsePrefix(cidr) : undefined;
}
