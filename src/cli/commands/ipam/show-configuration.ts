/** `ipam show --show-configuration`: the settings of address management. */

import { DEFAULT_MAX_BLOCKS_PER_HOST, withIPAMConfigurationDefaults } from "../../../api/ipam-configuration.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { IPAM_CONFIGURATION } from "../../../ipam/cluster.ts";
import { EXIT } from "../../failures/failure.ts";
import type { Cli } from "../../io.ts";
import { toReportText } from "../../output/json-yaml.ts";
import type { ReportFormat } from "../../output/format.ts";
import { toTable } from "../../output/table.ts";

/** Prints every setting, defaults included. */
export async function showConfiguration(cli: Cli, datastore: Datastore, output: ReportFormat | undefined): Promise<number> {
  const [stored] = await datastore.read([IPAM_CONFIGURATION]);
  const configuration = withIPAMConfigurationDefaults(stored?.value.spec as object | undefined);
  if (output !== undefined) {
    cli.io.stdout.write(toReportText(output, configuration));
    return EXIT.done;
  }
  const { maxBlocksPerHost } = configuration;
  const blocks = maxBlocksPerHost === 0 ? `0 (the default of ${DEFAULT_MAX_BLOCKS_PER_HOST})` : maxBlocksPerHost;
  const rows = Object.entries({ ...configuration, maxBlocksPerHost: blocks }).map(([key, value]) => [key, String(value)]);
  cli.io.stdout.write(toTable(["PROPERTY", "VALUE"], rows, { colour: cli.io.stdout.isTerminal }));
  return EXIT.done;
}
