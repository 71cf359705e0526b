/** Revisions of resources as they were last seen, so that a condition on what was just read costs no request. */

import { KINDS } from "../../../api/registry.ts";
import type { Resource } from "../../../api/resource.ts";
import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";
import type { ResourceRef, Revision, Stored } from "../../datastore.ts";

/** What is older is looked at again: the limit of one request, in milliseconds. */
const LIFETIME_MS = 5_000;

/** More than any operation reads one by one. */
const MAX_REVISIONS = 10_000;

interface Seen {
  /** undefined: there was none. */
  readonly revision: Revision | undefined;
}

/** Answers conditions from what the same process read a moment ago: what is older than a request may take is read again. */
export class SeenRevisions {
  readonly #seen: ExpiringMap<Seen>;

  constructor(clock: Clock) {
    this.#seen = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MAX_REVISIONS });
  }

  note(ref: ResourceRef, revision: Revision | undefined): void {
    this.#seen.set(toTarget(ref), { revision });
  }

  noteAll(found: readonly Stored<Resource>[]): void {
    for (const { value, revision } of found) this.note({ kind: value.kind, ...value.metadata }, revision);
  }

  /** @returns undefined when it must be looked at */
  find(ref: ResourceRef): Seen | undefined {
    return this.#seen.get(toTarget(ref));
  }

  clear(): void {
    this.#seen.clear();
  }
}

/** A text that is equal for equal places. */
export function toTarget({ kind, namespace = "", name }: ResourceRef): string {
  return KINDS[kind].namespaced ? `${kind} ${namespace}/${name}` : `${kind} ${name}`;
}
