/** `ipam release`: takes an address away from whoever has it, or those that a report calls leaked. */

import type { Allocation } from "../../../api/ipam-block.ts";
import { endingAddresses, reportedAddresses } from "../../../api/reported-addresses.ts";
import { DEFAULT_NAMESPACE } from "../../../api/resource.ts";
import { recordedAddresses } from "../../../api/workload-endpoint.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { releaseAddress } from "../../../ipam/admin/owner.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { type Address, equalAddresses, toAddressText } from "../../../lib/ip/address.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT, UsageError } from "../../failure.ts";
import { type Cli, note, say } from "../../io.ts";
import { withDamageNamed } from "./damaged-block.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** What to release: one address, or those that a report of `ipam check -o json` calls leaked. */
export interface ReleaseFlags {
  readonly ip?: Address;
  /** A file, or `-` for stdin. */
  readonly fromReport?: string;
}

/** @returns the exit status @throws {UsageError} unless exactly one of the two flags is given */
export async function ipamRelease(cli: Cli, { ip, fromReport }: ReleaseFlags): Promise<number> {
  if (ip !== undefined && fromReport === undefined) return await releaseOne(cli, ip);
  if (ip === undefined && fromReport !== undefined) return await (await import("./release-report.ts")).ipamReleaseReport(cli, fromReport);
  throw new UsageError("choose what to release: want one of --ip, --from-report");
}

/** Fails when nobody has it. */
async function releaseOne(cli: Cli, ip: Address): Promise<number> {
  const text = toAddressText(ip);
  return withDatastore(cli, async (datastore) => {
    const release = (): Promise<Allocation | undefined> => releaseAddress(toTransactPorts(cli, datastore), ip);
    const allocation = await withDamageNamed(cli, datastore, ip, release);
    if (allocation === undefined) throw new CommandFailed(`release ${text}: it is not assigned`, { next: `ipam show --ip=${text}` });
    say(cli, `${text} released; it was assigned to ${describeAllocation(allocation)}`);
    const user = await findUser(datastore, ip, allocation);
    if (user !== undefined)
      note(cli, `warning: workloadendpoint "${user}" still has ${text}; end that workload before the address is given again`);
    return EXIT.done;
  });
}

/** By its record, or by its kubelet where that was cleared. */
async function findUser(datastore: Datastore, ip: Address, { owner }: Allocation): Promise<string | undefined> {
  if (owner.endpoint === undefined) return undefined;
  const ref = { kind: "WorkloadEndpoint", namespace: owner.namespace ?? DEFAULT_NAMESPACE, name: owner.endpoint } as const;
  const [stored] = await datastore.read([{ type: "get", ref }]);
  if (stored === undefined) return undefined;
  const having = [recordedAddresses, reportedAddresses, endingAddresses].flatMap((addressesOf) => addressesOf(stored.value));
  return having.some((address) => equalAddresses(address, ip)) ? `${ref.namespace}/${ref.name}` : undefined;
}
