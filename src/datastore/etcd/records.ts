/** Values of etcd keys as resources and blocks. */

import type { Block } from "../../api/ipam-block.ts";
import { decodeBlock } from "../../api/ipam-block-codec.ts";
import type { Resource } from "../../api/resource.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Revision, Stored } from "../datastore.ts";
import { parseBlockKey } from "./keys.ts";
import type { KeyValue } from "./rpc.ts";

/** @throws NetplugError ioFailure for a value that we cannot have written */
export function toStoredResource(kv: KeyValue): Stored<Resource> {
  const value = parseValue(kv) as Resource;
  if (typeof value.metadata !== "object" || value.metadata === null) throw notOurs(kv.key);
  const metadata = { ...value.metadata, resourceVersion: kv.modRevision };
  return { value: { ...value, metadata }, revision: kv.modRevision as Revision };
}

/** @throws NetplugError ioFailure for a value that we cannot have written */
export function toStoredBlock(kv: KeyValue): Stored<Block> {
  const ref = parseBlockKey(kv.key);
  if (ref === undefined) throw notOurs(kv.key);
  return { value: decodeBlock(kv.value, ref), revision: kv.modRevision as Revision };
}

/** The text of a resource: what identifies a version is etcd's, and not stored. */
export function encodeResource(resource: Resource): string {
  const { resourceVersion: _, ...metadata } = resource.metadata;
  return JSON.stringify({ ...resource, metadata });
}

/** @throws NetplugError ioFailure when the value is no JSON object */
export function parseValue(kv: KeyValue): object {
  let value: unknown;
  try {
    value = JSON.parse(kv.value);
  } catch (cause) {
    throw notOurs(kv.key, cause);
  }
  if (typeof value !== "object" || value === null) throw notOurs(kv.key);
  return value;
}

export function notOurs(key: string, cause?: unknown): NetplugError {
  const message = `read "${key}" in etcd: the value is not what netplug writes there; restore it or delete the key`;
  return new NetplugError("ioFailure", message, cause === undefined ? {} : { cause });
}
