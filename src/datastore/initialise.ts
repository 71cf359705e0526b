/** The first writes to a new datastore. */

import type { ClusterInformationSpec } from "../api/cluster-information.ts";
import { SINGLETON_NAME } from "../api/cluster-information.ts";
import type { Kind, Resource } from "../api/resource.ts";
import { API_VERSION } from "../api/resource.ts";
import { BUILT_IN_TIERS } from "../api/tier.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Clock, Random } from "../lib/ports.ts";
import { toTimeText } from "../lib/time-text.ts";
import { CLUSTER_INFORMATION, expectUnchanged, requireReady } from "./cluster-state.ts";
import type { Datastore, Write } from "./datastore.ts";

/** What is written into a new datastore, and what is made up for it. */
export interface InitialiseOptions {
  readonly clock: Clock;
  /** The program's own, e.g. `v3.31.0`. */
  readonly version: string;
  /** Makes the cluster's GUID and the resources' UIDs: names, not secrets. */
  readonly random: Random;
}

/** How often we look again when others initialise the same datastore at the same moment. */
const TRIES = 10;

/**
 * Creates what is missing of `ClusterInformation` `default` and the built-in tiers; changes nothing that exists. Any number of
 * processes may do it at once.
 *
 * @returns whether anything was created
 * @throws NetplugError tryAgainLater while a migration has frozen what lacks something, and as {@link Datastore.commit}
 */
export async function initialise(datastore: Datastore, options: InitialiseOptions): Promise<boolean> {
  const tierQueries = BUILT_IN_TIERS.map(({ name }) => ({ type: "get", ref: { kind: "Tier", name } }) as const);
  const queries = [CLUSTER_INFORMATION, ...tierQueries] as const;
  let [information, ...tiers] = await datastore.read(queries);
  for (let attempt = 1; ; attempt++) {
    const writes: Write[] = [];
    if (information === undefined) writes.push({ op: "create", resource: newClusterInformation(datastore, options) });
    for (const [index, { name, spec }] of BUILT_IN_TIERS.entries()) {
      if (tiers[index] === undefined) writes.push({ op: "create", resource: newResource("Tier", name, spec, options) });
    }
    if (writes.length === 0) return false;
    if (information !== undefined) {
      requireReady(information, "release");
      writes.push(expectUnchanged(information));
    }
    const result = await datastore.commit(writes, { readOnConflict: queries });
    if (result.committed) return true;
    [information, ...tiers] = result.current;
    if (attempt === TRIES) throw new NetplugError("tryAgainLater", "initialise datastore: others keep changing it");
  }
}

/** What tells a cluster from others. */
export type ClusterIdentity = Required<Pick<ClusterInformationSpec, "clusterGUID" | "clusterType">>;

/** One for the cluster of a datastore. @param uuid a new one */
export function newClusterIdentity({ type }: Datastore, uuid: string): ClusterIdentity {
  return { clusterGUID: uuid.replaceAll("-", ""), clusterType: type === "kubernetes" ? "k8s" : "etcd" };
}

function newClusterInformation(datastore: Datastore, options: InitialiseOptions): Resource {
  const spec: ClusterInformationSpec = {
    ...newClusterIdentity(datastore, newUuid(options)),
    netplugVersion: options.version,
    datastoreReady: true,
  };
  return newResource("ClusterInformation", SINGLETON_NAME, spec, options);
}

function newResource(kind: Kind, name: string, spec: unknown, options: InitialiseOptions): Resource {
  const creationTimestamp = toTimeText(options.clock.now() / 1000);
  return { apiVersion: API_VERSION, kind, metadata: { name, uid: newUuid(options), creationTimestamp }, spec };
}

/** A version 4 UUID. */
function newUuid({ random }: InitialiseOptions): string {
  const toDigit = (place: string): string => Math.floor(place === "x" ? random() * 16 : 8 + random() * 4).toString(16);
  return "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replace(/[xy]/g, toDigit);
}
