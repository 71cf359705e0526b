/** `ipam show`: answers one of four questions about addresses. */

import type { Address } from "../../../lib/ip/address.ts";
import { withDatastore } from "../../access/access.ts";
import { UsageError } from "../../failures/failure.ts";
import type { Cli } from "../../io.ts";
import type { ReportFormat } from "../../output/format.ts";
import { showAddress } from "./show-address.ts";
import { showBorrowed as showBorrowedAddresses } from "./show-borrowed.ts";
import { showConfiguration } from "./show-configuration.ts";
import { showUtilisation } from "./show-utilisation.ts";

/** Each but `output` asks a question of its own, at most one at a time; without any, how full the pools are. */
export interface ShowFlags {
  readonly ip?: Address;
  readonly showBlocks?: boolean;
  readonly showBorrowed?: boolean;
  readonly showConfiguration?: boolean;
  readonly output?: ReportFormat;
}

/** @throws {UsageError} several questions at once */
export async function ipamShow(cli: Cli, flags: ShowFlags): Promise<number> {
  const { ip, showBlocks, showBorrowed, showConfiguration: withConfiguration, output } = flags;
  if ([ip, showBlocks, showBorrowed, withConfiguration].filter(Boolean).length > 1)
    throw new UsageError("read options: got several of --ip, --show-blocks, --show-borrowed, --show-configuration, want one of them");
  return withDatastore(cli, async (datastore) => {
    if (ip !== undefined) return await showAddress(cli, datastore, ip, output);
    if (showBorrowed === true) return await showBorrowedAddresses(cli, datastore, output);
    if (withConfiguration === true) return await showConfiguration(cli, datastore, output);
    return await showUtilisation(cli, datastore, flags);
  });
}
