/** `ipam show --ip`: who has an address, and what is around it. */

import type { IPPoolSpec } from "../../../api/ip-pool.ts";
import type { Allocation } from "../../../api/ipam-block.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { type AddressState, findOwner } from "../../../ipam/admin/owner.ts";
import { cidrOfPool } from "../../../ipam/admin/pool-cidr.ts";
import { describeEndpoints, findOwnEndpoint, findUsers } from "../../../ipam/admin/users.ts";
import { IP_POOLS, IP_RESERVATIONS } from "../../../ipam/cluster.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { toTimeText } from "../../../lib/time-text.ts";
import { toReservedSet } from "../../../ipam/reservations.ts";
import { type Address, toAddressText } from "../../../lib/ip/address.ts";
import { containsAddress, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { EXIT } from "../../failure.ts";
import { type Cli, say } from "../../io.ts";
import { toReportText } from "../../output/data.ts";
import type { ReportFormat } from "../../output/format.ts";
import { withDamageNamed } from "./damaged-block.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** Prints who has the address, the pools and reservations that it lies in, and its block. */
export async function showAddress(cli: Cli, datastore: Datastore, ip: Address, output: ReportFormat | undefined): Promise<number> {
  const find = (): Promise<AddressState> => findOwner(toTransactPorts(cli, datastore), ip);
  const { allocation, block, coolsUntil } = await withDamageNamed(cli, datastore, ip, find);
  const text = toAddressText(ip);
  if (output !== undefined) {
    cli.io.stdout.write(toReportText(output, { ip: text, ...toUse(allocation) }));
    return EXIT.done;
  }
  const cooling = coolsUntil === undefined ? "" : `; it was released and is cooling down until ${toTimeText(coolsUntil)}`;
  if (allocation === undefined) say(cli, `${text} is not assigned${cooling}`);
  else say(cli, `${text} is in use by ${describeAllocation(allocation)}`);
  const contradiction = await describeContradiction(datastore, ip, allocation);
  if (contradiction !== undefined) say(cli, contradiction);
  for (const line of await describePlace(datastore, ip)) say(cli, line);
  if (block === undefined) say(cli, "no block is claimed around it");
  else say(cli, `block ${toPrefixText(block.cidr)} belongs to node ${quote(block.node)}`);
  return EXIT.done;
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
  const endpoint = await findOwnEndpoint(datastore, ip, allocation.owner);
  return endpoint?.hasAddress === false ? `but workloadendpoint ${quote(endpoint.name)} does not have it` : undefined;
}

/** What pools and reservations say of an address. */
async function describePlace(datastore: Datastore, ip: Address): Promise<readonly string[]> {
  const [pools, reservations] = await datastore.read([IP_POOLS, IP_RESERVATIONS]);
  const around = pools.flatMap(({ value }) => {
    const cidr = cidrOfPool(value);
    if (cidr === undefined || !containsAddress(cidr, ip)) return [];
    const { disabled } = value.spec as IPPoolSpec;
    return [`it lies in pool ${quote(value.metadata.name)} (${toPrefixText(cidr)})${disabled === true ? ", which is disabled" : ""}`];
  });
  const reserved = reservations.filter((reservation) => toReservedSet([reservation]).has(ip));
  return [
    ...(around.length === 0 ? ["it lies in no pool"] : around),
    ...reserved.map(({ value: { metadata } }) => `ipreservation ${quote(metadata.name)} reserves it`),
  ];
}
