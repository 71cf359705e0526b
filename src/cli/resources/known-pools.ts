/** CIDRs of all pools, for a command that creates many pools, so that it need not list them for each: its own do not overlap. */

import type { Datastore } from "../../datastore/datastore.ts";
import { cidrOfPool } from "../../ipam/admin/pools/pool-cidr.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import type { Clock } from "../../lib/ports.ts";

/** Milliseconds after which pools are read again: others may write them too. */
const LIFETIME_MS = 1_000;

/** On a slow datastore they are kept for so many times as long as the read took; otherwise each object would need a read again. */
const LIFETIME_READS = 10;
const LONGEST_LIFETIME_MS = 5_000;

/** All pools that have a CIDR, as one command knows them. */
export class KnownPools {
  readonly #datastore: Datastore;
  readonly #clock: Clock;
  #known: { readonly cidrs: Map<string, Prefix>; readonly until: number } | undefined;

  constructor(datastore: Datastore, clock: Clock) {
    this.#datastore = datastore;
    this.#clock = clock;
  }

  /** By name; some seconds old at most. */
  async cidrs(): Promise<ReadonlyMap<string, Prefix>> {
    const asked = this.#clock.monotonic();
    if (this.#known !== undefined && asked < this.#known.until) return this.#known.cidrs;
    const [pools] = await this.#datastore.read([{ type: "list", kind: "IPPool" }]);
    const cidrs = new Map<string, Prefix>();
    for (const { value } of pools) {
      const cidr = cidrOfPool(value);
      if (cidr !== undefined) cidrs.set(value.metadata.name, cidr);
    }
    const answered = this.#clock.monotonic();
    const lifetimeMs = Math.min(LONGEST_LIFETIME_MS, Math.max(LIFETIME_MS, (answered - asked) * LIFETIME_READS));
    this.#known = { cidrs, until: answered + lifetimeMs };
    return cidrs;
  }

  /** The next query reads the pools again. */
  forget(): void {
    this.#known = undefined;
  }
}
