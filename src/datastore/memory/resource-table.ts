/** Resources as text, so that no caller can change what is stored. */

import type { Kind, Resource } from "../../api/resource.ts";
import { KINDS } from "../../api/registry.ts";
import type { ResourceRef, Revision, Stored } from "../datastore.ts";

interface Row {
  readonly ref: ResourceRef;
  readonly text: string;
  readonly revision: Revision;
}

/** All resources, each with its revision. */
export class ResourceTable {
  readonly #rows = new Map<string, Row>();

  get(ref: ResourceRef): Stored<Resource> | undefined {
    const row = this.#rows.get(toKey(ref));
    return row === undefined ? undefined : toStored(row);
  }

  /** In the order of namespace and name. */
  list(kind: Kind, namespace?: string): readonly Stored<Resource>[] {
    const wanted = KINDS[kind].namespaced ? namespace : undefined;
    const rows = [...this.#rows.values()].filter(({ ref }) => ref.kind === kind && (wanted === undefined || ref.namespace === wanted));
    return rows.sort((a, b) => (toKey(a.ref) < toKey(b.ref) ? -1 : 1)).map(toStored);
  }

  put(resource: Resource, revision: Revision): Stored<Resource> {
    const ref = canonicalRefOf(resource);
    const { resourceVersion: _, ...metadata } = resource.metadata;
    const row = { ref, text: JSON.stringify({ ...resource, metadata }), revision };
    this.#rows.set(toKey(ref), row);
    return toStored(row);
  }

  clear(): void {
    this.#rows.clear();
  }

  /** @returns whether there was one */
  remove(ref: ResourceRef): boolean {
    return this.#rows.delete(toKey(ref));
  }
}

/** Under what a resource is kept: without a namespace where its kind has none, whatever the resource says. */
export function canonicalRefOf({ kind, metadata: { name, namespace } }: Resource): ResourceRef {
  return KINDS[kind].namespaced && namespace !== undefined ? { kind, namespace, name } : { kind, name };
}

/** Usable as a map key, and sorts as the names do. */
export function toKey({ kind, namespace = "", name }: ResourceRef): string {
  return KINDS[kind].namespaced ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
}

function toStored({ text, revision }: Row): Stored<Resource> {
  const value = JSON.parse(text) as Resource;
  return { value: { ...value, metadata: { ...value.metadata, resourceVersion: revision } }, revision };
}
