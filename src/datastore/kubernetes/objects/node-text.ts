/** Names of nodes where Kubernetes takes no more than 63 characters: as values and keys of labels. */

import { isName } from "../../../lib/characters.ts";
import { sha1Hex } from "../../../lib/hash.ts";

const MAX_LENGTH = 63;

/** The name itself where it fits, else its hash. */
export function toNodeText(node: string): string {
  return fits(node) ? node : `sha1-${sha1Hex(node)}`;
}

/** Whether {@link toNodeText} keeps the name. @see Kubernetes documentation, "Labels and selectors", syntax */
export function fits(node: string): boolean {
  return node.length <= MAX_LENGTH && isName(node, "-_.") && isName(node.slice(-1), "");
}
