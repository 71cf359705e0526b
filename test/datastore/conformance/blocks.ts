/** What every datastore does with address blocks: one claim per CIDR, and indexes that follow. */

import { expect, test } from "bun:test";
import type { Block } from "../../../src/api/ipam-block.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { parseAddress } from "../../../src/lib/ip/address.ts";
import { parsePrefix } from "../../../src/lib/ip/prefix.ts";
import { makeBlock } from "../blocks.ts";
import { ask, commit, readBlock } from "../steps.ts";

export function describeBlocks(datastore: Datastore): void {
  test("a block is read back as it was written, by itself and among its node's", async () => {
    const block = { ...makeBlock("10.65.0.0/26", "n1", { 0: "n1", 5: "n2" }), releasedAt: new Map([[7, 1234]]) };
    const revision = await commit(datastore, { op: "create-block", block });
    expect(await readBlock(datastore, block)).toEqual({ value: block, revision });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n1" })).toEqual([{ value: block, revision }]);
    expect(await ask(datastore, { type: "blocks-of-node", node: "n" })).toEqual([]);
    expect(await ask(datastore, { type: "block", ref: { cidr: block.cidr, node: "n2" } })).toBeUndefined();
  });

  test("a CIDR is claimed by one node at a time", async () => {
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.0.0/26", "n1") });
    const { cidr } = makeBlock("10.65.0.0/26", "n2");
    const result = await datastore.commit([{ op: "create-block", block: makeBlock("10.65.0.0/26", "n2") }], {
      readOnConflict: [{ type: "claimed-blocks", within: cidr, limit: 1 }],
    });
    expect(result).toEqual({ committed: false, current: [[{ cidr, node: "n1" }]] });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n2" })).toEqual([]);
  });

  test("of many claims for one CIDR at once exactly one succeeds", async () => {
    const nodes = Array.from({ length: 16 }, (_, index) => `n${index}`);
    const results = await Promise.all(
      nodes.map((node) => datastore.commit([{ op: "create-block", block: makeBlock("10.65.0.0/26", node) }])),
    );
    expect(results.filter(({ committed }) => committed)).toHaveLength(1);
    expect(await ask(datastore, { type: "all-blocks" })).toHaveLength(1);
    expect(await ask(datastore, { type: "count-blocks", within: parsePrefix("10.65.0.0/16") })).toBe(1);
  });

  test("a block that was changed meanwhile is not changed again", async () => {
    const block = makeBlock("10.65.0.0/26", "n1");
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    await commit(datastore, { op: "update-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }), previous });
    for (const write of [
      { op: "update-block", block, previous },
      { op: "update-block", block: makeBlock("10.65.0.0/26", "n2"), previous },
      { op: "delete-block", previous },
    ] as const) {
      expect(await datastore.commit([write])).toEqual({ committed: false, current: [] });
    }
  });

  test("a condition on a block holds until it changes, where a commit is applied at once", async () => {
    const block = makeBlock("10.65.0.0/26", "n1");
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    const expectBlock = () => datastore.commit([{ op: "expect-block", previous }]);
    expect(await expectBlock()).toMatchObject({ committed: true });
    expect(await readBlock(datastore, block)).toEqual(previous);
    await commit(datastore, { op: "update-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }), previous });
    expect(await expectBlock()).toMatchObject({ committed: !datastore.traits.commitsAtOnce });
    await commit(datastore, { op: "delete-block", previous: await readBlock(datastore, block) });
    expect(await expectBlock()).toMatchObject({ committed: !datastore.traits.commitsAtOnce });
  });

  test("a block is read as it is by now, also when those who borrow of it were just asked for", async () => {
    const [block, changed] = [makeBlock("10.65.0.0/30", "n1", { 0: "n2" }), makeBlock("10.65.0.0/30", "n1", { 0: "n2", 1: "n2" })];
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    expect(await ask(datastore, { type: "blocks-borrowed-by", node: "n2" })).toEqual([{ cidr: block.cidr, node: "n1" }]);
    await commit(datastore, { op: "update-block", block: changed, previous });
    expect((await readBlock(datastore, block)).value).toEqual(changed);
  });

  test("the indexes follow a block through its life", async () => {
    const within = parsePrefix("10.65.0.0/16");
    const cidr = parsePrefix("10.65.0.0/30");
    const look = async () => {
      const [claimed, spare, empty, borrowed, count] = await datastore.read([
        { type: "claimed-blocks", within, limit: 10 },
        { type: "spare-blocks", within, limit: 10 },
        { type: "empty-blocks", within, limit: 10 },
        { type: "blocks-borrowed-by", node: "n2" },
        { type: "count-blocks", within },
      ]);
      return { claimed, spare, empty, borrowed, count };
    };
    const become = async (block: Block, owner = "n1") => {
      const previous = await readBlock(datastore, { ...block, node: owner });
      await commit(datastore, { op: "update-block", block, previous });
    };
    const [ofN1, ofN3] = [
      { cidr, node: "n1" },
      { cidr, node: "n3" },
    ];
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.0.0/30", "n1") });
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [{ ...ofN1, since: 1000 }], borrowed: [], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 0: "n1", 1: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [], borrowed: [ofN1], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 0: "n1", 1: "n1", 2: "n2", 3: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [], empty: [], borrowed: [ofN1], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 3: "n1" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [], borrowed: [], count: 1 });
    await become({ ...makeBlock("10.65.0.0/30", "n1"), emptySince: 2000 });
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [{ ...ofN1, since: 2000 }], borrowed: [], count: 1 });
    await become({ ...makeBlock("10.65.0.0/30", "n1"), emptySince: 3000 });
    expect((await look()).empty).toEqual([{ ...ofN1, since: 3000 }]);
    await become(makeBlock("10.65.0.0/30", "n3", { 1: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN3], spare: [ofN3], empty: [], borrowed: [ofN3], count: 1 });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n1" })).toEqual([]);
    expect(await ask(datastore, { type: "blocks-of-node", node: "n3" })).toHaveLength(1);
    await commit(datastore, { op: "delete-block", previous: await readBlock(datastore, ofN3 as Block) });
    expect(await look()).toEqual({ claimed: [], spare: [], empty: [], borrowed: [], count: 0 });
    expect(await ask(datastore, { type: "all-blocks" })).toEqual([]);
  });

  test.each(["blocks", "node.example.com", "n_1-", "ä/b", "..", "a b", "n".repeat(63), "n".repeat(64)])(
    "a node may be called %p",
    async (node) => {
      const block = makeBlock("10.65.0.0/30", "other", { 1: node });
      const own = makeBlock("fd00::/126", node, { 0: node });
      await commit(datastore, { op: "create-block", block }, { op: "create-block", block: own });
      expect((await ask(datastore, { type: "blocks-of-node", node })).map(({ value }) => value)).toEqual([own]);
      expect(await ask(datastore, { type: "blocks-borrowed-by", node })).toEqual([{ cidr: block.cidr, node: "other" }]);
      expect(await ask(datastore, { type: "block-of-address", address: parseAddress("fd00::3") })).toEqual({ cidr: own.cidr, node });
    },
  );
}
