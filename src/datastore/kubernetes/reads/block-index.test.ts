import { expect, test } from "bun:test";
import { makeBlock } from "../../../../test/datastore/blocks.ts";
import { systemClock } from "../../../lib/clock.ts";
import { parseAddress } from "../../../lib/ip/address.ts";
import { parsePrefix } from "../../../lib/ip/prefix.ts";
import type { Query } from "../../datastore.ts";
import { toBlockObject } from "../objects/block-object.ts";
import { LostClaims } from "../state/lost-claims.ts";
import { PagedLists } from "../state/paged-lists.ts";
import type { Batch, ListRequest } from "./batch.ts";
import { type IndexQuery, IndexReads } from "./block-index.ts";

/** The selectors by which a round of queries about empty blocks lists. */
async function selectorsFor(...prefixes: readonly string[]): Promise<readonly string[]> {
  const selectors = new Set<string>();
  const list = async (_type: unknown, { labelSelector = "" }: ListRequest): Promise<readonly []> => {
    selectors.add(labelSelector);
    return [];
  };
  const batch = { list } as unknown as Batch; // nothing else of it is used
  const queries = prefixes.map((text): IndexQuery & Query => ({ type: "empty-blocks", within: parsePrefix(text), limit: 1 }));
  const reads = new IndexReads(
    { batch, pagedLists: new PagedLists(systemClock), lostClaims: new LostClaims(systemClock), options: { mayLag: true } },
    queries,
  );
  await Promise.all(queries.map((query) => reads.answer(query)));
  return [...selectors];
}

test("queries about few cells share one list, which selects these cells", async () => {
  expect(await selectorsFor("10.65.0.0/24", "10.65.16.0/20", "10.65.0.0/19")).toEqual([
    "netplug.io/cell in (010-065-000-000,010-065-016-000)",
  ]);
});

test("queries about many cells list all empty blocks", async () => {
  expect(await selectorsFor("10.0.0.0/8", "fd65::/64")).toEqual(["netplug.io/empty"]);
});

test("however many queries there are, no line of a request has more than 8 KiB", async () => {
  for (let count = 1; count <= 9; count++) {
    const selectors = await selectorsFor(...Array.from({ length: count }, (_, i) => `fd65:${i}::/110`));
    for (const selector of selectors) expect(encodeURIComponent(selector).length).toBeLessThan(8_000);
  }
});

test("a slot whose claim was lost is taken as long as its block exists, although no list shows it", async () => {
  const lostClaims = new LostClaims(systemClock);
  for (const text of ["10.65.0.0/26", "10.65.0.64/26", "10.65.0.128/26", "10.66.0.0/26"]) lostClaims.add(parsePrefix(text));
  const asked: string[] = [];
  const batch = {
    async list() {
      return [toBlockObject(makeBlock("10.65.0.0/26", "n2"))];
    },
    async get(_type: unknown, { name }: { readonly name: string }) {
      asked.push(name);
      return name === "010-065-000-064-26" ? { metadata: { name } } : undefined;
    },
  } as unknown as Batch; // nothing else of it is used
  const query = { type: "claimed-blocks", within: parsePrefix("10.65.0.0/16"), limit: 9 } as const;
  const reads = new IndexReads({ batch, pagedLists: new PagedLists(systemClock), lostClaims, options: { mayLag: true } }, [query]);
  expect(await reads.answer(query)).toEqual([
    { cidr: parsePrefix("10.65.0.0/26"), node: "n2" },
    { cidr: parsePrefix("10.65.0.64/26"), node: "" },
  ]);
  expect(asked).toEqual(["010-065-000-064-26", "010-065-000-128-26"]);
  const one = { type: "claimed-blocks", within: parsePrefix("10.65.0.64/26"), limit: 9 } as const;
  expect(await reads.answer(one)).toContainEqual({ cidr: parsePrefix("10.65.0.64/26"), node: "" });
});

test.each([
  ["about an address gets no answer that is a moment old", { type: "block-of-address", address: parseAddress("10.65.0.1") }, false],
  ["about empty blocks may get one", { type: "empty-blocks", within: parsePrefix("10.65.0.0/24"), limit: 1 }, true],
] as const)("a query %s", async (_what, query, isAllowed) => {
  const asked: unknown[] = [];
  const list = async (_type: unknown, { mayLag }: ListRequest): Promise<readonly []> => {
    asked.push(mayLag);
    return [];
  };
  const batch = { list } as unknown as Batch; // nothing else of it is used
  for (const mayLag of [true, false]) {
    const round = { batch, pagedLists: new PagedLists<never>(systemClock), lostClaims: new LostClaims(systemClock), options: { mayLag } };
    await new IndexReads(round, [query]).answer(query);
  }
  expect(asked).toEqual([isAllowed, false]);
});
