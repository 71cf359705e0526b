/** Work on one address whose block cannot be read: where the damage is, and what finds out more. */

import { readAllBlocks } from "../../../ipam/admin/blocks/blocks.ts";
import { DamageList } from "../../../ipam/admin/blocks/damage-list.ts";
import type { Damage, Datastore } from "../../../datastore/datastore.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { type Address, toAddressText } from "../../../lib/ip/address.ts";
import { containsAddress, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { KernelError } from "../../../linux/kernel-error.ts";
import { AdvisedFailure } from "../../failures/failure.ts";
import { toCommandLine } from "../../failures/suggested-commands.ts";
import type { Cli } from "../../io.ts";

/** @throws {AdvisedFailure} where what is stored about the address makes no sense */
export async function withDamageNamed<T>(cli: Cli, datastore: Datastore, ip: Address, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    // A file of this host is none of the datastore's.
    if (!(thrown instanceof NetplugError) || thrown.kind !== "ioFailure" || thrown instanceof KernelError) throw thrown;
    const damage = await findDamage(datastore, ip);
    if (damage === undefined) throw thrown;
    const unknown = `who has ${toAddressText(ip)} is not known until that is repaired`;
    throw new AdvisedFailure(thrown, { text: [...damage.map(describe), unknown].join("\n  "), next: toCommandLine(cli, "ipam check") });
  }
}

function describe({ cidr, node, name }: Damage): string {
  const block = cidr === undefined ? "" : `block ${toPrefixText(cidr)}${node === undefined ? "" : ` of node ${quote(node)}`}: `;
  return `damaged: ${block}${quote(name)}`;
}

/** All damage that may concern an address; undefined when the failure has another cause than damage. */
async function findDamage(datastore: Datastore, ip: Address): Promise<readonly Damage[] | undefined> {
  const damage = new DamageList();
  try {
    await readAllBlocks(datastore, damage);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return undefined;
    throw thrown;
  }
  return damage.ofBlocks.filter(({ cidr, isAnswered }) => !isAnswered && cidr !== undefined && containsAddress(cidr, ip));
}
