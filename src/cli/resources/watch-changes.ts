/** What becomes of objects after they were found. */

import type { Resource } from "../../api/resource.ts";
import type { BlockRef } from "../../api/ipam-block.ts";
import type { Datastore, ResourceRef, WatchEvent } from "../../datastore/datastore.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { matchesLabels } from "../arguments/label-selector.ts";
import { type BlockSpec, toBlockResource, toShownBlockName } from "./block-resource.ts";
import { type Scope, toKnownName } from "./find-resources.ts";
import type { Named } from "./name-arguments.ts";

/** An object that is new, other than before, or gone; the words are Kubernetes'. Of one that is gone the last state is told. */
export interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Resource<string>;
}

/** How {@link watchChanges} begins and ends. */
interface WatchStart {
  /** What was there, in whatever order. */
  readonly found: readonly Resource<string>[];
  readonly signal: AbortSignal;
  /** Gets why an object that was asked for cannot be read. */
  readonly onUnreadable: (reason: string) => void;
}

/**
 * Everything that differs from what was found, then from what was told: also what happened between the two, and while the connection was
 * lost. An object whose labels no longer fit is gone, and so is one that can no longer be read. A change that nobody can see, such as one of a pod that is none of its endpoint, is not told.
 */
export async function* watchChanges(
  datastore: Datastore,
  { info, names }: Named,
  scope: Scope,
  { found, signal, onUnreadable }: WatchStart,
): AsyncIterable<readonly Change[]> {
  const wanted = new Set(names.map(toKnownName));
  const isNamed = ({ names, namespace }: Naming): boolean =>
    (wanted.size === 0 || names.some((name) => wanted.has(name))) &&
    (!info.namespaced || scope.namespace === undefined || namespace === scope.namespace);
  const isAsked = (resource: Resource<string>): boolean =>
    isNamed(namingOf(resource)) && (scope.selector === undefined || matchesLabels(scope.selector, resource.metadata.labels));
  const told = new Map(found.map((resource) => [keyOf(resource), resource]));
  const tell = (key: string, after: Resource<string> | undefined): readonly Change[] => {
    const before = told.get(key);
    if (after === undefined || !isAsked(after))
      return told.delete(key) && before !== undefined ? [{ type: "DELETED", object: before }] : [];
    told.set(key, after);
    if (before === undefined) return [{ type: "ADDED", object: after }];
    return isSame(before, after) ? [] : [{ type: "MODIFIED", object: after }];
  };
  const tellGone = (ref: ResourceRef | BlockRef): readonly Change[] => {
    const key = "cidr" in ref ? [...told].find(([, { spec }]) => isBlockAt(spec, ref))?.[0] : keyOf({ metadata: ref });
    return key === undefined ? [] : tell(key, undefined);
  };
  /** Of a snapshot that is being told; undefined: changes are. */
  let snapshot: Map<string, Resource<string>> | undefined;
  for await (const event of datastore.watch({ kinds: [info.kind], signal })) {
    const put = toResource(event, datastore.type);
    if (event.type === "reset") snapshot = new Map();
    else if (event.type === "unreadable") {
      const { ref, reason } = event;
      if (ref === undefined || isNamed(namingOfRef(ref, datastore.type))) onUnreadable(reason);
      if (ref !== undefined && snapshot === undefined) yield tellGone(ref);
    } else if (event.type === "in-sync" && snapshot !== undefined) {
      const all = snapshot;
      snapshot = undefined;
      yield [...new Set([...told.keys(), ...all.keys()])].flatMap((key) => tell(key, all.get(key)));
    } else if (put !== undefined) {
      if (snapshot === undefined) yield tell(keyOf(put), put);
      else snapshot.set(keyOf(put), put);
    } else if (event.type === "delete" || event.type === "delete-block") yield tellGone(event.ref);
  }
}

function toResource(event: WatchEvent, datastore: Datastore["type"]): Resource<string> | undefined {
  if (event.type === "put") return event.stored.value;
  return event.type === "put-block" ? toBlockResource(event.stored, datastore) : undefined;
}

function keyOf({ metadata }: { readonly metadata: Pick<ResourceRef, "namespace" | "name"> }): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** What a command line may call an object. */
interface Naming {
  readonly names: readonly string[];
  readonly namespace?: string | undefined;
}

function namingOf({ kind, metadata: { name, namespace }, spec }: Resource<string>): Naming {
  return { names: kind === "IPAMBlock" ? [name, (spec as BlockSpec).cidr] : [name], namespace };
}

function namingOfRef(ref: ResourceRef | BlockRef, datastore: Datastore["type"]): Naming {
  if ("cidr" in ref) return { names: [toShownBlockName(ref.cidr, datastore), toPrefixText(ref.cidr)] };
  return { names: [ref.name], namespace: ref.namespace };
}

function isBlockAt(spec: unknown, { cidr, node }: BlockRef): boolean {
  const block = spec as BlockSpec;
  return block.cidr === toPrefixText(cidr) && block.node === node;
}

/** A revision alone is no difference. */
function isSame(before: Resource<string>, after: Resource<string>): boolean {
  const [{ resourceVersion: _, ...left }, { resourceVersion: __, ...right }] = [before.metadata, after.metadata];
  return Bun.deepEquals({ ...before, metadata: left }, { ...after, metadata: right });
}
