/** Deletes blocks without any allocation. */

import type { BlockRef } from "../../api/ipam-block.ts";
import { withIPAMConfigurationDefaults } from "../../api/ipam-configuration.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { isEmpty } from "../../ipam/block.ts";
import { IPAM_CONFIGURATION } from "../../ipam/cluster.ts";
import type { CliIo } from "../io.ts";
import { guardsFor } from "./write-guards.ts";

/** What the deletion of a block needs of the world. */
export interface BlockPorts {
  readonly datastore: Datastore;
  /** Its clock says whether addresses still cool down. */
  readonly io: Pick<CliIo, "clock">;
}

/**
 * Deletes a block without addresses, none of which is cooling down either. One that another process takes in the meantime stays: the
 * deletion compares what was read.
 *
 * @returns whether it was deleted
 */
export async function deleteIfEmpty({ datastore, io }: BlockPorts, { cidr, node }: BlockRef): Promise<boolean> {
  const [information, configuration, previous] = await datastore.read([
    CLUSTER_INFORMATION,
    IPAM_CONFIGURATION,
    { type: "block", ref: { cidr, node } },
  ]);
  const { ipCooldownSeconds } = withIPAMConfigurationDefaults(configuration?.value.spec as object | undefined);
  const now = Math.floor(io.clock.now() / 1_000);
  if (previous === undefined || !isEmpty(previous.value, { now, cooldown: ipCooldownSeconds })) return false;
  return (await datastore.commit([{ op: "delete-block", previous }, ...guardsFor("IPPool", information)])).committed;
}
