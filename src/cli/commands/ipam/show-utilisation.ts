/** `ipam show`, and with `--show-blocks`: how full pools and blocks are. */

import type { Datastore } from "../../../datastore/datastore.ts";
import type { UncountedBlock } from "../../../ipam/admin/blocks/blocks.ts";
import { readUtilisation, type Utilisation } from "../../../ipam/admin/utilisation.ts";
import { containsPrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { EXIT } from "../../failures/failure.ts";
import { toCommandLine } from "../../failures/suggested-commands.ts";
import { type Cli, note } from "../../io.ts";
import { toReportText } from "../../output/json-yaml.ts";
import type { ReportFormat } from "../../output/format.ts";
import { toWarningText } from "../../output/pool-warning.ts";
import { toTable } from "../../output/table.ts";
import { noteIfNeverInitialised } from "../../resources/never-initialised.ts";

/** Those of `ipam show` that this answer depends on. */
interface UtilisationFlags {
  readonly output?: ReportFormat;
  /** Whether the table shows the blocks of each pool as well. */
  readonly showBlocks?: boolean;
}

/** Prints the pools; fails when something could not be counted, and says on stderr what: the numbers are then too small. */
export async function showUtilisation(cli: Cli, datastore: Datastore, flags: UtilisationFlags): Promise<number> {
  const utilisation = await readUtilisation(datastore, cli.io.clock);
  for (const reason of utilisation.unread) note(cli, reason);
  for (const warning of utilisation.warnings) note(cli, toWarningText(warning));
  for (const [name, number] of utilisation.coolingDown) {
    const rest =
      number === 1n
        ? "1 cools down after its release, and nobody gets it yet"
        : `${number} cool down after their release, and nobody gets them yet`;
    note(cli, `ippool ${quote(name)}: of its free addresses ${rest}`);
  }
  const status = noteUncounted(cli, utilisation.uncounted);
  await print(cli, datastore, utilisation, flags);
  return utilisation.unread.length === 0 ? status : EXIT.failed;
}

/** Says which blocks are not in the numbers, and what tells more of them. @returns the exit status */
export function noteUncounted(cli: Cli, uncounted: readonly UncountedBlock[]): number {
  for (const { name, fault } of uncounted) note(cli, `block ${name} is not counted: ${fault}`);
  if (uncounted.length === 0) return EXIT.done;
  note(cli, `next: ${toCommandLine(cli, "ipam check")}`);
  return EXIT.failed;
}

async function print(
  cli: Cli,
  datastore: Datastore,
  utilisation: Utilisation,
  { output, showBlocks = false }: UtilisationFlags,
): Promise<void> {
  if (output !== undefined) {
    const pools = utilisation.pools.map((pool) => ({ ...pool, cidr: toPrefixText(pool.cidr) }));
    const blocks = utilisation.blocks.map((block) => ({ ...block, cidr: toPrefixText(block.cidr) }));
    cli.io.stdout.write(toReportText(output, { pools, blocks }));
    return;
  }
  const rows = toRows(utilisation, showBlocks);
  if (rows.length === 0) {
    note(cli, "no ippools found");
    if (!(await noteIfNeverInitialised(cli, datastore))) note(cli, `next: ${toCommandLine(cli, "create -f FILE")}`);
    return;
  }
  const header = ["GROUPING", "NAME", "CIDR", "IPS TOTAL", "IPS IN USE", "IPS RESERVED", "IPS FREE"];
  cli.io.stdout.write(toTable(header, rows, { colour: cli.io.stdout.isTerminal, right: new Set([3, 4, 5, 6]) }));
}

/** Blocks follow their pool; those of no pool come last. */
function toRows({ pools, blocks, disabled }: Utilisation, withBlocks: boolean): readonly (readonly string[])[] {
  const toBlockRow = (grouping: string, block: Utilisation["blocks"][number]): readonly string[] => {
    const total = BigInt(block.total);
    const inUse = BigInt(block.inUse);
    return [grouping, block.node, toPrefixText(block.cidr), block.total.toString(), share(inUse, total), "-", share(total - inUse, total)];
  };
  const rows = pools.flatMap((pool) => {
    const { name, total } = pool;
    const row = [
      disabled.has(name) ? "IP Pool (disabled)" : "IP Pool",
      name,
      toPrefixText(pool.cidr),
      total.toString(),
      share(pool.inUse, total),
      share(pool.reserved, total),
      share(pool.free, total),
    ];
    const inside = withBlocks ? blocks.filter(({ cidr }) => containsPrefix(pool.cidr, cidr)) : [];
    return [row, ...inside.map((block) => toBlockRow("Block", block))];
  });
  if (!withBlocks) return rows;
  const orphans = blocks.filter(({ cidr }) => !pools.some((pool) => containsPrefix(pool.cidr, cidr)));
  return [...rows, ...orphans.map((block) => toBlockRow("Orphaned block", block))];
}

/** The exact number, and how much of the whole it is. */
function share(part: bigint, whole: bigint): string {
  const perMille = whole === 0n ? 0n : (part * 1_000n + whole / 2n) / whole;
  return `${part} (${perMille / 10n}.${perMille % 10n}%)`;
}
