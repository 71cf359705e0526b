/** For tests of `transact()`: a datastore that does what a test says, and nothing besides. */

import { CLUSTER_INFORMATION } from "../../../src/datastore/cluster-state.ts";
import type { Datastore, Write } from "../../../src/datastore/datastore.ts";
import { type DatastoreTraits, KUBERNETES_TRAITS } from "../../../src/datastore/traits.ts";

interface Script {
  /** @default those of the Kubernetes datastore */
  readonly traits?: DatastoreTraits;
  /** @default answers with one empty list */
  readonly read?: (...args: never[]) => Promise<unknown>;
  /** @default none: nothing is committed */
  readonly commit?: (...args: never[]) => Promise<unknown> | undefined;
}

/** Answers are as the test gives them, whatever their queries. */
export function scriptedDatastore({ traits = KUBERNETES_TRAITS, read = async () => [[]], commit }: Script): Datastore {
  return { traits, read, commit } as unknown as Datastore; // nothing else of it is used
}

/** What a decision wants when all that matters is that it commits. */
export const SOME_WRITE: Write = { op: "expect", ref: CLUSTER_INFORMATION.ref, revision: undefined };
