/** How every datastore finds blocks without reading them all. */

import { expect, test } from "bun:test";
import type { Block } from "../../../src/api/ipam-block.ts";
import type { BlockPage, BlockPageStart, Damage, Datastore } from "../../../src/datastore/datastore.ts";
import { parseAddress } from "../../../src/lib/ip/address.ts";
import { parsePrefix, toPrefixText } from "../../../src/lib/ip/prefix.ts";
import { makeBlock } from "../blocks.ts";
import { ask, commit } from "../steps.ts";

export function describeSearches(datastore: Datastore): void {
  const textOf = (refs: readonly { readonly cidr: Block["cidr"] }[]): readonly string[] => refs.map(({ cidr }) => toPrefixText(cidr));

  /** Blocks of several lengths and both families; 10.65.1.0/27 is full, 2001:db8::/122 empty. */
  async function fill(): Promise<void> {
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, ordinal) => [ordinal, "n1"]));
    const blocks = [
      makeBlock("10.65.0.192/26", "n1", { 1: "n1" }),
      makeBlock("10.65.1.0/27", "n1", full),
      makeBlock("10.65.9.0/24", "n2", { 1: "n1" }),
      makeBlock("10.65.16.0/20", "n3"),
      makeBlock("9.255.255.255/32", "n3"),
      makeBlock("100.64.0.0/26", "n3"),
      makeBlock("2001:db8::/122", "n1"),
      makeBlock("2001:db8::40/122", "n1", { 0: "n1" }),
      makeBlock("100:6500::/116", "n4"),
    ];
    await commit(datastore, ...blocks.map((block) => ({ op: "create-block", block }) as const));
  }

  async function claimed(within: string, limit = 10, from?: string): Promise<readonly string[]> {
    const start = from === undefined ? {} : { from: parseAddress(from) };
    return textOf(await ask(datastore, { type: "claimed-blocks", within: parsePrefix(within), limit, ...start }));
  }

  test("claimed blocks come in address order, from an address on, up to a limit", async () => {
    await fill();
    const inPool = ["10.65.0.192/26", "10.65.1.0/27", "10.65.9.0/24", "10.65.16.0/20"];
    expect(await claimed("10.65.0.0/16")).toEqual(inPool);
    expect(await claimed("10.65.0.0/16", 2)).toEqual(inPool.slice(0, 2));
    expect(await claimed("10.65.0.0/16", 2, "10.65.0.193")).toEqual(inPool.slice(1, 3));
    expect(await claimed("10.65.0.0/16", 2, "10.65.1.0")).toEqual(inPool.slice(1, 3));
    expect(await claimed("10.65.0.0/16")).toEqual(inPool);
    expect(await claimed("10.65.0.0/16", 9, "10.66.0.0")).toEqual([]);
    expect(await claimed("0.0.0.0/0")).toEqual(["9.255.255.255/32", ...inPool, "100.64.0.0/26"]);
    expect(await claimed("::/0")).toEqual(["100:6500::/116", "2001:db8::/122", "2001:db8::40/122"]);
    expect(await claimed("255.255.255.255/32")).toEqual([]);
  });

  test("a claimed block that encloses the prefix, or is it, overlaps it", async () => {
    await fill();
    expect(await claimed("10.65.9.128/26")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.9.0/26")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.9.0/24")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.31.255/32")).toEqual(["10.65.16.0/20"]);
    expect(await claimed("10.65.32.0/32")).toEqual([]);
    expect(await claimed("2001:db8::7f/128")).toEqual(["2001:db8::40/122"]);
    expect(await claimed("10.65.9.128/26", 10, "10.65.9.128")).toEqual([]);
    expect(await claimed("10.65.9.128/26", 10, "10.65.9.0")).toEqual(["10.65.9.0/24"]);
    // somebody has claimed what overlaps
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.8.0/23", "n5") });
    expect(await claimed("10.65.9.128/26")).toEqual(["10.65.8.0/23", "10.65.9.0/24"]);
    expect(await claimed("10.65.9.128/26", 1)).toEqual(["10.65.8.0/23"]);
  });

  test("blocks are counted inside a prefix only", async () => {
    await fill();
    const prefixes = ["10.65.0.0/16", "10.65.9.0/24", "10.65.9.0/25", "10.65.16.0/20", "10.65.16.0/21", "::/0", "0.0.0.0/0"];
    const counts = await datastore.read(prefixes.map((text) => ({ type: "count-blocks", within: parsePrefix(text) }) as const));
    expect(counts).toEqual([4, 1, 0, 1, 0, 3, 6]);
  });

  test("spare and empty blocks are found among the others", async () => {
    await fill();
    const within = parsePrefix("10.65.0.0/16");
    const v6 = parsePrefix("2001:db8::/32");
    await commit(datastore, { op: "create-block", block: makeBlock("2001:db8::80/122", "n1") });
    const [spare, fromThere, one, empty, empty6, oneEmpty6] = await datastore.read([
      { type: "spare-blocks", within, limit: 10 },
      { type: "spare-blocks", within, from: parseAddress("10.65.1.0"), limit: 10 },
      { type: "spare-blocks", within, limit: 1 },
      { type: "empty-blocks", within, limit: 10 },
      { type: "empty-blocks", within: v6, limit: 10 },
      { type: "empty-blocks", within: v6, limit: 1 },
    ]);
    expect(textOf(spare)).toEqual(["10.65.0.192/26", "10.65.9.0/24", "10.65.16.0/20"]);
    expect(textOf(fromThere)).toEqual(["10.65.9.0/24", "10.65.16.0/20"]);
    expect(textOf(one)).toEqual(["10.65.0.192/26"]);
    expect(empty).toEqual([{ cidr: parsePrefix("10.65.16.0/20"), node: "n3", since: 1000 }]);
    expect(textOf(empty6)).toEqual(["2001:db8::/122", "2001:db8::80/122"]);
    expect(textOf(oneEmpty6)).toEqual(["2001:db8::/122"]);
  });

  test("the block of an address is found whatever its length", async () => {
    await fill();
    const addresses = [
      "10.65.0.191",
      "10.65.0.192",
      "10.65.1.31",
      "10.65.9.255",
      "10.65.31.255",
      "9.255.255.255",
      "2001:db8::7f",
      "100:6500::fff",
    ];
    const found = await datastore.read(addresses.map((text) => ({ type: "block-of-address", address: parseAddress(text) }) as const));
    expect(found.map((ref) => ref && toPrefixText(ref.cidr))).toEqual([
      undefined,
      "10.65.0.192/26",
      "10.65.1.0/27",
      "10.65.9.0/24",
      "10.65.16.0/20",
      "9.255.255.255/32",
      "2001:db8::40/122",
      "100:6500::/116",
    ]);
  });

  test("the names of blocks are those of all blocks, each its own", async () => {
    await fill();
    const [all, named] = await datastore.read([{ type: "all-blocks" }, { type: "block-names" }]);
    const toText = (ref: { readonly cidr: Block["cidr"]; readonly node: string } | undefined): string =>
      ref === undefined ? "none" : `${toPrefixText(ref.cidr)} of ${ref.node}`;
    expect(named.map(({ ref }) => toText(ref)).sort()).toEqual(all.map(({ value }) => toText(value)).sort());
    expect(all).toHaveLength(9);
    expect(new Set(named.map(({ name }) => name)).size).toBe(9);
  });

  test("the pages of blocks have all blocks, each once", async () => {
    await fill();
    const found: string[] = [];
    let from: BlockPageStart | undefined;
    do {
      const page: BlockPage = await ask(datastore, { type: "block-page", from });
      found.push(...textOf(page.blocks.map(({ value }) => value)));
      from = page.next;
    } while (from !== undefined);
    const all = await ask(datastore, { type: "all-blocks" });
    expect([found.length, found.sort()]).toEqual([9, [...textOf(all.map(({ value }) => value))].sort()]);
  });

  test("who asks for damage hears of none where there is none, and gets the same answers", async () => {
    await fill();
    const heard: Damage[] = [];
    const within = parsePrefix("0.0.0.0/0");
    const queries = [
      { type: "all-blocks" },
      { type: "claimed-blocks", within, limit: 100 },
      { type: "spare-blocks", within, limit: 100 },
      { type: "empty-blocks", within, limit: 100 },
      { type: "blocks-borrowed-by", node: "n1" },
      { type: "block", ref: { cidr: parsePrefix("10.65.1.0/27"), node: "n1" } },
      { type: "list", kind: "IPPool" },
    ] as const;
    const past = await datastore.read(queries, { onDamage: (damage) => heard.push(damage) });
    expect(past).toEqual(await datastore.read(queries));
    expect([past[0].length, heard]).toEqual([9, []]);
  });
}
