/** Revisions of resources as they were last seen, so that a condition on what was just read costs no request. */

import type { Resource } from "../../../api/resource.ts";
import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";
import type { ResourceRef, Revision, Stored } from "../../datastore.ts";
import { refKeyOf, refOf } from "../../resource-ref.ts";

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
    this.#seen.set(refKeyOf(ref), { revision });
  }

  noteAll(found: readonly Stored<Resource>[]): void {
    for (const { value, revision } of found) this.note(refOf(value), revision);
  }

  /** @returns undefined when it must be looked at */
  find(ref: ResourceRef): Seen | undefined {
    return this.#seen.get(refKeyOf(ref));
  }

  clear(): void {
    this.#seen.clear();
  }
}
