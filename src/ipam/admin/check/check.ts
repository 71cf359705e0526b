/** Compares blocks, pools and endpoints, and names what contradicts each other. */

import type { Datastore } from "../../../datastore/datastore.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Clock } from "../../../lib/ports.ts";
import { blockProblems } from "./block-problems.ts";
import { endpointProblems } from "./endpoint-problems.ts";
import { type Inventory, takeInventory, type UnreadResource } from "./inventory.ts";
import { isEndpointOf } from "./leaks.ts";
import type { PoolWarning } from "../pools/pool-warnings.ts";
import type { ServiceCidr } from "../pools/pools-over-services.ts";
import { type Inconsistency, PROBLEM_CLASSES } from "./problems.ts";
import { isReported, isUnderWay, recentlyChanged } from "./under-way.ts";

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
 * Milliseconds between the looks. A kubelet tells within the first that a pod has ended, such as a Job's: until then the pod looks as if it ran
 * without its record, which the DEL has cleared. Under heavy load it takes longer, and so may the second write of a call.
 */
const PAUSES_MS = [2_000, 4_000, 6_000, 8_000] as const;

/**
 * Looks for contradictions, twice: an address that is allocated or released meanwhile may look like one. While something may be under way that
 * explains what both find, it looks again, after pauses that grow. Only what all looks find is reported. What only some of them could read counts
 * as not read.
 *
 * @param readServices gives the addresses that pools should keep clear of. @default none
 */
export async function checkConsistency(
  datastore: Datastore,
  clock: Pick<Clock, "now" | "sleep">,
  readServices?: () => Promise<readonly ServiceCidr[]>,
): Promise<CheckReport> {
  const { summary, ...first } = await lookFirst(datastore, clock, readServices);
  if (first.found.size === 0) return { problems: [], ...summary, silentLeaks: 0 };
  let traces: Traces = first;
  for (let look = 0; ; look++) {
    if (traces.mayPass) await clock.sleep(PAUSES_MS[look] ?? 0);
    // Frees what the look before has read: the next one reads as much again.
    Bun.gc(true);
    const next = await lookAgain(datastore, clock, traces, look === PAUSES_MS.length - 1);
    if ("problems" in next) return { ...next, warnings: summary.warnings };
    traces = next;
  }
}

type Summary = Omit<CheckReport, "problems" | "silentLeaks">;

/** What a look leaves for the next one: no inventory and no texts, for those of a million leaked addresses are large. */
interface Traces {
  readonly found: ReadonlySet<string>;
  /** Whether any of that may pass by itself. */
  readonly mayPass: boolean;
  readonly unread: readonly UnreadResource[];
}

type FirstLook = Traces & { readonly summary: Summary };

async function lookFirst(
  datastore: Datastore,
  clock: Pick<Clock, "now">,
  readServices?: () => Promise<readonly ServiceCidr[]>,
): Promise<FirstLook> {
  const inventory = await takeInventory(datastore, readServices);
  const recent = recentlyChanged(inventory.blocks, clock.now());
  const found = new Set<string>();
  let mayPass = false;
  for (const problem of problemsIn(inventory)) {
    for (const key of keysOf(problem, inventory)) found.add(key);
    mayPass ||= isReported(problem, inventory) || isUnderWay(problem, inventory, recent);
  }
  return { found, mayPass, unread: inventory.unread, summary: summarise(inventory) };
}

/** @returns what all looks have found, or traces of it where some of it may pass and this look is not the last */
async function lookAgain(datastore: Datastore, clock: Pick<Clock, "now">, before: Traces, isLast: boolean): Promise<Traces | CheckReport> {
  const inventory = await takeInventory(datastore);
  const known = new Set(before.unread.map(({ object }) => object));
  const unread = [...before.unread, ...inventory.unread.filter(({ object }) => !known.has(object))];
  const order = Object.keys(PROBLEM_CLASSES);
  const keysAgain = (problem: Inconsistency): readonly string[] => keysOf(problem, inventory).filter((key) => before.found.has(key));
  const problems = [...problemsIn(inventory)]
    .filter((problem) => keysAgain(problem).length > 0)
    .sort((a, b) => order.indexOf(a.class) - order.indexOf(b.class));
  const recent = recentlyChanged(inventory.blocks, clock.now());
  if (!isLast && problems.some((problem) => isUnderWay(problem, inventory, recent)))
    return { found: new Set(problems.flatMap(keysAgain)), mayPass: true, unread };
  const silentLeaks = problems.filter((problem) => isSilentLeak(problem, inventory)).length;
  return { problems, silentLeaks, ...summarise(inventory), unread };
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

/**
 * Two looks have found the same when they have one of these in common. Of an address that is used wrongly they name each endpoint that has it and is
 * not its owner's: at the next look that may be others, which have it for a moment only. Whether its owner's has it as well may change meanwhile.
 */
function keysOf({ class: problemClass, object }: Inconsistency, { allocations, users, reported }: Inventory): readonly string[] {
  const isOfUsers = problemClass === "unallocated-in-use" || problemClass === "duplicate-address";
  const owner = allocations.get(object)?.owner;
  const having = isOfUsers ? [users, reported].flatMap((endpointsBy) => endpointsBy.get(object) ?? []) : [];
  const others = having.filter((endpoint) => owner === undefined || !isEndpointOf(endpoint, owner));
  if (others.length === 0) return [`${problemClass} ${object}`];
  return others.map(({ metadata: { namespace = "", name } }) => `${object} ${namespace}/${name}`);
}
