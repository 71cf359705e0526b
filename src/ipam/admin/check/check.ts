/** Compares blocks, pools and endpoints, and names what contradicts each other. */

import type { Datastore } from "../../../datastore/datastore.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Clock } from "../../../lib/ports.ts";
import { blockProblems } from "./block-problems.ts";
import { endpointProblems } from "./endpoint-problems.ts";
import { type Inventory, takeInventory, type UnreadResource } from "./inventory.ts";
import type { PoolWarning } from "../pools/pool-warnings.ts";
import type { ServiceCidr } from "../pools/pools-over-services.ts";
import { type Inconsistency, PROBLEM_CLASSES } from "./problems.ts";

/** What a check looked at, and what it found. */
export interface CheckReport {
  /** By class, then by address. */
  readonly problems: readonly Inconsistency[];
  /** First of pools that give nothing, then of those that hold addresses of nodes, then of Services. */
  readonly warnings: readonly PoolWarning[];
  readonly pools: number;
  readonly blocks: number;
  readonly allocations: number;
  readonly endpoints: number;
  /** Resources that could not be read: what depends on them was not checked. */
  readonly unread: readonly UnreadResource[];
  /** How many of the leaked addresses are of nodes that do not report: those are not released. */
  readonly silentLeaks: number;
}

/**
 * Milliseconds in which a kubelet tells that a pod has ended, such as a Job's: until then the pod looks as if it ran without its record, which the
 * DEL has cleared.
 */
const KUBELET_MS = 2_000;

/**
 * Looks for contradictions, twice: an address that is allocated or released meanwhile may look like one. Only what both looks find is reported.
 * What only one of them could read counts as not read.
 *
 * @param readServices gives the addresses that pools should keep clear of. @default none
 */
export async function checkConsistency(
  datastore: Datastore,
  clock: Pick<Clock, "sleep">,
  readServices?: () => Promise<readonly ServiceCidr[]>,
): Promise<CheckReport> {
  const { found, isReported, summary } = await lookFirst(datastore, readServices);
  if (found.size === 0) return { problems: [], ...summary, silentLeaks: 0 };
  if (isReported) await clock.sleep(KUBELET_MS);
  // Frees what the first look has read: the second one reads as much again.
  Bun.gc(true);
  const inventory = await takeInventory(datastore);
  const known = new Set(summary.unread.map(({ object }) => object));
  const order = Object.keys(PROBLEM_CLASSES);
  const problems = [...problemsIn(inventory)]
    .filter((problem) => found.has(keyOf(problem)))
    .sort((a, b) => order.indexOf(a.class) - order.indexOf(b.class));
  return {
    problems,
    silentLeaks: problems.filter((problem) => isSilentLeak(problem, inventory)).length,
    ...summarise(inventory),
    warnings: summary.warnings,
    unread: [...summary.unread, ...inventory.unread.filter(({ object }) => !known.has(object))],
  };
}

type Summary = Omit<CheckReport, "problems" | "silentLeaks">;

/** What a first look leaves for a second one: no inventory and no texts, for those of a million leaked addresses are large. */
interface FirstLook {
  readonly found: ReadonlySet<string>;
  /** Whether a kubelet is the witness of any. */
  readonly isReported: boolean;
  readonly summary: Summary;
}

async function lookFirst(datastore: Datastore, readServices?: () => Promise<readonly ServiceCidr[]>): Promise<FirstLook> {
  const inventory = await takeInventory(datastore, readServices);
  const found = new Set<string>();
  let isReported = false;
  for (const problem of problemsIn(inventory)) {
    found.add(keyOf(problem));
    isReported ||= inventory.reported.has(problem.object);
  }
  return { found, isReported, summary: summarise(inventory) };
}

function summarise(inventory: Inventory): Summary {
  return {
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

function* problemsIn(inventory: Inventory): Generator<Inconsistency> {
  yield* blockProblems(inventory);
  yield* endpointProblems(inventory);
}

function isSilentLeak({ class: problemClass, object }: Inconsistency, { allocations, silentNodes }: Inventory): boolean {
  const node = allocations.get(object)?.owner.node;
  return problemClass === "leaked-address" && node !== undefined && silentNodes.has(node);
}

function keyOf({ class: problemClass, object }: Inconsistency): string {
  return `${problemClass} ${object}`;
}
