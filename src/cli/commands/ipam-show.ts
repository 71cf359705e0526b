/** `ipam show`: how full pools and blocks are, and who has an address. */

import { withIPAMConfigurationDefaults } from "../../api/ipam-configuration.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { findOwner } from "../../ipam/admin/owner.ts";
import { readBorrowed, readUtilisation, type Utilisation } from "../../ipam/admin/utilisation.ts";
import { IP_POOLS, IP_RESERVATIONS, IPAM_CONFIGURATION } from "../../ipam/cluster.ts";
import { describeAllocation, toTimeText } from "../../ipam/owner-text.ts";
import { toReservedSet } from "../../ipam/reservations.ts";
import { type Address, toAddressText } from "../../lib/ip/address.ts";
import { containsAddress, containsPrefix, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { withDatastore } from "../access.ts";
import { toCommandLine } from "../call-again.ts";
import { EXIT } from "../failure.ts";
import { type Cli, note, say } from "../io.ts";
import { toReportText } from "../output/data.ts";
import { toTable } from "../output/table.ts";
import { toTransactPorts } from "./ipam-ports.ts";

export interface ShowFlags {
  readonly ip?: Address;
  readonly showBlocks?: boolean;
  readonly showBorrowed?: boolean;
  readonly showConfiguration?: boolean;
  readonly output?: "json" | "yaml";
}

/** Of several questions the first of address, blocks, borrowed, configuration is answered. */
export async function ipamShow(cli: Cli, flags: ShowFlags): Promise<number> {
  return withDatastore(cli, async (datastore) => {
    if (flags.ip !== undefined) await showAddress(cli, datastore, flags.ip, flags);
    else if (flags.showBlocks !== true && flags.showBorrowed === true) await showBorrowed(cli, datastore, flags);
    else if (flags.showBlocks !== true && flags.showConfiguration === true) await showConfiguration(cli, datastore, flags);
    else await showUtilisation(cli, datastore, flags);
    return EXIT.done;
  });
}

function report(cli: Cli, output: "json" | "yaml", value: unknown): void {
  cli.io.stdout.write(toReportText(output, value));
}

async function showUtilisation(cli: Cli, datastore: Datastore, flags: ShowFlags): Promise<void> {
  const utilisation = await readUtilisation(datastore);
  for (const { ref, fault } of utilisation.unread) note(cli, `block ${toPrefixText(ref.cidr)} is not counted: ${fault}`);
  if (flags.output !== undefined) {
    report(cli, flags.output, {
      pools: utilisation.pools.map((pool) => ({ ...pool, cidr: toPrefixText(pool.cidr) })),
      blocks: utilisation.blocks.map((block) => ({ ...block, cidr: toPrefixText(block.cidr) })),
    });
    return;
  }
  const rows = toRows(utilisation, flags.showBlocks === true);
  if (rows.length === 0) {
    note(cli, `no ippools found\nnext: ${toCommandLine(cli, "create -f FILE")}`);
    return;
  }
  const header = ["GROUPING", "NAME", "CIDR", "IPS TOTAL", "IPS IN USE", "IPS RESERVED", "IPS FREE"];
  cli.io.stdout.write(toTable(header, rows, { colour: cli.io.stdout.isTerminal, right: new Set([3, 4, 5, 6]) }));
}

/** Blocks follow their pool; those of no pool come last. */
function toRows({ pools, blocks }: Utilisation, withBlocks: boolean): readonly (readonly string[])[] {
  const toBlockRow = (grouping: string, block: Utilisation["blocks"][number]): readonly string[] => {
    const total = BigInt(block.total);
    const inUse = BigInt(block.inUse);
    return [grouping, block.node, toPrefixText(block.cidr), block.total.toString(), share(inUse, total), "-", share(total - inUse, total)];
  };
  const rows = pools.flatMap((pool) => {
    const { name, total } = pool;
    const row = [
      "IP Pool",
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

async function showAddress(cli: Cli, datastore: Datastore, ip: Address, flags: ShowFlags): Promise<void> {
  const state = await findOwner(toTransactPorts(cli, datastore), ip);
  const text = toAddressText(ip);
  const { allocation, block } = state;
  if (flags.output !== undefined) {
    if (allocation === undefined) {
      report(cli, flags.output, { ip: text, inUse: false });
      return;
    }
    const { containerID, ifName, network, pod, namespace, node } = allocation.owner;
    report(cli, flags.output, {
      ip: text,
      inUse: true,
      containerID,
      ifName,
      network,
      pod,
      namespace,
      node,
      since: toTimeText(allocation.since),
    });
    return;
  }
  if (allocation === undefined) say(cli, `${text} is not assigned${state.isCoolingDown ? "; it was released and is cooling down" : ""}`);
  else say(cli, `${text} is in use by ${describeAllocation(allocation)}`);
  for (const line of await describePlace(datastore, ip)) say(cli, line);
  if (block === undefined) say(cli, "no block is claimed around it");
  else say(cli, `block ${toPrefixText(block.cidr)} belongs to node ${quote(block.node)}`);
}

/** What pools and reservations say of an address. */
async function describePlace(datastore: Datastore, ip: Address): Promise<readonly string[]> {
  const [pools, reservations] = await datastore.read([IP_POOLS, IP_RESERVATIONS]);
  const around = pools.flatMap(({ value: { metadata, spec } }) => {
    // written with etcdctl or kubectl, it may have any shape
    const { cidr: text, disabled } = spec as { readonly cidr?: unknown; readonly disabled?: unknown };
    const cidr = typeof text === "string" ? tryParsePrefix(text) : undefined;
    if (cidr === undefined || !containsAddress(cidr, ip)) return [];
    return [`it lies in pool ${quote(metadata.name)} (${toPrefixText(cidr)})${disabled === true ? ", which is disabled" : ""}`];
  });
  const reserved = reservations.filter((reservation) => toReservedSet([reservation]).has(ip));
  return [
    ...(around.length === 0 ? ["it lies in no pool"] : around),
    ...reserved.map(({ value: { metadata } }) => `ipreservation ${quote(metadata.name)} reserves it`),
  ];
}

async function showBorrowed(cli: Cli, datastore: Datastore, flags: ShowFlags): Promise<void> {
  const borrowed = (await readBorrowed(datastore)).map(({ block, address, owner }) => ({
    ip: toAddressText(address),
    borrowingNode: owner.node,
    block: toPrefixText(block.cidr),
    blockOwner: block.node,
    allocatedTo: owner.pod === undefined ? owner.containerID : `${owner.namespace ?? ""}/${owner.pod}`,
  }));
  if (flags.output !== undefined) report(cli, flags.output, { borrowed });
  else if (borrowed.length === 0) note(cli, "no borrowed addresses");
  else {
    const rows = borrowed.map((entry) => [entry.ip, entry.borrowingNode, entry.block, entry.blockOwner, entry.allocatedTo]);
    cli.io.stdout.write(
      toTable(["IP", "BORROWING-NODE", "BLOCK", "BLOCK OWNER", "ALLOCATED-TO"], rows, { colour: cli.io.stdout.isTerminal }),
    );
  }
}

async function showConfiguration(cli: Cli, datastore: Datastore, flags: ShowFlags): Promise<void> {
  const [stored] = await datastore.read([IPAM_CONFIGURATION]);
  const configuration = withIPAMConfigurationDefaults(stored?.value.spec as object | undefined);
  if (flags.output !== undefined) report(cli, flags.output, configuration);
  else
    cli.io.stdout.write(
      toTable(
        ["PROPERTY", "VALUE"],
        Object.entries(configuration).map(([key, value]) => [key, String(value)]),
        { colour: cli.io.stdout.isTerminal },
      ),
    );
}
