/**
 * The file `next-add.<network>.json`, in which an ADD leaves the queries that it expects of the network's next ADD, see
 * `ipam/search/read-ahead.ts`. Each ADD replaces the file, so a wrong expectation costs only one ADD.
 */

import type { Query } from "../datastore/datastore.ts";
import { withoutRepeats } from "../ipam/facts.ts";
import { isName } from "../lib/characters.ts";
import { orNothing } from "../lib/errors.ts";
import { toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { isJsonObject, type JsonObject } from "../lib/json.ts";
import type { Files } from "../lib/ports.ts";

const FILE_MODE = 0o600;
/** A file that has more, or names more, is not ours. */
const MAX_CHARACTERS = 32_768;
const MAX_QUERIES = 64;
const MAX_CLAIMS = 4_096;
/** Besides letters and digits, and the longest name, of a pool (RFC 1123): a datastore may refuse a query for any other name. */
const NAME_CHARACTERS = "-.";
const NAME_LENGTH = 253;

/** One process's view of that file. */
export interface NextAdd {
  /**
   * The file's queries, and all that this process read from it before: queries that are always asked together have answers of one age.
   */
  read(): readonly Query[];
  /** Replaces the file; no queries: removes it. A failure is ignored: the next ADD only takes longer. */
  leave(queries: readonly Query[]): void;
}

/** Reads and writes nothing yet. */
export function openNextAdd(files: Files, path: string): NextAdd {
  /** The file's content; "": no file; undefined: not read yet. */
  let there: string | undefined;
  let seen: readonly Query[] = [];
  return {
    read() {
      there = orNothing(() => files.readText(path)) ?? "";
      seen = withoutRepeats([...seen, ...parseExpected(there)]);
      return seen;
    },
    leave(queries) {
      const text = toFileText(queries);
      if (text === there) return;
      orNothing(() => (text === "" ? files.remove(path) : files.writeAtomically(path, text, FILE_MODE)));
      there = text;
    },
  };
}

/** Keeps the queries about the first pools that come before claiming a block. When a pool is full, more rounds follow in any case. */
function toFileText(queries: readonly Query[]): string {
  const expected = queries.flatMap((query): object[] => {
    if (query.type === "claimed-blocks" && query.from === undefined) return [{ within: toPrefixText(query.within), limit: query.limit }];
    return query.type === "get" && query.ref.kind === "IPPool" ? [{ pool: query.ref.name }] : [];
  });
  return expected.length === 0 ? "" : JSON.stringify(expected.slice(0, MAX_QUERIES));
}

/** @returns none for anything that we do not write */
function parseExpected(text: string): readonly Query[] {
  let expected: unknown;
  try {
    expected = text === "" || text.length > MAX_CHARACTERS ? [] : JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(expected) || expected.length > MAX_QUERIES) return [];
  return expected.flatMap((entry: unknown): readonly Query[] => {
    const query = isJsonObject(entry) ? toQuery(entry) : undefined;
    return query === undefined ? [] : [query];
  });
}

function toQuery({ pool, within, limit }: JsonObject): Query | undefined {
  if (typeof pool === "string" && pool.length <= NAME_LENGTH && isName(pool, NAME_CHARACTERS)) {
    return { type: "get", ref: { kind: "IPPool", name: pool } };
  }
  const prefix = typeof within === "string" ? tryParsePrefix(within) : undefined;
  if (prefix === undefined || typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > MAX_CLAIMS) return undefined;
  return { type: "claimed-blocks", within: prefix, limit };
}
