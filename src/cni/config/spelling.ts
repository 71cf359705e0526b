/** Unknown keys that were meant to be known ones. */

import type { JsonObject } from "../../lib/json.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import type { Findings } from "./findings.ts";
import { NETWORK_CONFIG } from "./tables.ts";

/** Unknown keys that are looked at in one config: nobody misspells more, and each costs a comparison with every known one. */
const MAX_UNKNOWN_KEYS = 50;

/** Warns of keys of an entry that were meant to be another of those in `known`. */
export function checkSpelling(document: JsonObject, known: object, place: string, findings: Findings): void {
  for (const key of Object.keys(document)) if (!Object.hasOwn(known, key)) warnIfMisspelt(key, known, place, findings);
}

/** Warns of a key that is not in `known` if it was meant to be one of those, or one of the config itself. */
export function warnIfMisspelt(key: string, known: object, place: string, findings: Findings): void {
  if (++findings.unknownKeys > MAX_UNKNOWN_KEYS) return;
  const near = nearestName(key, Object.keys(known));
  const meant = near !== undefined ? within(place, near) : Object.hasOwn(NETWORK_CONFIG, key) ? key : undefined;
  if (meant === undefined) return;
  findings.warnings.push(`key ${quote(within(place, key))} is unknown and has no effect: was ${quote(meant)} meant?`);
}

/** Full path of a key. */
export function within(place: string, key: string): string {
  return place === "" ? key : `${place}.${key}`;
}
