/** Resources as text, so that no caller can change what is stored. */

import type { Kind, Resource } from "../../api/resource.ts";
import { KINDS } from "../../api/registry.ts";
import type { ResourceRef, Revision, Stored } from "../datastore.ts";
import { refKeyOf, refOf } from "../resource-ref.ts";

interface Row {
  readonly ref: ResourceRef;
  readonly text: string;
  readonly revision: Revision;
}

/** All resources, each with its revision. */
export class ResourceTable {
  readonly #rows = new Map<string, Row>();

  get(ref: ResourceRef): Stored<Resource> | undefined {
    const row = this.#rows.get(refKeyOf(ref));
    return row === undefined ? undefined : toStored(row);
  }

  /** In the order of namespace and name. */
  list(kind: Kind, namespace?: string): readonly Stored<Resource>[] {
    const wanted = KINDS[kind].namespaced ? namespace : undefined;
    const rows = [...this.#rows.values()].filter(({ ref }) => ref.kind === kind && (wanted === undefined || ref.namespace === wanted));
    return rows.sort((a, b) => (refKeyOf(a.ref) < refKeyOf(b.ref) ? -1 : 1)).map(toStored);
  }

  put(resource: Resource, revision: Revision): Stored<Resource> {
    const ref = refOf(resource);
    const { resourceVersion: _, ...metadata } = resource.metadata;
    const row = { ref, text: JSON.stringify({ ...resource, metadata }), revision };
    this.#rows.set(refKeyOf(ref), row);
    return toStored(row);
  }

  clear(): void {
    this.#rows.clear();
  }

  /** @returns whether there was one */
  remove(ref: ResourceRef): boolean {
    return this.#rows.delete(refKeyOf(ref));
  }
}

function toStored({ text, revision }: Row): Stored<Resource> {
  const value = JSON.parse(text) as Resource;
  return { value: { ...value, metadata: { ...value.metadata, resourceVersion: revision } }, revision };
}
