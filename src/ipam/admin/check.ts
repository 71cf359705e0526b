/** Compares blocks, pools and endpoints, and names what contradicts each other. */

import type { Allocation, Block } from "../../api/ipam-block.ts";
import type { Resource } from "../../api/resource.ts";
import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { type Address, toAddressText } from "../../lib/ip/address.ts";
import { addressAt, baseOf, containsAddress, overlaps, type Prefix, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { prefixSetOf, type PrefixSet } from "../../lib/ip/prefix-set.ts";
import { quote } from "../../lib/quote.ts";
import { IP_POOLS } from "../cluster.ts";
import { describeAllocation } from "../owner-text.ts";
import { type AllBlocks, readAllBlocks } from "./blocks.ts";
import { type Problem, PROBLEM_CLASSES, type ProblemClass } from "./problems.ts";

/** What a check looked at, and what it found. */
export interface CheckReport {
  /** By class, then by address. */
  readonly problems: readonly Problem[];
  readonly pools: number;
  readonly blocks: number;
  readonly allocations: number;
  readonly endpoints: number;
}

/** All that is compared. */
interface Inventory extends AllBlocks {
  readonly pools: readonly Prefix[];
  readonly inPools: PrefixSet;
  readonly nodes: ReadonlySet<string>;
  readonly endpoints: readonly WorkloadEndpoint[];
  /** Allocations by address text. */
  readonly allocations: ReadonlyMap<string, Allocation>;
  /** Endpoints by address text. */
  readonly users: ReadonlyMap<string, readonly WorkloadEndpoint[]>;
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

async function takeInventory(datastore: Datastore): Promise<Inventory> {
  const before = await readAllBlocks(datastore);
  const [pools, nodes, endpoints] = await datastore.read([
    IP_POOLS,
    { type: "list", kind: "Node" },
    { type: "list", kind: "WorkloadEndpoint" },
  ]);
  const prefixes = pools.map(({ value }) => tryParsePrefix(String((value.spec as { readonly cidr?: unknown } | undefined)?.cidr)));
  const known = prefixes.filter((prefix) => prefix !== undefined);
  const allocations = new Map<string, Allocation>();
  for (const block of before.blocks) for (const [address, allocation] of allocationsOf(block)) allocations.set(address, allocation);
  const records = endpoints.map(({ value }: Stored<Resource>) => value as WorkloadEndpoint);
  return {
    ...before,
    pools: known,
    inPools: prefixSetOf(known),
    nodes: new Set(nodes.map(({ value }) => value.metadata.name)),
    endpoints: records,
    allocations,
    users: usersOf(records),
  };
}

function problemsOf(inventory: Inventory): readonly Problem[] {
  const found: Problem[] = [
    ...inventory.corrupt.map(({ ref, fault }) => problem("corrupt-block", toPrefixText(ref.cidr), fault)),
    ...orphans(inventory),
    ...outsiders(inventory),
    ...duplicates(inventory),
    ...unallocated(inventory),
    ...leaks(inventory),
  ];
  const order = Object.keys(PROBLEM_CLASSES);
  return found.sort((a, b) => order.indexOf(a.class) - order.indexOf(b.class));
}

function* orphans({ missing, blocks, inPools, nodes, endpoints }: Inventory): Generator<Problem> {
  for (const { cidr, node } of missing)
    yield problem("orphaned-block", toPrefixText(cidr), `claimed by node ${quote(node)}, but its record is gone`);
  const names = new Set(endpoints.map(({ metadata }) => metadata.name));
  for (const { cidr, node, allocations } of blocks) {
    if (inPools.countIn(cidr) === 0n)
      yield problem("orphaned-block", toPrefixText(cidr), `belongs to node ${quote(node)}, and lies in no pool`);
    // Without an agent there may be no Node objects at all; and other main plugins have no endpoints.
    const hasEndpoint = allocations.some(({ owner }) => names.has(owner.endpoint ?? ""));
    const lostOnes = allocations.filter(({ owner }) => owner.endpoint !== undefined);
    if (nodes.size > 0 && !nodes.has(node) && lostOnes.length > 0 && !hasEndpoint) {
      yield problem(
        "orphaned-block",
        toPrefixText(cidr),
        `belongs to node ${quote(node)}, which does not exist, with ${lostOnes.length} addresses`,
      );
    }
  }
}

function* outsiders({ pools, inPools, allocations, users }: Inventory): Generator<Problem> {
  const isOutside = (address: Address): boolean => pools.some(({ family }) => family === address.family) && !inPools.has(address);
  for (const [text, allocation] of allocations) {
    const address = tryParsePrefix(text);
    if (address !== undefined && !inPools.has(baseOf(address)))
      yield problem("outside-pool", text, `allocated to ${describeAllocation(allocation)}`);
  }
  // With other address management there are endpoints outside of pools, and then usually no pools.
  for (const [text, endpoints] of users) {
    const address = tryParsePrefix(text);
    if (address === undefined || allocations.has(text) || !isOutside(baseOf(address))) continue;
    yield problem("outside-pool", text, `used by ${describeEndpoints(endpoints)}`);
  }
}

function* duplicates({ blocks, users }: Inventory): Generator<Problem> {
  for (const [text, endpoints] of users) {
    if (endpoints.length > 1) yield problem("duplicate-address", text, `used by ${describeEndpoints(endpoints)}`);
  }
  // In address order an overlapping block follows the wider one directly, or after others that it contains too.
  let widest: Block | undefined;
  for (const block of blocks) {
    if (widest === undefined || !overlaps(widest.cidr, block.cidr)) {
      widest = block;
      continue;
    }
    const outer = new Map(allocationsOf(widest));
    for (const [text, allocation] of allocationsOf(block)) {
      const other = outer.get(text);
      if (other !== undefined)
        yield problem("duplicate-address", text, `allocated to ${describeAllocation(other)} and to ${describeAllocation(allocation)}`);
    }
  }
}

function* unallocated({ corrupt, inPools, allocations, users }: Inventory): Generator<Problem> {
  for (const [text, endpoints] of users) {
    const prefix = tryParsePrefix(text);
    if (prefix === undefined || allocations.has(text)) continue;
    const address = baseOf(prefix);
    const isUnknown = corrupt.some(({ ref }) => containsAddress(ref.cidr, address));
    if (inPools.has(address) && !isUnknown)
      yield problem("unallocated-in-use", text, `used by ${describeEndpoints(endpoints)}, but allocated to nobody`);
  }
}

function* leaks({ allocations, users, endpoints }: Inventory): Generator<Problem> {
  const byName = Map.groupBy(endpoints, ({ metadata }) => metadata.name);
  for (const [text, allocation] of allocations) {
    const { endpoint, namespace } = allocation.owner;
    if (endpoint === undefined) continue; // another main plugin's: it has no endpoint
    const isTheirs = ({ metadata }: WorkloadEndpoint): boolean =>
      metadata.name === endpoint && (namespace === undefined || metadata.namespace === namespace);
    if (users.get(text)?.some(isTheirs) === true) continue;
    const why = byName.get(endpoint)?.some(isTheirs) === true ? "which has other addresses" : "which does not exist";
    yield problem("leaked-address", text, `allocated to ${describeAllocation(allocation)} for endpoint ${quote(endpoint)}, ${why}`);
  }
}

function* allocationsOf(block: Block): Generator<readonly [address: string, allocation: Allocation]> {
  for (const allocation of block.allocations) yield [toAddressText(addressAt(block.cidr, allocation.ordinal)), allocation];
}

function usersOf(endpoints: readonly WorkloadEndpoint[]): ReadonlyMap<string, readonly WorkloadEndpoint[]> {
  const users = new Map<string, WorkloadEndpoint[]>();
  for (const endpoint of endpoints) {
    const networks: unknown = (endpoint as Partial<WorkloadEndpoint>).spec?.ipNetworks;
    for (const network of Array.isArray(networks) ? new Set<unknown>(networks) : []) {
      const prefix = typeof network === "string" ? tryParsePrefix(network) : undefined;
      if (prefix === undefined) continue;
      const text = toAddressText(baseOf(prefix));
      users.set(text, [...(users.get(text) ?? []), endpoint]);
    }
  }
  return users;
}

/** Endpoints have names within a namespace. */
function nameOf({ metadata: { namespace = "", name } }: WorkloadEndpoint): string {
  return `${namespace}/${name}`;
}

function describeEndpoints(endpoints: readonly WorkloadEndpoint[]): string {
  return endpoints.map((endpoint) => `endpoint ${quote(nameOf(endpoint))}`).join(" and ");
}

function problem(problemClass: ProblemClass, object: string, detail: string): Problem {
  return { class: problemClass, object, detail };
}

function keyOf({ class: problemClass, object }: Problem): string {
  return `${problemClass} ${object}`;
}
