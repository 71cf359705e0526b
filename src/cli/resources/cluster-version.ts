/** The version of a cluster: that of the newest program which has prepared its datastore. Older ones of netplugctl then leave its resources alone. */

import type { ClusterInformation } from "../../api/cluster-information.ts";
import { CLUSTER_INFORMATION, requireReady } from "../../datastore/cluster-state.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { VERSION } from "../../lib/version.ts";
import { type Cli, say } from "../io.ts";
import { isOlder, isVersion } from "../versions.ts";
import { toPathName } from "./object-name.ts";
import { validateObject } from "./validation.ts";
import { updateResource } from "./write.ts";

/**
 * Makes it this program's when it is older, and says so.
 *
 * @throws NetplugError tryAgainLater while a migration has frozen the datastore, and as {@link updateResource}
 */
export async function raiseClusterVersion(cli: Cli, datastore: Datastore, stored: Stored<ClusterInformation>): Promise<void> {
  const { netplugVersion: version } = stored.value.spec;
  if (!isOutdated(version)) return;
  requireReady(stored, "release");
  const { outcome } = await updateResource({ datastore, io: cli.io }, CLUSTER_INFORMATION.ref, (current) => {
    const spec = current.spec as ClusterInformation["spec"];
    return validateObject({ ...current, spec: isOutdated(spec.netplugVersion) ? { ...spec, netplugVersion: VERSION } : spec });
  });
  if (outcome === "configured")
    say(cli, `${toPathName(CLUSTER_INFORMATION.ref)} configured: version ${version ?? "unknown"} is now ${VERSION}`);
}

/** Than this program; text that is no version is older than each. */
function isOutdated(version: string | undefined): boolean {
  return !isVersion(version) || isOlder(version, VERSION, "patch");
}
