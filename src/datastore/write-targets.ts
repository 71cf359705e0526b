/** What the writes of a commit change. The etcd driver looks at the keys of its operations instead. */

import { NetplugError } from "../lib/errors.ts";
import { toPrefixText } from "../lib/ip/prefix.ts";
import type { Write } from "./datastore.ts";
import { refKeyOf, refOf } from "./resource-ref.ts";

/**
 * Makes sure that no two writes change the same thing, for they have no order, and that no block becomes another one.
 *
 * @throws {NetplugError} internal
 */
export function requireDistinctTargets(writes: readonly Write[]): void {
  const targets = writes.flatMap((write) => targetOf(write) ?? []);
  if (new Set(targets).size < targets.length) {
    throw new NetplugError("internal", `commit ${writes.length} writes: two of them change the same resource or block`);
  }
}

/** @returns undefined for a condition, which changes nothing */
function targetOf(write: Write): string | undefined {
  switch (write.op) {
    case "create":
    case "update":
      return refKeyOf(refOf(write.resource));
    case "delete":
      return refKeyOf(write.ref);
    case "expect":
    case "expect-block":
      return undefined;
    case "create-block":
      return toPrefixText(write.block.cidr);
    case "update-block": {
      const [from, to] = [toPrefixText(write.previous.value.cidr), toPrefixText(write.block.cidr)];
      if (from !== to) throw new NetplugError("internal", `update block "${from}": got "${to}" as its new state`);
      return to;
    }
    case "delete-block":
      return toPrefixText(write.previous.value.cidr);
  }
}
