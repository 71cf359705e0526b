/** What is noticed while a config is read, besides its values. */

import type { CniVerb } from "../protocol/versions.ts";
import type { DatastoreType, FieldFault } from "./field.ts";

/** Handed through the reading of one config. */
export interface Findings {
  /** The verb for which the config is read. */
  readonly verb: CniVerb;
  readonly datastore: DatastoreType;
  /** What was wrong and did no harm, in the order it was found. */
  readonly warnings: string[];
  /** Faults without which DEL does what it can. */
  readonly faults: FieldFault[];
  unknownKeys: number;
}
