/**
 * What an ADD leaves on the node for the next one of its network, `next-add.<network>.json`: what it expects that one to ask for, see
 * `ipam/read-ahead.ts`. For one ADD only, so that an expectation that was wrong costs once.
 */

import type { Query } from "../datastore/datastore.ts";
import { withoutRepeats } from "../ipam/facts.ts";
import { isName } from "../lib/characters.ts";
import { NetplugError } from "../lib/errors.ts";
import { toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { isJsonObject } from "../lib/json.ts";
import type { Files } from "../lib/ports.ts";

const FILE_MODE = 0o600;
/** A file that has more, or names more, is not ours. */
const MOST_CHARACTERS = 32_768;
const MOST_QUERIES = 64;
const MOST_CLAIMS = 4_096;
/** What else a pool's name can have, and how long it can be (RFC 1123): a datastore may refuse to be asked for another. */
const NAME_CHARACTERS = "-.";
const NAME_LENGTH = 253;

/** One process's view of it. */
export interface NextAdd {
  /** What is there now, and all that this process has read before: of that it may have answers, which grow old together. */
  read(): readonly Query[];
  /** Replaces it; none: removes it. Nothing happens where that fails: it is a convenience. */
  leave(queries: readonly Query[]): void;
}

/** Reads and writes nothing yet. */
export function openNextAdd(files: Files, path: string): NextAdd {
  /** What is in the file; "" for none; undefined: it was not looked at. */
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

function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    if (thrown instanceof NetplugError) return undefined;
    throw thrown;
  }
}

/** Only what is asked for before a block is claimed, of the first pools. What follows where a pool is full takes further rounds anyway. */
function toFileText(queries: readonly Query[]): string {
  const expected = queries.flatMap((query): object[] => {
    if (query.type === "claimed-blocks" && query.from === undefined) return [{ within: toPrefixText(query.within), limit: query.limit }];
    return query.type === "get" && query.ref.kind === "IPPool" ? [{ pool: query.ref.name }] : [];
  });
  return expected.length === 0 ? "" : JSON.stringify(expected.slice(0, MOST_QUERIES));
}

/** @returns none for anything that we do not write */
function parseExpected(text: string): readonly Query[] {
  let expected: unknown;
  try {
    expected = text === "" || text.length > MOST_CHARACTERS ? [] : JSON.parse(text);
  } catch {
    return [];
  }
  if (!Array.isArray(expected) || expected.length > MOST_QUERIES) return [];
  return expected.flatMap((entry: unknown): readonly Query[] => {
    const query = isJsonObject(entry) ? toQuery(entry) : undefined;
    return query === undefined ? [] : [query];
  });
}

function toQuery({ pool, within, limit }: Readonly<Record<string, unknown>>): Query | undefined {
  if (typeof pool === "string" && pool.length <= NAME_LENGTH && isName(pool, NAME_CHARACTERS)) {
    return { type: "get", ref: { kind: "IPPool", name: pool } };
  }
  const prefix = typeof within === "string" ? tryParsePrefix(within) : undefined;
  if (prefix === undefined || typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > MOST_CLAIMS) return undefined;
  return { type: "claimed-blocks", within: prefix, limit };
}
