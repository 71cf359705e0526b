/** Blocks in address order, and what the queries about them answer. Nothing is indexed: it looks at the blocks themselves. */

import type { Block, BlockRef } from "../../api/ipam-block.ts";
import { nextOrdinalsOf, type SpareBlock } from "../../api/ipam-block-spare.ts";
import type { Address } from "../../lib/ip/address.ts";
import {
  comparePrefixes,
  containsAddress,
  containsPrefix,
  lastAddressOf,
  overlaps,
  type Prefix,
  toPrefixText,
} from "../../lib/ip/prefix.ts";
import type { EmptyBlock, NamedBlock, Stored } from "../datastore.ts";

/** One block per CIDR. */
export class BlockTable {
  /** In the order of {@link comparePrefixes}. */
  readonly #rows: Stored<Block>[] = [];

  get all(): readonly Stored<Block>[] {
    return this.#rows;
  }

  get names(): readonly NamedBlock[] {
    return this.#rows.map((row) => ({ name: toPrefixText(row.value.cidr), ref: toRef(row) }));
  }

  find(cidr: Prefix): Stored<Block> | undefined {
    const row = this.#rows[this.#indexFor(cidr)];
    return row !== undefined && comparePrefixes(row.value.cidr, cidr) === 0 ? row : undefined;
  }

  put(stored: Stored<Block>): void {
    const { cidr } = stored.value;
    this.#rows.splice(this.#indexFor(cidr), this.find(cidr) === undefined ? 0 : 1, stored);
  }

  remove(cidr: Prefix): void {
    if (this.find(cidr) !== undefined) this.#rows.splice(this.#indexFor(cidr), 1);
  }

  clear(): void {
    this.#rows.length = 0;
  }

  ofNode(node: string): readonly Stored<Block>[] {
    return this.#rows.filter((row) => row.value.node === node);
  }

  borrowedBy(node: string): readonly BlockRef[] {
    const isBorrowed = ({ value }: Stored<Block>): boolean =>
      value.node !== node && value.allocations.some((allocation) => allocation.owner.node === node);
    return this.#rows.filter(isBorrowed).map(toRef);
  }

  ofAddress(address: Address): BlockRef | undefined {
    return this.#rows
      .filter(({ value }) => containsAddress(value.cidr, address))
      .map(toRef)
      .at(-1);
  }

  count(within: Prefix): number {
    return this.#inside(within).length;
  }

  claimed(within: Prefix, from: Address | undefined, limit: number): readonly BlockRef[] {
    const rows = this.#rows.filter(({ value }) => overlaps(value.cidr, within));
    return rows
      .filter((row) => isFrom(row, from))
      .slice(0, limit)
      .map(toRef);
  }

  empty(within: Prefix, limit: number): readonly EmptyBlock[] {
    const found: EmptyBlock[] = [];
    for (const row of this.#inside(within)) {
      const since = row.value.emptySince;
      if (since !== undefined) found.push({ ...toRef(row), since });
    }
    return found.slice(0, limit);
  }

  spare(within: Prefix, from: Address | undefined, limit: number): readonly SpareBlock[] {
    const rows = this.#inside(within).filter((row) => row.value.free.length > 0 && isFrom(row, from));
    return rows.slice(0, limit).map((row) => {
      const next = nextOrdinalsOf(row.value);
      return next === undefined ? toRef(row) : { ...toRef(row), next };
    });
  }

  #inside(within: Prefix): readonly Stored<Block>[] {
    const end = this.#indexFor({ family: within.family, base: lastAddressOf(within).value + 1n, length: 0 });
    return this.#rows.slice(this.#indexFor(within), end).filter(({ value }) => containsPrefix(within, value.cidr));
  }

  /** Where a block is in the table, or would be. */
  #indexFor(cidr: Prefix): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#rows[middle];
      if (row !== undefined && comparePrefixes(row.value.cidr, cidr) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function toRef({ value }: Stored<Block>): BlockRef {
  return { cidr: value.cidr, node: value.node };
}

function isFrom({ value }: Stored<Block>, from: Address | undefined): boolean {
  return from === undefined || value.cidr.base >= from.value;
}
