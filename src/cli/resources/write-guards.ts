/** What must hold of the cluster for a command to write to it. */

import type { ClusterInformation, ClusterInformationSpec } from "../../api/cluster-information.ts";
import { KINDS } from "../../api/registry.ts";
import type { Kind } from "../../api/resource.ts";
import { expectUnchanged, requireReady } from "../../datastore/cluster-state.ts";
import type { Stored, Write } from "../../datastore/datastore.ts";
import { VERSION } from "../../lib/version.ts";
import { CommandFailed } from "../failures/failure.ts";
import { isOlder } from "./versions.ts";

/**
 * What every commit carries: nothing may be written to a datastore that a migration has frozen, or by a program older than the
 * cluster, except to ClusterInformation itself.
 *
 * @throws NetplugError notInitialised, or tryAgainLater when it is frozen; {@link CommandFailed} when the cluster is newer
 */
export function guardsFor(kind: Kind, information: Stored<ClusterInformation> | undefined): readonly Write[] {
  if (kind === "ClusterInformation") return [];
  requireReady(information, "release");
  const fault = whyTooOld(information?.value.spec);
  if (fault !== undefined) throw new CommandFailed(`write ${KINDS[kind].plural}: ${fault}`, { next: "version" });
  return [expectUnchanged(information)];
}

/** Why this program may be too old for a cluster, undefined when it is not: a later minor version stores what this one does not know. */
export function whyTooOld(information: ClusterInformationSpec | undefined): string | undefined {
  if (!isOlder(VERSION, information?.netplugVersion, "minor")) return undefined;
  return `the cluster is of version ${information?.netplugVersion ?? ""}, this program of ${VERSION}; use a program of the cluster's version`;
}
