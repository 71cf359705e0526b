/** Any text as the value of a label, or as a part of the key of one. */

import { isLabelValue } from "../../../lib/characters.ts";
import { sha1Hex } from "../../../lib/hash.ts";

/** The text itself where it may stand there, else its hash. */
export function toLabelValue(text: string): string {
  return isLabelValue(text) ? text : `sha1-${sha1Hex(text)}`;
}
