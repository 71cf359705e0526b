/** Keywords that may take the place of a subnet in a range of `host-local`: each means the node's pod CIDR of one family. */

import type { Family } from "../../lib/ip/address.ts";

/** Keys in lower case; a config may use any case. */
const POD_CIDR_KEYWORDS: ReadonlyMap<string, Family> = new Map([
  ["usepodcidr", 4],
  ["usepodcidripv6", 6],
]);

/** The family of the pod CIDR that a keyword stands for; undefined for everything else. */
export function podCidrFamilyOf(value: unknown): Family | undefined {
  return typeof value === "string" ? POD_CIDR_KEYWORDS.get(value.toLowerCase()) : undefined;
}
