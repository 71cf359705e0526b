/**
 * Texts that Kubernetes takes as the value of a label, and as a part of the key of a label or annotation.
 *
 * @see Kubernetes documentation, "Labels and selectors", syntax
 */

import { isName } from "../../../lib/characters.ts";
import { sha1Hex } from "../../../lib/hash.ts";

const MAX_LENGTH = 63;

/** Whether a text may stand there as it is. */
export function isLabelValue(text: string): boolean {
  return text.length <= MAX_LENGTH && isName(text, "-_.") && isName(text.slice(-1), "");
}

/** The text itself where it may stand there, else its hash. */
export function toLabelValue(text: string): string {
  return isLabelValue(text) ? text : `sha1-${sha1Hex(text)}`;
}
