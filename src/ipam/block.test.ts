import { expect, test } from "bun:test";
import { makeBlock } from "../../test/datastore/blocks.ts";
import { decodeBlock, encodeBlock } from "../api/ipam-block-codec.ts";
import type { AllocationOwner } from "../api/ipam-block.ts";
import { isEmpty, nextOrdinal, release, take } from "./block.ts";

const OWNER: AllocationOwner = { network: "net", containerID: "c", ifName: "eth0", node: "n1" };

test("an address that is given out again, between others, makes a record that can be read", () => {
  const { block } = release(makeBlock("10.65.0.0/29", "n1", { 0: "n1", 2: "n1", 3: "n1" }), ({ ordinal }) => ordinal < 3, {
    now: 2000,
    cooldown: 60,
  });
  const taken = take(block, 2, OWNER, 3000);
  expect(taken.allocations.map(({ ordinal }) => ordinal)).toEqual([2, 3]);
  expect(decodeBlock(encodeBlock(taken), taken)).toEqual(taken);
});

test("what a node released while its clock was a year ahead cools down from the block's next write on", () => {
  const now = 1_800_000_000;
  const cooldown = 60;
  const inUse = makeBlock("10.65.0.0/30", "n1", { 0: "n1", 1: "n1", 2: "n1", 3: "n1" });
  const { block: ahead } = release(inUse, ({ ordinal }) => ordinal > 1, { now: now + 365 * 24 * 3_600, cooldown });
  const free = (block: typeof ahead, at: number): number | undefined => nextOrdinal(block, { now: at, cooldown }, () => false);
  expect(free(ahead, now)).toBeUndefined();

  const { block: one } = release(ahead, ({ ordinal }) => ordinal === 1, { now, cooldown });
  expect([free(one, now + cooldown), free(one, now + cooldown + 1)]).toEqual([undefined, 2]);
  const { block: none } = release(one, () => true, { now: now + 1, cooldown });
  expect([0, 1, 2].map((later) => isEmpty(none, { now: now + cooldown + later, cooldown }))).toEqual([false, false, true]);

  const taken = take(ahead, 3, OWNER, now);
  expect([free(taken, now + cooldown), free(taken, now + cooldown + 1)]).toEqual([undefined, 2]);
});
