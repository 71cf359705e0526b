/** Compares blocks, pools and endpoints, and names what contradicts each other. */

import type { Datastore } from "../../datastore/datastore.ts";
import { blockProblems } from "./block-problems.ts";
import { endpointProblems } from "./endpoint-problems.ts";
import { type Inventory, takeInventory } from "./inventory.ts";
import { type Problem, PROBLEM_CLASSES } from "./problems.ts";

/** What a check looked at, and what it found. */
export interface CheckReport {
  /** By class, then by address. */
  readonly problems: readonly Problem[];
  readonly pools: number;
  readonly blocks: number;
  readonly allocations: number;
  readonly endpoints: number;
}

/**
 * Looks for contradictions. An address that is given or released while it looks is seen before and after: what is found is
 * looked at once more, and only what is still there is reported.
 */
export async function checkConsistency(datastore: Datastore): Promise<CheckReport> {
  const first = await takeInventory(datastore);
  const found = problemsOf(first);
  const stillThere = found.length === 0 ? found : problemsOf(await takeInventory(datastore));
  const again = new Set(stillThere.map(keyOf));
  return {
    problems: found.filter((problem) => again.has(keyOf(problem))),
    pools: first.pools.length,
    blocks: first.blocks.length,
    allocations: first.blocks.reduce((sum, block) => sum + block.allocations.length, 0),
    endpoints: first.endpoints.length,
  };
}

function problemsOf(inventory: Inventory): readonly Problem[] {
  const order = Object.keys(PROBLEM_CLASSES);
  return [...blockProblems(inventory), ...endpointProblems(inventory)].sort((a, b) => order.indexOf(a.class) - order.indexOf(b.class));
}

function keyOf({ class: problemClass, object }: Problem): string {
  return `${problemClass} ${object}`;
}
