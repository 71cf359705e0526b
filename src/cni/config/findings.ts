/** What the reading of one config has come upon besides its values. */

import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import type { Verb } from "../protocol/versions.ts";
import type { DatastoreType, FieldFault, Need } from "./field.ts";

/** Handed through the reading of one config. */
export interface Findings {
  /** For which the config is read: see {@link takeFault}. */
  readonly verb: Verb;
  readonly datastore: DatastoreType;
  /** What was wrong and did no harm, in the order it was found. */
  readonly warnings: string[];
  /** Faults without which DEL does what it can. */
  readonly faults: FieldFault[];
  unknownKeys: number;
}

/** Unknown keys that are looked at in one config: nobody misspells more, and each costs a comparison with every known one. */
const MAX_UNKNOWN_KEYS = 50;

/**
 * A key has a value that is not allowed; its default is used if this returns. A config that went bad must not keep a pod from going:
 * DEL goes on in any case, and tells at its end a fault in a key that it needed; GC goes on without what it does not need.
 *
 * @throws {FieldFault} for all other verbs, and for GC when it needs the key
 */
export function takeFault(fault: FieldFault, need: Need | undefined, { verb, warnings, faults }: Findings): void {
  if (verb === "DEL" && need === "removal") faults.push(fault);
  else if (verb === "DEL" || (verb === "GC" && need === undefined)) {
    warnings.push(`${fault.message}; not needed here, the default is used`);
  } else throw fault;
}

/** Warns of keys of an entry that were meant to be another of those in `known`. */
export function checkSpelling(document: Readonly<Record<string, unknown>>, known: object, place: string, findings: Findings): void {
  for (const key of Object.keys(document)) if (!Object.hasOwn(known, key)) warnIfMisspelt(key, known, place, findings);
}

/** Warns of a key that is not in `known` if it was meant to be one of those. */
export function warnIfMisspelt(key: string, known: object, place: string, findings: Findings): void {
  if (++findings.unknownKeys > MAX_UNKNOWN_KEYS) return;
  const meant = nearestName(key, Object.keys(known));
  if (meant === undefined) return;
  findings.warnings.push(`key ${quote(within(place, key))} is unknown and has no effect: was ${quote(within(place, meant))} meant?`);
}

/** Full path of a key. */
export function within(place: string, key: string): string {
  return place === "" ? key : `${place}.${key}`;
}
