/** `init`: makes a new datastore usable. */

import { CLUSTER_INFORMATION_QUERY } from "../../datastore/cluster-state.ts";
import type { ClusterInformationSpec } from "../../api/cluster-information.ts";
import { initialise } from "../../datastore/initialise.ts";
import { VERSION } from "../../lib/version.ts";
import { withDatastore } from "../access.ts";
import { EXIT } from "../failure.ts";
import { type Cli, say } from "../io.ts";

/** Creates what is missing, and changes nothing that exists. */
export async function init(cli: Cli): Promise<number> {
  return withDatastore(cli, async (datastore) => {
    const isNew = await initialise(datastore, { clock: cli.io.clock, version: VERSION, random: cli.io.random });
    const [information] = await datastore.read([CLUSTER_INFORMATION_QUERY]);
    const { guid = "" } = (information?.value.spec ?? {}) as ClusterInformationSpec;
    say(cli, `datastore ${isNew ? "initialised" : "already initialised"}: cluster ${guid}`);
    return EXIT.done;
  });
}
