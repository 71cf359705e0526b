/** What a decision knows of the datastore: answers to queries. Pure code asks for more by naming the queries. */

import type { Answer, Query } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { toPrefixText } from "../lib/ip/prefix.ts";

/** Answers by query. */
export interface Facts {
  /** @returns undefined when the answer is not known: `{ answer: undefined }` says that the thing does not exist */
  find<Q extends Query>(query: Q): { readonly answer: Answer<Q> } | undefined;
}

/** Facts that were read: `answers` belong to `queries` by position. */
export function toFacts(queries: readonly Query[], answers: readonly unknown[], earlier?: Facts): Facts {
  const known = new Map<string, unknown>();
  for (const [i, query] of queries.entries()) known.set(keyOf(query), answers[i]);
  return {
    find<Q extends Query>(query: Q) {
      const key = keyOf(query);
      // The answers come in the order of the queries: `Datastore.read` promises it.
      if (known.has(key)) return { answer: known.get(key) as Answer<Q> };
      return earlier?.find(query);
    },
  };
}

/** The facts as if only these queries had been answered. */
export function onlyAbout(queries: readonly Query[], facts: Facts): Facts {
  const keys = new Set(queries.map(keyOf));
  return { find: (query) => (keys.has(keyOf(query)) ? facts.find(query) : undefined) };
}

/**
 * What {@link know} throws inside a decision, here or in `endpoint/`, that needs more answers: `transact()` catches it, reads them, and
 * decides again. Outside of a decision nobody catches it: use {@link answerOf} there.
 */
export class FactsWanted extends Error {
  override readonly name = "FactsWanted";
  readonly queries: readonly Query[];

  constructor(queries: readonly Query[]) {
    super("a decision needs more facts");
    this.queries = queries;
  }
}

/**
 * The answer to a query.
 *
 * @param prefetch further queries that the decision is likely to need next: read in the same round trip
 * @throws {FactsWanted} when it is not known
 */
export function know<Q extends Query>(facts: Facts, query: Q, prefetch: () => readonly Query[] = () => []): Answer<Q> {
  const found = facts.find(query);
  if (found !== undefined) return found.answer;
  throw new FactsWanted([query, ...prefetch().filter((other) => facts.find(other) === undefined)]);
}

/**
 * The answer to a query that was read for certain, for work that is no decision.
 *
 * @throws {NetplugError} internal when it was not: a list of what is read lacks it
 */
export function answerOf<Q extends Query>(facts: Facts, query: Q): Answer<Q> {
  const found = facts.find(query);
  if (found === undefined) throw new NetplugError("internal", `look up an answer: nobody asked ${keyOf(query)}`);
  return found.answer;
}

/** Runs a decision, and gives what it decided or the queries that it wants answered first. */
export function collectWanted<T>(decide: () => T): { readonly decided: T } | { readonly wanted: readonly Query[] } {
  try {
    return { decided: decide() };
  } catch (thrown) {
    if (thrown instanceof FactsWanted) return { wanted: withoutRepeats(thrown.queries) };
    throw thrown;
  }
}

/** Each query once, in the order of its first appearance. */
export function withoutRepeats<Q extends Query>(queries: readonly Q[]): readonly Q[] {
  return [...new Map(queries.map((query) => [keyOf(query), query])).values()];
}

/** A text that is equal for equal queries. */
function keyOf(query: Query): string {
  return JSON.stringify([query.type, ...partsOf(query)]);
}

/** What tells queries of one type apart. */
function partsOf(query: Query): readonly unknown[] {
  switch (query.type) {
    case "get":
      return [query.ref.kind, query.ref.namespace, query.ref.name];
    case "list":
      return [query.kind, query.namespace, query.labelSelector];
    case "block":
      return [toPrefixText(query.ref.cidr), query.ref.node];
    case "blocks-of-node":
    case "blocks-borrowed-by":
      return [query.node];
    case "block-of-address":
      return [toAddressText(query.address)];
    case "count-blocks":
      return [toPrefixText(query.within)];
    case "empty-blocks":
      return [toPrefixText(query.within), query.limit];
    case "claimed-blocks":
    case "spare-blocks":
      return [toPrefixText(query.within), query.from && toAddressText(query.from), query.limit];
    case "block-page":
      return [query.from];
    case "all-blocks":
    case "block-names":
      return [];
  }
}
