/** Contradictions between endpoints, allocations and pools. */

import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { containsAddress } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type Inventory, knowsAll } from "./inventory.ts";
import { leaksIn } from "./leaks.ts";
import { isManagedElsewhere } from "./managed-elsewhere.ts";
import { type Inconsistency, problem } from "./problems.ts";

/** What is wrong with what endpoints have; nothing is read or written. */
export function* endpointProblems(inventory: Inventory): Generator<Inconsistency> {
  yield* unallocated(inventory);
  yield* duplicates(inventory);
  yield* leaks(inventory);
}

/** Addresses in use that nobody allocated: inside a pool another may get them. */
function* unallocated(inventory: Inventory): Generator<Inconsistency> {
  const { damagedBlocks, pools, inPools, allocations, users, podCidrs } = inventory;
  for (const [text, endpoints] of users) {
    if (allocations.has(text)) continue;
    const address = parseAddress(text);
    const isUnknown = damagedBlocks.some(({ cidr, isAnswered }) => !isAnswered && cidr !== undefined && containsAddress(cidr, address));
    if (inPools.has(address)) {
      if (!isUnknown) yield problem("unallocated-in-use", text, `used by ${describeEndpoints(endpoints)}, but allocated to nobody`);
    } else if (knowsAll(inventory, "IPPool") && pools.some(({ family }) => family === address.family)) {
      // A family without pools has other address management.
      const strangers = endpoints.filter((endpoint) => !isManagedElsewhere(endpoint, address, podCidrs));
      if (strangers.length > 0) yield problem("outside-pool", text, `used by ${describeEndpoints(strangers)}`);
    }
  }
}

function* duplicates({ users }: Inventory): Generator<Inconsistency> {
  for (const [text, endpoints] of users) {
    if (endpoints.length > 1) yield problem("duplicate-address", text, `used by ${describeEndpoints(endpoints)}`);
  }
}

function* leaks(inventory: Inventory): Generator<Inconsistency> {
  for (const { object, detail } of leaksIn(inventory)) yield problem("leaked-address", object, detail);
}

function describeEndpoints(endpoints: readonly WorkloadEndpoint[]): string {
  return endpoints.map(describeEndpoint).join(" and ");
}

/** A pod goes first: it is what people recreate. Names are those within a namespace. */
function describeEndpoint({ metadata: { namespace = "", name }, spec: { pod } }: WorkloadEndpoint): string {
  const endpoint = `endpoint ${quote(`${namespace}/${name}`)}`;
  return pod === undefined ? endpoint : `pod ${quote(`${namespace}/${pod}`)} (${endpoint})`;
}
