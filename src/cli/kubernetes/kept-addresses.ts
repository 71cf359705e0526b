/** Addresses that pods keep while the blocks are gone, as when somebody deleted the definitions: a datastore made anew does not know them. */

import type { Datastore } from "../../datastore/datastore.ts";
import { takeInventory } from "../../ipam/admin/check/inventory.ts";
import { isManagedElsewhere } from "../../ipam/admin/endpoints/managed-elsewhere.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { type Cli, note } from "../io.ts";
import { LOCK, toCommandLine } from "../failures/suggested-commands.ts";

/** Warns of them in a datastore that has just been made. What cannot be read is no failure: the datastore is there. */
export async function warnOfKeptAddresses(cli: Cli, datastore: Datastore): Promise<void> {
  const kept = await findKeptAddresses(datastore);
  const [first] = kept;
  if (first === undefined) return;
  const which = kept.length === 1 ? `address ${first} of a pod is` : `${kept.length} addresses of pods, such as ${first}, are`;
  const check = toCommandLine(cli, "ipam check");
  note(cli, `warning: ${which} allocated to nobody, so that other pods may get the same`);
  note(cli, `  lock the datastore, create the pools again, delete the pods that "${check}" names, and unlock it`);
  note(cli, `next: ${toCommandLine(cli, LOCK)}`);
}

async function findKeptAddresses(datastore: Datastore): Promise<readonly string[]> {
  try {
    const { users, allocations, podCidrs } = await takeInventory(datastore);
    const kept: string[] = [];
    for (const [text, endpoints] of users) {
      if (allocations.has(text) || endpoints.every((one) => isManagedElsewhere(one, parseAddress(text), podCidrs))) continue;
      kept.push(text);
    }
    return kept;
  } catch (thrown) {
    if (thrown instanceof NetplugError) return [];
    throw thrown;
  }
}
