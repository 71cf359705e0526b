import { expect, test } from "bun:test";
import { makeBlock } from "../../test/datastore/blocks.ts";
import { makePool, poolRef } from "../../test/datastore/resources.ts";
import type { Revision, Write } from "./datastore.ts";
import { requireDistinctTargets } from "./write-targets.ts";

const PREVIOUS = { value: makeBlock("10.65.0.0/26", "n1"), revision: "7" as Revision };

test.each<[what: string, Write, Write]>([
  ["resource", { op: "create", resource: makePool("a") }, { op: "delete", ref: poolRef("a") }],
  ["block", { op: "create-block", block: makeBlock("10.65.0.0/26", "n2") }, { op: "delete-block", previous: PREVIOUS }],
])("one %s is changed once in a commit, besides conditions on it", (_what, one, other) => {
  expect(() => requireDistinctTargets([one, other])).toThrow("commit 2 writes: two of them change the same resource or block");
  const conditions: readonly Write[] = [
    { op: "expect", ref: poolRef("a"), revision: undefined },
    { op: "expect-block", previous: PREVIOUS },
  ];
  expect(() => requireDistinctTargets([...conditions, one])).not.toThrow();
});

test("a block does not become another one", () => {
  const moved = { op: "update-block", block: makeBlock("10.65.0.64/26", "n1"), previous: PREVIOUS } as const;
  expect(() => requireDistinctTargets([moved])).toThrow('update block "10.65.0.0/26": got "10.65.0.64/26" as its new state');
});
