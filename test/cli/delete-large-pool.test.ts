/** A pool with more blocks than are read or released at once. */

import { expect, test } from "bun:test";
import type { Block } from "../../src/api/ipam-block.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import { newBlock, take } from "../../src/ipam/block.ts";
import { parsePrefix, subnetAt } from "../../src/lib/ip/prefix.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { requestFor } from "../support/ipam/ipam.ts";

const world = shareEtcdCliWorld();

/** Blocks of one commit. */
const AT_ONCE = 16;

test("all empty blocks of a large pool are released when it is deleted, and all others counted", async () => {
  await world.createPool("large", "10.65.0.0/16", { blockSize: 32 });
  const { owner } = requestFor("c1", "n1");
  const blocks = Array.from({ length: 2_352 }, (_, i): Block => {
    const block = newBlock(subnetAt(parsePrefix("10.65.0.0/16"), 32, i), "n1", 1);
    return i >= 2_100 ? block : take(block, 0, owner, 1);
  });
  for (let i = 0; i < blocks.length; i += AT_ONCE)
    await world.datastore.commit(blocks.slice(i, i + AT_ONCE).map((block) => ({ op: "create-block", block })));
  expect(await world.done(["delete", "ippool", "large"])).toBe(
    "ippool/large deleted; 252 empty blocks released; " +
      "2100 blocks with 2100 addresses in use stay; once they are empty, create the pool again and delete it\n",
  );
  expect(Object.keys(await world.stored("/netplug/ipam/blocks/"))).toHaveLength(2_100);
});

test("empty blocks are released however many lie before them that cool down, with few lists of them all", async () => {
  await world.createPool("cooling", "10.66.0.0/16", { blockSize: 32 });
  const soon = Math.floor(Date.now() / 1_000) + 600;
  const blocks = Array.from({ length: 1_012 }, (_, i): Block =>
    newBlock(subnetAt(parsePrefix("10.66.0.0/16"), 32, i), "n1", i < 1_000 ? soon : 1),
  );
  for (let i = 0; i < blocks.length; i += AT_ONCE)
    await world.datastore.commit(blocks.slice(i, i + AT_ONCE).map((block) => ({ op: "create-block", block })));
  let lists = 0;
  const counting = (datastore: Datastore): Datastore =>
    inFrontOf(datastore, {
      read: async (queries, options) => {
        if (queries.some(({ type }) => type === "empty-blocks")) lists++;
        return await datastore.read(queries, options);
      },
    });
  const { stdout } = await world.ctl(["delete", "ippool", "cooling"], { instead: counting });
  expect(stdout).toStartWith("ippool/cooling deleted; 12 empty blocks released; 1000 blocks ");
  expect(lists).toBeLessThanOrEqual(3);
});
