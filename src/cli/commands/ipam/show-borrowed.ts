/** `ipam show --show-borrowed`: addresses that nodes have in blocks of others. */

import type { Datastore } from "../../../datastore/datastore.ts";
import { readBorrowedAddresses } from "../../../ipam/admin/utilisation.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import { type Cli, note } from "../../io.ts";
import { toReportText } from "../../output/json-yaml.ts";
import type { ReportFormat } from "../../output/format.ts";
import { toTable } from "../../output/table.ts";
import { noteUncounted } from "./show-utilisation.ts";

/** Prints a line for each address: who borrows it, and from which block. Fails when there are blocks that may have more of them. */
export async function showBorrowed(cli: Cli, datastore: Datastore, output: ReportFormat | undefined): Promise<number> {
  const found = await readBorrowedAddresses(datastore);
  const status = noteUncounted(cli, found.uncounted);
  const borrowed = found.borrowed.map(({ block, address, owner }) => ({
    ip: toAddressText(address),
    borrowingNode: owner.node,
    block: toPrefixText(block.cidr),
    blockOwner: block.node,
    allocatedTo: owner.pod === undefined ? owner.containerID : `${owner.namespace ?? ""}/${owner.pod}`,
  }));
  if (output !== undefined) cli.io.stdout.write(toReportText(output, { borrowed }));
  else if (borrowed.length === 0) note(cli, "no borrowed addresses");
  else {
    const rows = borrowed.map((entry) => [entry.ip, entry.borrowingNode, entry.block, entry.blockOwner, entry.allocatedTo]);
    const header = ["IP", "BORROWING-NODE", "BLOCK", "BLOCK OWNER", "ALLOCATED-TO"];
    cli.io.stdout.write(toTable(header, rows, { colour: cli.io.stdout.isTerminal }));
  }
  return status;
}
