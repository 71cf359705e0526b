/** Compares blocks, pools and endpoints, and names what contradicts each other. */

import type { Datastore } from "../../datastore/datastore.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { blockProblems } from "./block-problems.ts";
import { endpointProblems } from "./endpoint-problems.ts";
import { type Inventory, takeInventory, type UnreadResource } from "./inventory.ts";
import type { PoolWarning } from "./pool-warnings.ts";
import { type Inconsistency, PROBLEM_CLASSES } from "./problems.ts";

/** What a check looked at, and what it found. */
export interface CheckReport {
  /** By class, then by address. */
  readonly problems: readonly Inconsistency[];
  /** By name; those of pools whose spec makes no sense last. */
  readonly warnings: readonly PoolWarning[];
  readonly pools: number;
  readonly blocks: number;
  readonly allocations: number;
  readonly endpoints: number;
  /** Resources that could not be read, so that nothing is known of what depends on them. */
  readonly unread: readonly UnreadResource[];
}

/**
 * Looks for contradictions. An address that is given or released while it looks is seen before and after: what is found is
 * looked at once more, and only what is still there is reported. What only one of the two could read counts as not read.
 */
export async function checkConsistency(datastore: Datastore): Promise<CheckReport> {
  const report = await look(datastore);
  if (report.problems.length === 0) return report;
  const again = await look(datastore);
  const [problems, unread] = [new Set(again.problems.map(keyOf)), new Set(report.unread.map(({ object }) => object))];
  return {
    ...report,
    problems: report.problems.filter((problem) => problems.has(keyOf(problem))),
    unread: [...report.unread, ...again.unread.filter(({ object }) => !unread.has(object))],
  };
}

/** Keeps nothing of the inventory, which in a large cluster is large. */
async function look(datastore: Datastore): Promise<CheckReport> {
  const inventory = await takeInventory(datastore);
  return {
    problems: problemsOf(inventory),
    warnings: inventory.poolWarnings,
    pools: inventory.pools.length,
    blocks: countBlocks(inventory),
    allocations: inventory.blocks.reduce((sum, block) => sum + block.allocations.length, 0),
    endpoints: inventory.endpoints.length,
    unread: inventory.unread,
  };
}

/** Those that cannot be read included. */
function countBlocks({ blocks, damagedBlocks }: Inventory): number {
  const read = new Set(blocks.map(({ cidr }) => toPrefixText(cidr)));
  const others = damagedBlocks.map(({ name, cidr }) => (cidr === undefined ? name : toPrefixText(cidr))).filter((name) => !read.has(name));
  return blocks.length + new Set(others).size;
}

function problemsOf(inventory: Inventory): readonly Inconsistency[] {
  const order = Object.keys(PROBLEM_CLASSES);
  return [...blockProblems(inventory), ...endpointProblems(inventory)].sort((a, b) => order.indexOf(a.class) - order.indexOf(b.class));
}

function keyOf({ class: problemClass, object }: Inconsistency): string {
  return `${problemClass} ${object}`;
}
