/** Contradictions between blocks, their claims, their index entries and the pools. */

import { parseAddress } from "../../../lib/ip/address.ts";
import { overlaps, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import type { Block } from "../../../api/ipam-block.ts";
import { describeAllocation } from "../../owner-text.ts";
import { allocationsOf, type Inventory, knowsAll } from "./inventory.ts";
import { type Inconsistency, problem } from "./problems.ts";

/** What is wrong with blocks; nothing is read or written. */
export function* blockProblems(inventory: Inventory): Generator<Inconsistency> {
  for (const { name, cidr, reason } of inventory.damagedBlocks)
    yield problem("corrupt-block", cidr === undefined ? name : toPrefixText(cidr), reason);
  for (const { cidr, detail } of inventory.indexFaults) yield problem("corrupt-block", toPrefixText(cidr), detail);
  yield* overlapping(inventory);
  yield* orphans(inventory);
  yield* outsiders(inventory);
}

/** Two blocks with the same addresses give each of them twice, sooner or later. */
function* overlapping({ blocks }: Inventory): Generator<Inconsistency> {
  // In address order an overlapping block follows the wider one directly, or after others that it contains too.
  let widest: Block | undefined;
  for (const block of blocks) {
    if (widest === undefined || !overlaps(widest.cidr, block.cidr)) {
      widest = block;
      continue;
    }
    const other = `block ${toPrefixText(widest.cidr)} of node ${quote(widest.node)}`;
    yield problem("corrupt-block", toPrefixText(block.cidr), `belongs to node ${quote(block.node)}, and overlaps ${other}`);
    const outer = new Map(allocationsOf(widest));
    for (const [text, allocation] of allocationsOf(block)) {
      const holder = outer.get(text);
      if (holder !== undefined)
        yield problem("duplicate-address", text, `allocated to ${describeAllocation(holder)} and to ${describeAllocation(allocation)}`);
    }
  }
}

function* orphans(inventory: Inventory): Generator<Inconsistency> {
  const { missing, unclaimed, blocks, inPools, nodes, endpoints } = inventory;
  for (const { cidr, node } of missing)
    yield problem("orphaned-block", toPrefixText(cidr), `claimed by node ${quote(node)}, but its record is gone`);
  for (const { cidr, node } of unclaimed)
    yield problem(
      "orphaned-block",
      toPrefixText(cidr),
      `has a record of node ${quote(node)}, but its claim is gone: another node may claim it`,
    );
  const knowsUsers = knowsAll(inventory, "Node") && knowsAll(inventory, "WorkloadEndpoint");
  const names = new Set(endpoints.map(({ metadata }) => metadata.name));
  // What Kubernetes calls the node, in the names of its endpoints, need not be what the node calls itself.
  const attachments = new Set(endpoints.map(({ spec }) => `${spec.containerID}/${spec.endpoint}`));
  for (const { cidr, node, allocations } of blocks) {
    if (inPools.countIn(cidr) === 0n && knowsAll(inventory, "IPPool"))
      yield problem("orphaned-block", toPrefixText(cidr), `belongs to node ${quote(node)}, and lies in no pool`);
    // Without an agent there may be no Node objects at all; and other main plugins have no endpoints.
    const hasEndpoint = allocations.some(
      ({ owner: { endpoint = "", containerID, ifName } }) => names.has(endpoint) || attachments.has(`${containerID}/${ifName}`),
    );
    const withEndpoint = allocations.filter(({ owner }) => owner.endpoint !== undefined).length;
    if (knowsUsers && nodes.size > 0 && !nodes.has(node) && withEndpoint > 0 && !hasEndpoint) {
      const count = `${withEndpoint} ${withEndpoint === 1 ? "address" : "addresses"}`;
      yield problem("orphaned-block", toPrefixText(cidr), `belongs to node ${quote(node)}, which does not exist, with ${count}`);
    }
  }
}

function* outsiders(inventory: Inventory): Generator<Inconsistency> {
  const { inPools, allocations } = inventory;
  if (!knowsAll(inventory, "IPPool")) return;
  for (const [text, allocation] of allocations) {
    if (!inPools.has(parseAddress(text))) yield problem("outside-pool", text, `allocated to ${describeAllocation(allocation)}`);
  }
}
