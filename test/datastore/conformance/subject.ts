/** What the conformance suite is run on. */

import type { Datastore } from "../../../src/datastore/datastore.ts";

/** A driver under test. */
export interface Subject {
  readonly datastore: Datastore;
  /**
   * Whether it keeps any resource exactly as it is given, and commits all writes or none. One on the Kubernetes API completes resources and
   * refuses what is none, shows pods as endpoints, and may have done a part of a commit that conflicts.
   */
  readonly isPlain: boolean;
  /** Its server; absent where there is none that could be away. */
  readonly server?: { stop(): Promise<void>; start(): Promise<void> };
  /** Removes all that is stored. */
  readonly wipe: () => Promise<void>;
  readonly end: () => Promise<void>;
}
