/** What becomes of objects after they were found. */

import type { BlockRef } from "../../api/ipam-block.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore, ResourceRef } from "../../datastore/datastore.ts";
import type { NetplugError } from "../../lib/errors.ts";
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
  /** Gets why the datastore cannot be watched for a while, and undefined when it can be again. */
  readonly onInterruption: (failure: NetplugError | undefined) => void;
}

/**
 * Everything that differs from what was found, then from what was told: also what happened between the two, and while the connection was
 * lost. An object whose labels no longer fit is gone, and so is one that can no longer be read. A change that nobody can see, such as one
 * of a pod that is none of its endpoint, is not told.
 */
export async function* watchChanges(
  datastore: Datastore,
  named: Named,
  scope: Scope,
  { found, signal, onUnreadable, onInterruption }: WatchStart,
): AsyncIterable<readonly Change[]> {
  const told = new ToldObjects(found, isAskedBy(named, scope));
  const isNamed = isNamedBy(named, scope);
  /** Of a snapshot that is being told; undefined: changes are. */
  let snapshot: Map<string, Resource<string>> | undefined;
  for await (const event of datastore.watch({ kinds: [named.info.kind], namespace: scope.namespace, signal })) {
    switch (event.type) {
      case "reset":
        snapshot = new Map();
        break;
      case "put":
      case "put-block": {
        const object = event.type === "put" ? event.stored.value : toBlockResource(event.stored, datastore.type);
        if (snapshot === undefined) yield told.becomes(keyOf(object), object);
        else snapshot.set(keyOf(object), object);
        break;
      }
      case "in-sync":
        if (snapshot !== undefined) yield told.becomeAll(snapshot);
        snapshot = undefined;
        break;
      case "delete":
      case "delete-block":
        yield told.isGone(event.ref);
        break;
      case "interrupted":
        onInterruption(event.failure);
        break;
      case "resumed":
        onInterruption(undefined);
        break;
      case "unreadable":
        if (event.ref === undefined || isNamed(namingOfRef(event.ref, datastore.type))) onUnreadable(event.reason);
        if (event.ref !== undefined && snapshot === undefined) yield told.isGone(event.ref);
    }
  }
}

/** The objects as they were last told, and what of a new state is to be told. */
class ToldObjects {
  readonly #objects: Map<string, Resource<string>>;
  readonly #isAsked: (object: Resource<string>) => boolean;

  constructor(found: readonly Resource<string>[], isAsked: (object: Resource<string>) => boolean) {
    this.#objects = new Map(found.map((object) => [keyOf(object), object]));
    this.#isAsked = isAsked;
  }

  /** @param after undefined: it is gone */
  becomes(key: string, after: Resource<string> | undefined): readonly Change[] {
    const before = this.#objects.get(key);
    if (after === undefined || !this.#isAsked(after)) {
      this.#objects.delete(key);
      return before === undefined ? [] : [{ type: "DELETED", object: before }];
    }
    this.#objects.set(key, after);
    if (before === undefined) return [{ type: "ADDED", object: after }];
    return isSame(before, after) ? [] : [{ type: "MODIFIED", object: after }];
  }

  /** @param snapshot all that there is, by {@link keyOf} */
  becomeAll(snapshot: ReadonlyMap<string, Resource<string>>): readonly Change[] {
    return [...new Set([...this.#objects.keys(), ...snapshot.keys()])].flatMap((key) => this.becomes(key, snapshot.get(key)));
  }

  isGone(ref: ResourceRef | BlockRef): readonly Change[] {
    const key = "cidr" in ref ? [...this.#objects].find(([, { spec }]) => isBlockAt(spec, ref))?.[0] : keyOf({ metadata: ref });
    return key === undefined ? [] : this.becomes(key, undefined);
  }
}

function keyOf({ metadata }: { readonly metadata: Pick<ResourceRef, "namespace" | "name"> }): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** What a command line may call an object. */
interface Naming {
  readonly names: readonly string[];
  readonly namespace?: string | undefined;
}

function isNamedBy({ info, names }: Named, scope: Scope): (naming: Naming) => boolean {
  const wanted = new Set(names.map(toKnownName));
  return ({ names, namespace }) =>
    (wanted.size === 0 || names.some((name) => wanted.has(name))) &&
    (!info.namespaced || scope.namespace === undefined || namespace === scope.namespace);
}

function isAskedBy(named: Named, scope: Scope): (object: Resource<string>) => boolean {
  const isNamed = isNamedBy(named, scope);
  return (object) => isNamed(namingOf(object)) && (scope.selector === undefined || matchesLabels(scope.selector, object.metadata.labels));
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
