/** What a command that made pools says of them. */

import { type IPPoolSpec, withPoolDefaults } from "../../api/ip-pool.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { poolsOverNodes } from "../../ipam/admin/pools-over-nodes.ts";
import { IP_RESERVATIONS } from "../../ipam/cluster.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { type Cli, note } from "../io.ts";
import { toWarningText } from "../output/pool-warning.ts";

/** Warns of those that hold addresses of nodes. */
export async function warnOfNewPools(cli: Cli, datastore: Datastore, made: readonly Resource<"IPPool", IPPoolSpec>[]): Promise<void> {
  if (made.length === 0) return;
  try {
    const [nodes, reservations] = await datastore.read([{ type: "list", kind: "Node" }, IP_RESERVATIONS], { onDamage: () => {} });
    const pools = made.map(({ metadata, spec }) => ({ name: metadata.name, cidr: parsePrefix(spec.cidr), spec: withPoolDefaults(spec) }));
    for (const warning of poolsOverNodes(pools, nodes, reservations)) note(cli, toWarningText(warning));
  } catch (thrown) {
    // The pools are made, and whoever makes them need not be allowed to read nodes.
    if (!(thrown instanceof NetplugError)) throw thrown;
  }
}
