/** May the datastore be used? What `ClusterInformation` says, as an error or none. */

import { type ClusterInformation, SINGLETON_NAME } from "../api/cluster-information.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Query, Stored, Write } from "./datastore.ts";

/** Its answer is what {@link requireReady} and {@link expectUnchanged} check. */
export const CLUSTER_INFORMATION = { type: "get", ref: { kind: "ClusterInformation", name: SINGLETON_NAME } } as const satisfies Query;

/** What an operation is about to do. */
export type Intent =
  /** Adds something: wants a datastore that is initialised, ready and not frozen. */
  | "add"
  /** Only takes away: goes on while the datastore is locked. */
  | "release";

/**
 * @param stored what {@link CLUSTER_INFORMATION} answered
 * @throws NetplugError notInitialised, or tryAgainLater while the datastore is locked or frozen
 */
export function requireReady(stored: Stored<ClusterInformation> | undefined, intent: Intent): asserts stored is Stored<ClusterInformation> {
  if (stored === undefined) {
    throw new NetplugError("notInitialised", 'use datastore: it was never initialised; run "netplugctl init"');
  }
  const { datastoreReady, datastoreFrozen } = stored.value.spec;
  if (datastoreFrozen === true) {
    throw new NetplugError("tryAgainLater", "use datastore: a migration has frozen it; wait until the migration is done");
  }
  if (datastoreReady !== true && intent === "add") {
    throw new NetplugError(
      "tryAgainLater",
      'use datastore: it is locked; set "datastoreReady" in ClusterInformation "default" to true when maintenance is done',
    );
  }
}

/**
 * The condition that it is still so when something is committed.
 *
 * @param stored what {@link CLUSTER_INFORMATION} answered
 */
export function expectUnchanged(stored: Stored<ClusterInformation> | undefined): Write {
  return { op: "expect", ref: CLUSTER_INFORMATION.ref, revision: stored?.revision };
}
