/** What a `host-local` range may have as its subnet instead of one: the node's pod CIDR of a family. */

import type { Family } from "../../lib/ip/address.ts";

/** Lower case; written in any. */
const POD_CIDR_WORDS: ReadonlyMap<string, Family> = new Map([
  ["usepodcidr", 4],
  ["usepodcidripv6", 6],
]);

/** The family of the pod CIDR that a word stands for; undefined for everything that is no such word. */
export function podCidrFamilyOf(word: unknown): Family | undefined {
  return typeof word === "string" ? POD_CIDR_WORDS.get(word.toLowerCase()) : undefined;
}
