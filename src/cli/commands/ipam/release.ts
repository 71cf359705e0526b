/** `ipam release`: takes an address away from whoever has it, or those that a report calls leaked. */

import type { Allocation } from "../../../api/ipam-block.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { releaseAddress } from "../../../ipam/admin/owner.ts";
import { findOwnEndpoint, silenceOfNode } from "../../../ipam/admin/endpoints/users.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { type Address, toAddressText } from "../../../lib/ip/address.ts";
import { quote } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT, UsageError } from "../../failures/failure.ts";
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
  throw new UsageError("choose what to release: want either --ip or --from-report");
}

/** Fails when nobody has it. */
async function releaseOne(cli: Cli, ip: Address): Promise<number> {
  const text = toAddressText(ip);
  return withDatastore(cli, async (datastore) => {
    const release = (): Promise<Allocation | undefined> => releaseAddress(toTransactPorts(cli, datastore), ip);
    const allocation = await withDamageNamed(cli, datastore, ip, release);
    if (allocation === undefined) throw new CommandFailed(`release ${text}: it is not allocated`, { next: `ipam show --ip=${text}` });
    say(cli, `${text} released; it was allocated to ${describeAllocation(allocation)}`);
    const endpoint = await findOwnEndpoint(datastore, ip, allocation.owner);
    if (endpoint?.hasAddress === true) {
      const { title, container } = endpoint;
      const exception = container === undefined ? "" : `unless its container ${quote(container)} has ended, `;
      note(cli, `warning: ${title} still has ${text}; ${exception}end that workload before the address is given again`);
    } else await warnOfSilence(cli, datastore, allocation.owner.node);
    return EXIT.done;
  });
}

/** Nobody else tells of a container on a node that Kubernetes does not hear of: its pod may be gone, or have been made anew elsewhere. */
async function warnOfSilence(cli: Cli, datastore: Datastore, node: string): Promise<void> {
  const since = await silenceOfNode(datastore, node);
  if (since === undefined) return;
  const risk = "so the container may run on; before the address is given again, see that it has ended";
  note(cli, `warning: node ${quote(node)} has not reported since ${since}, ${risk}`);
}
