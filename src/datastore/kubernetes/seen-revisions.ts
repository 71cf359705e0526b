/** Revisions of resources as they were last seen, so that a condition on what was just read costs no request. */

import { KINDS } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import type { Clock } from "../../lib/ports.ts";
import type { ResourceRef, Revision, Stored } from "../datastore.ts";

/** What is older is looked at again: the limit of one request, in milliseconds. */
const LIFETIME_MS = 5_000;

/** More than any operation reads one by one. */
const MOST = 10_000;

interface Seen {
  /** undefined: there was none. */
  readonly revision: Revision | undefined;
  readonly at: number;
}

export class SeenRevisions {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(ref: ResourceRef, revision: Revision | undefined): void {
    if (this.#seen.size >= MOST) this.#seen.clear();
    this.#seen.set(toTarget(ref), { revision, at: this.#clock.monotonic() });
  }

  noteAll(found: readonly Stored<Resource>[]): void {
    for (const { value, revision } of found) this.note({ kind: value.kind, ...value.metadata }, revision);
  }

  /** @returns undefined when it must be looked at */
  find(ref: ResourceRef): Pick<Seen, "revision"> | undefined {
    const seen = this.#seen.get(toTarget(ref));
    return seen !== undefined && this.#clock.monotonic() - seen.at <= LIFETIME_MS ? seen : undefined;
  }

  clear(): void {
    this.#seen.clear();
  }
}

/** A text that is equal for equal places. */
export function toTarget({ kind, namespace = "", name }: ResourceRef): string {
  return KINDS[kind].namespaced ? `${kind} ${namespace}/${name}` : `${kind} ${name}`;
}
