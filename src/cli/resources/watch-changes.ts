/** What becomes of objects after they were found. */

import type { Resource } from "../../api/resource.ts";
import type { Datastore, WatchEvent } from "../../datastore/datastore.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { matchesLabels } from "../arguments/label-selector.ts";
import { type BlockSpec, toBlockResource } from "./block-resource.ts";
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
  /** Gets what is stored in the place of an object and cannot be read. */
  readonly onUnreadable: (reason: string) => void;
}

/**
 * Everything that differs from what was found, then from what was told: also what happened between the two, and while the connection was
 * lost. An object whose labels no longer fit is gone. A change that nobody can see, such as one of a pod that is none of its endpoint, is not told.
 */
export async function* watchChanges(
  datastore: Datastore,
  { info, names }: Named,
  scope: Scope,
  { found, signal, onUnreadable }: WatchStart,
): AsyncIterable<readonly Change[]> {
  const wanted = new Set(names.map(toKnownName));
  const isAsked = (resource: Resource<string>): boolean =>
    (wanted.size === 0 || namesOf(resource).some((name) => wanted.has(name))) &&
    (!info.namespaced || scope.namespace === undefined || resource.metadata.namespace === scope.namespace) &&
    (scope.selector === undefined || matchesLabels(scope.selector, resource.metadata.labels));
  const told = new Map(found.map((resource) => [keyOf(resource), resource]));
  const tell = (key: string, after: Resource<string> | undefined): readonly Change[] => {
    const before = told.get(key);
    if (after === undefined || !isAsked(after))
      return told.delete(key) && before !== undefined ? [{ type: "DELETED", object: before }] : [];
    told.set(key, after);
    if (before === undefined) return [{ type: "ADDED", object: after }];
    return isSame(before, after) ? [] : [{ type: "MODIFIED", object: after }];
  };
  /** Of a snapshot that is being told; undefined: changes are. */
  let snapshot: Map<string, Resource<string>> | undefined;
  for await (const event of datastore.watch({ kinds: [info.kind], signal })) {
    const put = toResource(event, datastore.type);
    if (event.type === "reset") snapshot = new Map();
    else if (event.type === "unreadable") onUnreadable(event.reason);
    else if (event.type === "in-sync" && snapshot !== undefined) {
      const all = snapshot;
      snapshot = undefined;
      yield [...new Set([...told.keys(), ...all.keys()])].flatMap((key) => tell(key, all.get(key)));
    } else if (put !== undefined) {
      if (snapshot === undefined) yield tell(keyOf(put), put);
      else snapshot.set(keyOf(put), put);
    } else if (event.type === "delete") yield tell(`${event.ref.namespace ?? ""}/${event.ref.name}`, undefined);
    else if (event.type === "delete-block") {
      const key = [...told].find(([, { spec }]) => isBlockAt(spec, toPrefixText(event.ref.cidr), event.ref.node))?.[0];
      if (key !== undefined) yield tell(key, undefined);
    }
  }
}

function toResource(event: WatchEvent, datastore: Datastore["type"]): Resource<string> | undefined {
  if (event.type === "put") return event.stored.value;
  return event.type === "put-block" ? toBlockResource(event.stored, datastore) : undefined;
}

function keyOf({ metadata }: Resource<string>): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** What a command line may call it. */
function namesOf({ kind, metadata, spec }: Resource<string>): readonly string[] {
  return kind === "IPAMBlock" ? [metadata.name, (spec as BlockSpec).cidr] : [metadata.name];
}

function isBlockAt(spec: unknown, cidr: string, node: string): boolean {
  const block = spec as BlockSpec;
  return block.cidr === cidr && block.node === node;
}

/** A revision alone is no difference. */
function isSame(before: Resource<string>, after: Resource<string>): boolean {
  const [{ resourceVersion: _, ...left }, { resourceVersion: __, ...right }] = [before.metadata, after.metadata];
  return Bun.deepEquals({ ...before, metadata: left }, { ...after, metadata: right });
}
