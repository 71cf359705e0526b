import { expect, test } from "bun:test";
import { makeBlock } from "../../test/datastore/blocks.ts";
import { decodeBlock, encodeBlock } from "../api/ipam-block-codec.ts";
import type { AllocationOwner } from "../api/ipam-block.ts";
import { release, take } from "./block.ts";

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
