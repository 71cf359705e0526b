/** What every datastore does, whatever is behind it: the one suite that all drivers pass. */

import { afterAll, beforeEach, describe } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { describeBlocks } from "./conformance/blocks.ts";
import { describeLimits } from "./conformance/limits.ts";
import { describeResources } from "./conformance/resources.ts";
import { describeSearches } from "./conformance/searches.ts";
import { describeWatch } from "./conformance/watch.ts";

/** A driver under test. */
export interface Subject {
  readonly datastore: Datastore;
  /**
   * Whether it keeps any resource exactly as it is given, and commits all writes or none. One on the Kubernetes API completes resources and refuses
   * what is none, shows pods as endpoints, and may have done a part of a commit that conflicts.
   */
  readonly isPlain: boolean;
  /** Removes all that is stored. */
  readonly wipe: () => Promise<void>;
  readonly end: () => Promise<void>;
}

export function describeDatastore(name: string, start: () => Promise<Subject>): void {
  describe(name, async () => {
    const subject = await start();
    const { datastore } = subject;
    beforeEach(() => subject.wipe());
    afterAll(() => subject.end());
    describeResources(subject);
    describeBlocks(datastore);
    describeSearches(datastore);
    describeWatch(subject);
    describeLimits(datastore);
  });
}
