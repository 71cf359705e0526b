/**
 * Finds blocks by their metadata. A query about a small part of the address space lists the blocks that are labelled with its cells; a query
 * about more than {@link MAX_CELLS} cells lists all blocks that have the query's label, such as spare.
 */

import type { SpareBlock } from "../../../api/ipam-block-spare.ts";
import type { BlockRef } from "../../../api/ipam-block.ts";
import {
  comparePrefixes,
  containsAddress,
  containsPrefix,
  overlaps,
  type Prefix,
  toHostPrefix,
  toPrefixText,
} from "../../../lib/ip/prefix.ts";
import type { EmptyBlock, Query, QueryOf } from "../../datastore.ts";
import { cellAround, cellsOf, toBlockName } from "../objects/block-name.ts";
import { BLOCK_LABELS, type BlockEntry, toBlockEntry, toStoredBlock } from "../objects/block-object.ts";
import { type BlockObject, IPAM_BLOCKS } from "../objects/resource-types.ts";
import type { Round } from "./round.ts";

/** Queries that are answered by labels and annotations; records are read only of blocks that we came across a moment ago and no list shows. */
export type IndexQuery = QueryOf<"block-of-address" | "count-blocks" | "claimed-blocks" | "empty-blocks" | "spare-blocks">;

type Entries = readonly BlockEntry[];

/** Where one query is answered from its cells: as many as 64 of the largest blocks lie in. */
const MAX_CELLS = 64;

/** Cells that one request names for all queries together: at 40 characters each, its line still passes servers that accept 8 KiB. */
const MAX_CELLS_TOGETHER = 128;

/** Answers the index queries of one round. */
export class IndexReads {
  readonly #round: Pick<Round, "batch" | "pagedLists" | "lostClaims">;
  /** The cells of all queries about few of them: one request asks for all. */
  readonly #cells: readonly string[];
  /**
   * Whether the answers may be a moment old: if somebody has claimed the block since then, our claim fails. Not for the block of an address:
   * the caller reads that block next, and with an old answer would look in the wrong place again and again.
   */
  readonly #mayLag: boolean;

  constructor(round: Pick<Round, "batch" | "pagedLists" | "lostClaims" | "options">, queries: readonly Query[]) {
    this.#round = round;
    this.#mayLag = round.options.mayLag === true && queries.every(({ type }) => type !== "block-of-address");
    this.#cells = [...new Set(queries.filter(isIndexQuery).flatMap((query) => cellsFor(query) ?? []))].sort();
  }

  async answer(query: IndexQuery): Promise<unknown> {
    switch (query.type) {
      case "block-of-address":
        return (await this.#list(query))
          .filter(({ cidr }) => containsAddress(cidr, query.address))
          .map(toRef)
          .at(-1);
      case "count-blocks":
        return inside(query.within, await this.#list(query)).length;
      case "claimed-blocks":
        return (await this.#page(query, (all) => all.filter(({ cidr }) => overlaps(cidr, query.within)))).map(toRef);
      case "empty-blocks":
        return inside(query.within, await this.#list(query))
          .flatMap(toEmpty)
          .slice(0, query.limit);
      case "spare-blocks":
        return (await this.#page(query, (all) => inside(query.within, all).filter(({ isSpare }) => isSpare))).map(toSpare);
    }
  }

  /** The pages of one list show one state of it, and cost one request. */
  async #page(query: QueryOf<"claimed-blocks" | "spare-blocks">, pick: (all: Entries) => Entries): Promise<Entries> {
    const { type, within, from, limit } = query;
    const list = `${type} ${toPrefixText(within)}`;
    const found = this.#round.pagedLists.continue(list, from?.value) ?? pick(await this.#list(query));
    const rest = from === undefined ? found : found.filter(({ cidr }) => cidr.base >= from.value);
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    if (last !== undefined && rest.length > limit) this.#round.pagedLists.keep(list, last.cidr.base + 1n, rest);
    return page;
  }

  /** In address order. */
  async #list(query: IndexQuery): Promise<Entries> {
    const request = { labelSelector: this.#selectorFor(query), isMetadataOnly: true, mayLag: this.#mayLag };
    const objects = await this.#round.batch.list(IPAM_BLOCKS, request);
    const entries: BlockEntry[] = [];
    for (const { metadata } of objects) {
      const entry = toBlockEntry(metadata);
      if (entry !== undefined) entries.push(entry);
    }
    entries.push(...(await this.#unlisted(query, entries)));
    return entries.sort((a, b) => comparePrefixes(a.cidr, b.cidr));
  }

  /** Blocks that we came across although no list shows them: those that still exist. */
  async #unlisted(query: IndexQuery, listed: Entries): Promise<Entries> {
    const { batch, lostClaims } = this.#round;
    const met = lostClaims.findIn("within" in query ? query.within : toHostPrefix(query.address));
    if (met.length === 0) return [];
    const names = new Set(listed.map(({ cidr }) => toPrefixText(cidr)));
    const missing = met.filter((cidr) => !names.has(toPrefixText(cidr)));
    const objects = await Promise.all(missing.map((cidr) => batch.get(IPAM_BLOCKS, { name: toBlockName(cidr) })));
    // Whatever it is, the slot is taken.
    return missing.flatMap((cidr, i): Entries => {
      const object = objects[i];
      return object === undefined ? [] : [{ cidr, node: nodeOf(object), isSpare: false, emptySince: undefined }];
    });
  }

  #selectorFor(query: IndexQuery): string {
    const cells = cellsFor(query);
    if (cells !== undefined && this.#cells.length <= MAX_CELLS_TOGETHER) return `${BLOCK_LABELS.cell} in (${this.#cells.join(",")})`;
    if (query.type === "empty-blocks") return BLOCK_LABELS.empty;
    return query.type === "spare-blocks" ? BLOCK_LABELS.spare : BLOCK_LABELS.cell;
  }
}

/** Whether a query is answered from lists of the blocks' metadata. */
export function isIndexQuery(query: Query): query is IndexQuery {
  return query.type === "block-of-address" || "within" in query;
}

/** @returns undefined when they are many */
function cellsFor(query: IndexQuery): readonly string[] | undefined {
  return query.type === "block-of-address" ? [cellAround(query.address)] : cellsOf(query.within, MAX_CELLS);
}

function inside(within: Prefix, entries: Entries): Entries {
  return entries.filter(({ cidr }) => containsPrefix(within, cidr));
}

/** The node that owns the block; none when it cannot be read: otherwise that node would read it as its own, and fail. */
function nodeOf(object: BlockObject): string {
  try {
    return toStoredBlock(object).value.node;
  } catch {
    return "";
  }
}

function toRef({ cidr, node }: BlockEntry): BlockRef {
  return { cidr, node };
}

function toEmpty({ cidr, node, emptySince }: BlockEntry): readonly EmptyBlock[] {
  return emptySince === undefined ? [] : [{ cidr, node, since: emptySince }];
}

function toSpare({ cidr, node, next }: BlockEntry): SpareBlock {
  return next === undefined ? { cidr, node } : { cidr, node, next };
}
