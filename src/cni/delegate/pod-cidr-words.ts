/** Words that may stand for a subnet in a range of `host-local`: they mean the node's pod CIDR of a family. */

import type { Family } from "../../lib/ip/address.ts";

/** Keys in lower case; a config may use any case. */
const POD_CIDR_WORDS: ReadonlyMap<string, Family> = new Map([
  ["usepodcidr", 4],
  ["usepodcidripv6", 6],
]);

/** The family of the pod CIDR that a word stands for; undefined for everything that is no such word. */
export function podCidrFamilyOf(word: unknown): Family | undefined {
  return typeof word === "string" ? POD_CIDR_WORDS.get(word.toLowerCase()) : undefined;
}
