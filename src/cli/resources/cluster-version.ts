/** The version of a cluster: that of the newest program which has prepared its datastore. Older ones of netplugctl then leave its resources alone. */

import type { ClusterInformation } from "../../api/cluster-information.ts";
import { CLUSTER_INFORMATION, requireReady } from "../../datastore/cluster-state.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { VERSION } from "../../lib/version.ts";
import { type Cli, say } from "../io.ts";
import { toPathName } from "./object-name.ts";
import { validateObject } from "./validation.ts";
import { updateResource } from "./write.ts";

/**
 * Makes it this program's when it is older, and says so.
 *
 * @throws NetplugError tryAgainLater while a migration has frozen the datastore, and as {@link updateResource}
 */
export async function raiseClusterVersion(cli: Cli, datastore: Datastore, stored: Stored<ClusterInformation>): Promise<void> {
  const { version } = stored.value.spec;
  if (!isOlder(version)) return;
  requireReady(stored, "release");
  const { outcome } = await updateResource({ datastore, io: cli.io }, CLUSTER_INFORMATION.ref, (current) => {
    const spec = current.spec as ClusterInformation["spec"];
    return validateObject({ ...current, spec: isOlder(spec.version) ? { ...spec, version: VERSION } : spec }, undefined);
  });
  if (outcome === "configured")
    say(cli, `${toPathName(CLUSTER_INFORMATION.ref)} configured: version ${version ?? "unknown"} is now ${VERSION}`);
}

/** Text that is no version is older than each. */
function isOlder(version: string | undefined): boolean {
  const [is, own] = [numbersOf(version), numbersOf(VERSION)];
  const index = own.findIndex((number, at) => number !== is[at]);
  return index >= 0 && (is[index] ?? -1) < (own[index] ?? 0);
}

function numbersOf(version: string | undefined): readonly number[] {
  const [, ...numbers] = /^v(\d{1,5})\.(\d{1,5})\.(\d{1,5})/.exec(version ?? "") ?? [];
  return numbers.map(Number);
}
