/** Values of etcd keys as resources and blocks. */

import type { Block } from "../../../api/ipam-block.ts";
import { decodeBlock } from "../../../api/ipam-block-codec.ts";
import type { Resource } from "../../../api/resource.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { isJsonObject } from "../../../lib/json.ts";
import { quote } from "../../../lib/quote.ts";
import type { Revision, Stored } from "../../datastore.ts";
import type { KeyValue } from "../protocol/rpc.ts";
import { parseBlockKey, parseResourceKey } from "./keys.ts";

/**
 * A resource from its key and value, which somebody may have written by hand. The result has what an API server would guarantee: the key says
 * which resource it is, labels and annotations are texts, there is a spec, without nulls. Fields of the spec are not checked.
 *
 * @throws NetplugError ioFailure for a value, or under a key, that we cannot have written
 */
export function toStoredResource(kv: KeyValue): Stored<Resource> {
  const ref = parseResourceKey(kv.key);
  const value = parseValue(kv) as { readonly apiVersion: string; readonly metadata?: unknown; readonly spec?: unknown };
  if (ref === undefined || !isJsonObject(value.metadata)) throw notOurs(kv.key);
  const { kind, ...place } = ref;
  const { labels, annotations, ...metadata } = value.metadata;
  return {
    value: {
      ...value,
      kind,
      metadata: {
        ...metadata,
        ...place,
        ...(isJsonObject(labels) && { labels: textsOf(labels) }),
        ...(isJsonObject(annotations) && { annotations: textsOf(annotations) }),
        resourceVersion: kv.modRevision,
      },
      spec: isJsonObject(value.spec) ? withoutNulls(value.spec) : {},
    },
    revision: kv.modRevision as Revision,
  };
}

function withoutNulls(spec: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null));
}

function textsOf(entries: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const key of Object.keys(entries)) {
    const value = entries[key];
    if (typeof value === "string") texts[key] = value;
  }
  return texts;
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

/** The failure for a value that we cannot have written. */
export function notOurs(key: string, cause?: unknown): NetplugError {
  const message = `read ${quote(toKeyText(key))} in etcd: the value is not what netplug writes there; restore it or delete the key`;
  return new NetplugError("ioFailure", message, { cause });
}

/** A key that is none of ours as people write it: a character of a key stands for one byte. */
export function toKeyText(key: string): string {
  return new TextDecoder().decode(Uint8Array.from(key, (character) => character.charCodeAt(0)));
}
