/** `ipam show --ip`: who has an address, and what is around it. */

import type { IPPoolSpec } from "../../../api/ip-pool.ts";
import type { Allocation } from "../../../api/ipam-block.ts";
import type { Damage, Datastore } from "../../../datastore/datastore.ts";
import { type AddressState, findOwner } from "../../../ipam/admin/owner.ts";
import { cidrOfPool } from "../../../ipam/admin/pools/pool-cidr.ts";
import { describeEndpoints, findOwnEndpoint, findUsers } from "../../../ipam/admin/endpoints/users.ts";
import { IP_POOLS, IP_RESERVATIONS } from "../../../ipam/cluster.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { toTimeText } from "../../../lib/time-text.ts";
import { toReservedSet } from "../../../ipam/reservations.ts";
import { type Address, toAddressText } from "../../../lib/ip/address.ts";
import { containsAddress, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { EXIT } from "../../failures/failure.ts";
import { type Cli, note, say } from "../../io.ts";
import { toReportText } from "../../output/json-yaml.ts";
import type { ReportFormat } from "../../output/format.ts";
import { noteIfNeverInitialised } from "../../resources/never-initialised.ts";
import { withDamageNamed } from "./damaged-block.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** What is also true of every address of an empty datastore. */
const NO_POOL = "it lies in no pool";

/** Prints who has the address, the pools and reservations that it lies in, and its block. */
export async function showAddress(cli: Cli, datastore: Datastore, ip: Address, output: ReportFormat | undefined): Promise<number> {
  const find = (): Promise<AddressState> => findOwner(toTransactPorts(cli, datastore), ip);
  const { allocation, block, coolsUntil } = await withDamageNamed(cli, datastore, ip, find);
  // Read before anything is said: without the CRDs nothing is known of the address.
  const unread = new Set<string>();
  const place = await describePlace(datastore, ip, unread);
  const text = toAddressText(ip);
  if (output !== undefined) {
    cli.io.stdout.write(toReportText(output, { ip: text, ...toUse(allocation) }));
    return EXIT.done;
  }
  const cooling = coolsUntil === undefined ? "" : `; it was released and is cooling down until ${toTimeText(coolsUntil)}`;
  const contradiction = await describeContradiction(datastore, ip, allocation).catch((thrown: unknown) => {
    // Who has the address is known: a damaged endpoint, or a right that is missing, does not hide it.
    if (!(thrown instanceof NetplugError)) throw thrown;
    unread.add(thrown.message);
    return undefined;
  });
  if (allocation === undefined) say(cli, `${text} is not allocated${cooling}`);
  else say(cli, `${text} is in use by ${describeAllocation(allocation)}`);
  if (contradiction !== undefined) say(cli, contradiction);
  for (const line of place) say(cli, line);
  if (block === undefined) say(cli, "no block is claimed around it");
  else say(cli, `block ${toPrefixText(block.cidr)} belongs to node ${quote(block.node)}`);
  for (const reason of unread) note(cli, reason);
  if (block === undefined && place.includes(NO_POOL)) await noteIfNeverInitialised(cli, datastore);
  return unread.size === 0 ? EXIT.done : EXIT.failed;
}

/** The part of a report that says who uses the address. */
function toUse(allocation: Allocation | undefined): object {
  if (allocation === undefined) return { inUse: false };
  const { containerID, ifName, network, pod, namespace, node } = allocation.owner;
  return { inUse: true, containerID, ifName, network, pod, namespace, node, since: toTimeText(allocation.since) };
}

/** What endpoints say otherwise. Which of it is wrong, `ipam check` tells: a delegate allocates without us, and an ADD before it records. */
async function describeContradiction(datastore: Datastore, ip: Address, allocation: Allocation | undefined): Promise<string | undefined> {
  if (allocation === undefined) {
    const users = await findUsers(datastore, ip);
    return users.length === 0 ? undefined : `but it is used by ${describeEndpoints(users)}`;
  }
  const contradiction = (await findOwnEndpoint(datastore, ip, allocation.owner))?.contradiction;
  return contradiction === undefined ? undefined : `but ${contradiction}`;
}

/** What pools and reservations say of an address. @param unread gets why one of them cannot be read */
async function describePlace(datastore: Datastore, ip: Address, unread: Set<string>): Promise<readonly string[]> {
  const onDamage = ({ reason }: Damage): void => void unread.add(reason);
  const [pools, reservations] = await datastore.read([IP_POOLS, IP_RESERVATIONS], { onDamage });
  const around = pools.flatMap(({ value }) => {
    const cidr = cidrOfPool(value);
    if (cidr === undefined || !containsAddress(cidr, ip)) return [];
    const { disabled } = value.spec as IPPoolSpec;
    return [`it lies in pool ${quote(value.metadata.name)} (${toPrefixText(cidr)})${disabled === true ? ", which is disabled" : ""}`];
  });
  const reserved = reservations.filter((reservation) => toReservedSet([reservation]).has(ip));
  return [
    ...(around.length === 0 ? [NO_POOL] : around),
    ...reserved.map(({ value: { metadata } }) => `ipreservation ${quote(metadata.name)} reserves it`),
  ];
}
