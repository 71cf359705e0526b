import { expect, test } from "bun:test";
import { systemClock } from "../../../lib/clock.ts";
import { parsePrefix } from "../../../lib/ip/prefix.ts";
import type { Query } from "../../datastore.ts";
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
    { batch, pagedLists: new PagedLists(systemClock), lostClaims: new LostClaims(systemClock), mayLag: true },
    queries,
  );
  await Promise.all(queries.map((query) => reads.answer(query)));
  return [...selectors];
}

test("queries about few cells share one list by these", async () => {
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
