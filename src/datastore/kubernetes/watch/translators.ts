/** Translates changes of objects into events: one translator for each kind, which remembers what it needs for reporting deletions. */

import type { BlockRef } from "../../../api/ipam-block.ts";
import type { CustomKind, Resource } from "../../../api/resource.ts";
import type { Node, Pod } from "../../../kube/core-types.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { ResourceRef, Stored, WatchEvent } from "../../datastore.ts";
import { refOf } from "../../resource-ref.ts";
import { toStoredBlock } from "../objects/block-object.ts";
import { toStoredResource } from "../objects/custom-object.ts";
import { toEndpoints } from "../objects/endpoint-view.ts";
import { toStoredNode } from "../objects/node-view.ts";
import type { BlockObject, CustomObject } from "../objects/resource-types.ts";

/** Makes events of the datastore out of an object that was added or changed, or that is gone. */
export interface Translator<T> {
  readonly onPut: (object: T) => readonly WatchEvent[];
  readonly onDelete: (object: T) => readonly WatchEvent[];
}

/** Objects that are resources as they are. */
export function translateCustom(kind: CustomKind): Translator<CustomObject> {
  return {
    onPut: (object) => [{ type: "put", stored: toStoredResource(kind, object) }],
    onDelete: ({ metadata: { name = "" } }) => [{ type: "delete", ref: { kind, name } }],
  };
}

/** A block that moves to another node is reported as deleted at its former node. */
export function translateBlocks(): Translator<BlockObject> {
  const places = new Map<string, BlockRef>();
  const takeOld = ({ metadata: { name = "" } }: BlockObject, next?: BlockRef): readonly WatchEvent[] => {
    const old = places.get(name);
    if (next === undefined) places.delete(name);
    else places.set(name, next);
    return old === undefined || old.node === next?.node ? [] : [{ type: "delete-block", ref: old }];
  };
  return {
    onPut(object) {
      try {
        const stored = toStoredBlock(object);
        const { cidr, node } = stored.value;
        return [...takeOld(object, { cidr, node }), { type: "put-block", stored }];
      } catch (thrown) {
        return [...takeOld(object), { type: "unreadable", key: `ipamblocks/${object.metadata.name ?? ""}`, reason: messageOf(thrown) }];
      }
    },
    onDelete: (object) => takeOld(object),
  };
}

/** A kubelet changes its node every now and then where we see no difference. */
export function translateNodes(): Translator<Node> {
  return translateViews((node) => [toStoredNode(node)]);
}

/** Pods change much more often than their endpoints do. */
export function translatePods(): Translator<Pod> {
  return translateViews(toEndpoints);
}

/** Objects as views: an event only when the view changes, or ends. */
function translateViews<T extends { readonly metadata: { readonly namespace?: string; readonly name?: string } }>(
  toViews: (object: T) => readonly Stored<Resource>[],
): Translator<T> {
  /** By object, then by name of the view. */
  const told = new Map<string, ReadonlyMap<string, { readonly ref: ResourceRef; readonly text: string }>>();
  const change = ({ metadata }: T, views: readonly Stored<Resource>[]): readonly WatchEvent[] => {
    const key = `${metadata.namespace ?? ""}/${metadata.name ?? ""}`;
    const before = told.get(key);
    const after = new Map(views.map((stored) => [stored.value.metadata.name, { ref: refOf(stored.value), text: toText(stored) }]));
    if (after.size === 0) told.delete(key);
    else told.set(key, after);
    const ended = [...(before ?? [])].flatMap(([name, { ref }]): WatchEvent[] => (after.has(name) ? [] : [{ type: "delete", ref }]));
    const put = views.filter(({ value }) => before?.get(value.metadata.name)?.text !== after.get(value.metadata.name)?.text);
    return [...ended, ...put.map((stored): WatchEvent => ({ type: "put", stored }))];
  };
  return { onPut: (object) => change(object, toViews(object)), onDelete: (object) => change(object, []) };
}

function toText({ value }: Stored<Resource>): string {
  const { resourceVersion: _, ...metadata } = value.metadata;
  return JSON.stringify({ ...value, metadata });
}
