/** The version of a cluster: that of the newest program which has prepared its datastore. Older ones of netplugctl then leave its resources alone. */

import type { ClusterInformation, ClusterInformationSpec } from "../../api/cluster-information.ts";
import type { AnyResource } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import { ValidationError } from "../../api/schema/problem.ts";
import { findUnknownFields } from "../../api/validate.ts";
import { CLUSTER_INFORMATION, requireReady } from "../../datastore/cluster-state.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { type ClusterIdentity, newClusterIdentity } from "../../datastore/initialise.ts";
import { VERSION } from "../../lib/version.ts";
import { CommandFailed } from "../failures/failure.ts";
import { type Cli, say } from "../io.ts";
import { isOlder, isVersion } from "./versions.ts";
import { toPathName, toTitle } from "./object-name.ts";
import { validateObject } from "../documents/validation.ts";
import { updateResource } from "./write.ts";

/**
 * Makes it this program's when it is older, and says so. An object that `init` did not make gets the identity that it lacks.
 *
 * @returns what is stored then
 * @throws NetplugError tryAgainLater while a migration has frozen the datastore, and as {@link updateResource}
 */
export async function raiseClusterVersion(
  cli: Cli,
  datastore: Datastore,
  stored: Stored<ClusterInformation>,
): Promise<ClusterInformationSpec> {
  const { netplugVersion: version } = stored.value.spec;
  if (!isOutdated(version)) return stored.value.spec;
  requireReady(stored, "release");
  const identity = newClusterIdentity(datastore, cli.io.makeUuid());
  const { outcome, resource } = await updateResource({ datastore, io: cli.io }, CLUSTER_INFORMATION.ref, (current) => {
    const spec = current.spec as ClusterInformationSpec;
    return validateObject(isOutdated(spec.netplugVersion) ? { ...current, spec: toOwnVersion(spec, identity) } : current);
  });
  if (outcome === "configured")
    say(cli, `${toPathName(CLUSTER_INFORMATION.ref)} configured: version ${version ?? "unknown"} is now ${VERSION}`);
  return resource.spec as ClusterInformationSpec;
}

/**
 * As {@link validateObject}, of what a command makes of an object.
 *
 * @throws {CommandFailed} where an earlier version has stored fields in the spec of the cluster's own object that this one does not have, and nothing
 *   else is wrong: `init` removes them, unless a migration has frozen the datastore
 */
export function validateChanged(current: Resource, value: unknown): AnyResource {
  try {
    return validateObject(value);
  } catch (error) {
    const { kind, metadata, spec } = current;
    if (kind !== CLUSTER_INFORMATION.ref.kind || !(error instanceof ValidationError)) throw error;
    const { datastoreFrozen, netplugVersion } = spec as ClusterInformationSpec;
    if (datastoreFrozen === true || !isOutdated(netplugVersion)) throw error;
    const paths = findUnknownFields(CLUSTER_INFORMATION.ref.kind, { spec }).map(({ path }) => path);
    if (paths.length === 0) throw error;
    const mistakes = error.problems.filter(({ path }) => !paths.includes(path));
    if (mistakes.length > 0) throw new ValidationError(error.object, mistakes, error.resource);
    throw new CommandFailed(
      `change ${toTitle({ kind, name: metadata.name })}: an earlier version has stored what this one does not know: ${paths.join(", ")}`,
      { next: "init" },
    );
  }
}

/** Without fields that this version does not have: an API server drops them, but etcd keeps them, and then the object could not be written. */
function toOwnVersion(spec: ClusterInformationSpec, identity: ClusterIdentity): object {
  const { clusterGUID = identity.clusterGUID, clusterType = identity.clusterType, datastoreReady, datastoreFrozen } = spec;
  return { clusterGUID, clusterType, netplugVersion: VERSION, datastoreReady, datastoreFrozen };
}

/** Than this program; text that is no version is older than each. */
function isOutdated(version: string | undefined): boolean {
  return !isVersion(version) || isOlder(version, VERSION, "patch");
}
