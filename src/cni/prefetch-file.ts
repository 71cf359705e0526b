/**
 * The file `next-add.<network>.json`: the queries that the network's next ADD should send with its first ones, see
 * `ipam/search/prefetch.ts`. Each ADD replaces the file, so a wrong guess costs only one ADD.
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
export interface PrefetchFile {
  /**
   * The file's queries, and all that this process loaded from it before: queries that are always sent together have answers of the same age.
   */
  load(): readonly Query[];
  /** Replaces the file; no queries: removes it. A failure is ignored: the next ADD only takes longer. */
  save(queries: readonly Query[]): void;
}

/** Reads and writes nothing yet. */
export function openPrefetchFile(files: Files, path: string): PrefetchFile {
  /** The file's content; "": no file; undefined: not read yet. */
  let content: string | undefined;
  let loaded: readonly Query[] = [];
  return {
    load() {
      content = orNothing(() => files.readText(path)) ?? "";
      loaded = withoutRepeats([...loaded, ...parseFileText(content)]);
      return loaded;
    },
    save(queries) {
      const text = toFileText(queries);
      if (text === content) return;
      orNothing(() => (text === "" ? files.remove(path) : files.writeAtomically(path, text, FILE_MODE)));
      content = text;
    },
  };
}

/** Keeps only the queries about the first pools, which come before a block is claimed. When a pool is full, more rounds follow anyway. */
function toFileText(queries: readonly Query[]): string {
  const entries = queries.flatMap((query): object[] => {
    if (query.type === "claimed-blocks" && query.from === undefined) return [{ within: toPrefixText(query.within), limit: query.limit }];
    return query.type === "get" && query.ref.kind === "IPPool" ? [{ pool: query.ref.name }] : [];
  });
  return entries.length === 0 ? "" : JSON.stringify(entries.slice(0, MAX_QUERIES));
}

/** @returns none for anything that we do not write */
function parseFileText(text: string): readonly Query[] {
  let entries: unknown;
  try {
    entries = text === "" || text.length > MAX_CHARACTERS ? [] : JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(entries) || entries.length > MAX_QUERIES) return [];
  return entries.flatMap((entry: unknown): readonly Query[] => {
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
