/** `ipam show`: answers one of four questions about addresses. */

import type { Address } from "../../lib/ip/address.ts";
import { withDatastore } from "../access.ts";
import { EXIT } from "../failure.ts";
import type { Cli } from "../io.ts";
import type { ReportFormat } from "../output/format.ts";
import { showAddress } from "./ipam-show-address.ts";
import { showBorrowed } from "./ipam-show-borrowed.ts";
import { showConfiguration } from "./ipam-show-configuration.ts";
import { showUtilisation } from "./ipam-show-utilisation.ts";

export interface ShowFlags {
  readonly ip?: Address;
  readonly showBlocks?: boolean;
  readonly showBorrowed?: boolean;
  readonly showConfiguration?: boolean;
  readonly output?: ReportFormat;
}

/** When several are asked, the first of address, blocks, borrowed addresses and configuration is answered. */
export async function ipamShow(cli: Cli, flags: ShowFlags): Promise<number> {
  const { ip, output } = flags;
  await withDatastore(cli, async (datastore) => {
    if (ip !== undefined) await showAddress(cli, datastore, ip, output);
    else if (flags.showBlocks !== true && flags.showBorrowed === true) await showBorrowed(cli, datastore, output);
    else if (flags.showBlocks !== true && flags.showConfiguration === true) await showConfiguration(cli, datastore, output);
    else await showUtilisation(cli, datastore, flags);
  });
  return EXIT.done;
}
