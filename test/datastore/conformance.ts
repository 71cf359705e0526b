/** What every datastore does, whatever is behind it: the one suite that all drivers pass. */

import { afterAll, beforeEach, describe } from "bun:test";
import { describeBlocks } from "./conformance/blocks.ts";
import { describeLimits } from "./conformance/limits.ts";
import { describeResources } from "./conformance/resources.ts";
import { describeSearches } from "./conformance/searches.ts";
import type { Subject } from "./conformance/subject.ts";
import { describeWatch } from "./conformance/watch.ts";

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
