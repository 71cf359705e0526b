import { describe, expect, test } from "bun:test";
import { changedAfter } from "../../../../test/support/ipam/faulty-datastore.ts";
import { createIpamWorld } from "../../../../test/support/ipam/ipam.ts";
import type { Datastore, Query } from "../../../datastore/datastore.ts";
import { type Prefix, parsePrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { newBlock } from "../../block.ts";
import { readAllBlocks, readBlockByBlock } from "./blocks.ts";
import { DamageList } from "./damage-list.ts";

async function claim(datastore: Datastore, cidrs: readonly Prefix[]): Promise<void> {
  await datastore.commit(cidrs.map((cidr) => ({ op: "create-block", block: newBlock(cidr, "n1", 1) })));
}

async function namesIn(datastore: Datastore): Promise<readonly string[]> {
  const all = await Array.fromAsync(readBlockByBlock(datastore));
  return all.map((found) => ("block" in found ? `${toPrefixText(found.block.cidr)} ${found.block.node}` : `${found.name}: ${found.fault}`));
}

test("any number of blocks is read", async () => {
  const { datastore } = await createIpamWorld();
  const cidrs = Array.from({ length: 1_100 }, (_, i): Prefix => ({ family: 4, base: 0xc0a80000n + BigInt(i), length: 32 }));
  await claim(datastore, [...cidrs, parsePrefix("fd00::/128")]);
  const wanted = [...cidrs, parsePrefix("fd00::/128")].map(toPrefixText);
  expect(await namesIn(datastore)).toEqual(wanted.map((cidr) => `${cidr} n1`));
  const { blocks, missing, unclaimed } = await readAllBlocks(datastore, new DamageList());
  expect([blocks.map(({ cidr }) => toPrefixText(cidr)), missing, unclaimed]).toEqual([wanted, [], []]);
});

describe("a block that changes between its claim's read and its own", () => {
  const cidrs = ["10.65.0.0/27", "10.65.0.32/27", "10.65.0.64/27"].map(parsePrefix);

  async function change(wanted: (cidr: Prefix) => Prefix | undefined, after: Query["type"] = "claimed-blocks"): Promise<readonly string[]> {
    const { datastore } = await createIpamWorld();
    await claim(datastore, cidrs);
    const [stored] = await datastore.read([{ type: "all-blocks" }]);
    return await namesIn(
      changedAfter(datastore, after, async () => {
        for (const previous of stored.slice(0, 2)) {
          const cidr = wanted(previous.value.cidr);
          const block = cidr === undefined ? undefined : newBlock(cidr, "n2", 1);
          if (cidr === previous.value.cidr && block !== undefined) await datastore.commit([{ op: "update-block", block, previous }]);
          else await datastore.commit([{ op: "delete-block", previous }]);
          if (block !== undefined) await datastore.commit([{ op: "create-block", block }]);
        }
      }),
    );
  }

  test("is told where it went", async () => {
    for (const after of ["block-names", "claimed-blocks"] as const)
      expect(await change((cidr) => cidr, after)).toEqual(["10.65.0.0/27 n2", "10.65.0.32/27 n2", "10.65.0.64/27 n1"]);
  });

  test("is left out when it is gone, without a word", async () => {
    for (const after of ["block-names", "claimed-blocks"] as const)
      expect(await change(() => undefined, after)).toEqual(["10.65.0.64/27 n1"]);
  });

  test("is not mistaken for a larger one that was claimed in its place", async () => {
    expect(await change(() => parsePrefix("10.65.0.0/26"))).toEqual(["10.65.0.64/27 n1"]);
  });
});
