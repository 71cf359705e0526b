/** Turns the writes of a commit into one etcd transaction. */

import type { Block } from "../../../api/ipam-block.ts";
import { encodeBlock } from "../../../api/ipam-block-codec.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { equalPrefixes, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Stored, Write } from "../../datastore.ts";
import { indexChanges } from "../layout/block-index.ts";
import { blockKey, indexKey, resourceKey } from "../layout/keys.ts";
import { encodeResource } from "../layout/records.ts";
import type { Compare, Operation } from "../protocol/rpc.ts";

/** How many operations etcd takes in one transaction (`--max-txn-ops`), those of a read among them. */
export const MAX_TXN_OPS = 128;

/** One etcd transaction: what must hold, and what is then done. */
export interface WritePlan {
  readonly compares: readonly Compare[];
  readonly operations: readonly Operation[];
}

/** The revision of a key that does not exist. */
const ABSENT = "0";

/** @throws NetplugError internal when it does not fit one transaction, or two writes change the same thing */
export function planWrites(writes: readonly Write[]): WritePlan {
  const compares: Compare[] = [];
  const operations: Operation[] = [];
  for (const write of writes) {
    const plan = planWrite(write);
    compares.push(...plan.compares);
    operations.push(...plan.operations);
  }
  const most = Math.max(compares.length, operations.length);
  if (most > MAX_TXN_OPS) {
    throw new NetplugError(
      "internal",
      `commit ${writes.length} writes: got ${most} operations, etcd takes ${MAX_TXN_OPS} in one transaction`,
    );
  }
  const keys = new Set(operations.map((operation) => operation.key));
  if (keys.size < operations.length) {
    throw new NetplugError("internal", `commit ${writes.length} writes: two of them change the same resource or block`);
  }
  return { compares, operations };
}

function planWrite(write: Write): WritePlan {
  switch (write.op) {
    case "create":
    case "update": {
      const { kind, metadata } = write.resource;
      const key = resourceKey({ kind, ...metadata });
      const modRevision = write.op === "create" ? ABSENT : write.revision;
      return { compares: [{ key, modRevision }], operations: [{ type: "put", key, value: encodeResource(write.resource) }] };
    }
    case "delete": {
      const key = resourceKey(write.ref);
      const compares = write.revision === undefined ? [] : [{ key, modRevision: write.revision }];
      return { compares, operations: [{ type: "delete", key }] };
    }
    case "expect":
      return { compares: [{ key: resourceKey(write.ref), modRevision: write.revision ?? ABSENT }], operations: [] };
    case "create-block":
      return planBlock(undefined, write.block);
    case "update-block":
      return planBlock(write.previous, write.block);
    case "delete-block":
      return planBlock(write.previous, undefined);
    case "expect-block":
      return { compares: [{ key: blockKey(write.previous.value), modRevision: write.previous.revision }], operations: [] };
  }
}

/** The previous block's revision guards the indexes as well: they are written with it, never by themselves. */
function planBlock(stored: Stored<Block> | undefined, next: Block | undefined): WritePlan {
  const previous = stored?.value;
  const from = previous === undefined ? undefined : blockKey(previous);
  const to = next === undefined ? undefined : blockKey(next);
  const compares: Compare[] = [];
  const operations: Operation[] = [];
  if (from !== undefined && stored !== undefined) compares.push({ key: from, modRevision: stored.revision });
  if (from !== undefined && from !== to) operations.push({ type: "delete", key: from });
  if (next !== undefined && to !== undefined) {
    if (previous === undefined) compares.push({ key: indexKey("claims", next.cidr), modRevision: ABSENT });
    else if (!equalPrefixes(previous.cidr, next.cidr)) {
      throw new NetplugError(
        "internal",
        `update block "${toPrefixText(previous.cidr)}": got "${toPrefixText(next.cidr)}" as its new state`,
      );
    }
    operations.push({ type: "put", key: to, value: encodeBlock(next) });
  }
  for (const { key, value } of indexChanges(previous, next)) {
    operations.push(value === undefined ? { type: "delete", key } : { type: "put", key, value });
  }
  return { compares, operations };
}
