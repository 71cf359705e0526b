/** `init`: makes a new datastore usable. */

import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { initialise } from "../../datastore/initialise.ts";
import { NetplugError } from "../../lib/errors.ts";
import { VERSION } from "../../lib/version.ts";
import { datastoreConfigOf, withDatastore, withKube } from "../access/access.ts";
import { EXIT } from "../failures/failure.ts";
import { type Cli, say } from "../io.ts";
import type { WaitPorts } from "../kubernetes/wait-for.ts";

/** How long an API server may take to serve the definitions, in milliseconds. */
const LIMIT_MS = 60_000;

/** Creates what is missing and changes nothing that exists, except what is of an older version: the cluster's, and on Kubernetes the definitions. */
export async function init(cli: Cli): Promise<number> {
  const config = await datastoreConfigOf(cli);
  return withDatastore(cli, async (datastore) => {
    const isNew = await (config.type === "kubernetes"
      ? withKube(cli, config.kubernetes, (client) => initKubernetes(cli, datastore, client))
      : initDatastore(cli, datastore));
    const [information] = await datastore.read([CLUSTER_INFORMATION]);
    const { raiseClusterVersion } = await import("../resources/cluster-version.ts");
    const spec = information && (await raiseClusterVersion(cli, datastore, information));
    say(cli, `datastore ${isNew ? "initialised" : "already initialised"}: cluster ${spec?.clusterGUID ?? "unknown"}`);
    return EXIT.done;
  });
}

function initDatastore({ io }: Cli, datastore: Datastore): Promise<boolean> {
  return initialise(datastore, { clock: io.clock, version: VERSION, random: io.random });
}

async function initKubernetes(cli: Cli, datastore: Datastore, client: WaitPorts["client"]): Promise<boolean> {
  const { clock } = cli.io;
  const ports: WaitPorts = { client, clock, end: clock.monotonic() + LIMIT_MS };
  const { prepareKubernetes } = await import("../kubernetes/prepare.ts");
  const hasNoBlocks = await prepareKubernetes(cli, ports);
  const { waitFor } = await import("../kubernetes/wait-for.ts");
  // Behind one address may be several API servers, and another one may learn of the definitions later.
  const { isNew } = await waitFor("initialise datastore", ports, async () => {
    try {
      return { isNew: await initDatastore(cli, datastore) };
    } catch (thrown) {
      if (thrown instanceof NetplugError && thrown.kind === "notInitialised") return undefined;
      throw thrown;
    }
  });
  if (isNew || hasNoBlocks) await (await import("../kubernetes/kept-addresses.ts")).warnOfKeptAddresses(cli, datastore);
  return isNew;
}
