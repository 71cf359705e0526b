import { expect, test } from "bun:test";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import { IP_POOLS } from "./cluster.ts";
import { answerOf, collectWanted, know, toFacts } from "./facts.ts";

test("within a decision a query without an answer is wanted, with those that are likely to come next", () => {
  const facts = toFacts([], []);
  expect(collectWanted(() => know(facts, IP_POOLS, () => [CLUSTER_INFORMATION]))).toEqual({
    wanted: [IP_POOLS, CLUSTER_INFORMATION],
  });
});

test("outside of one it is a defect of the program, which names the query", () => {
  const facts = toFacts([CLUSTER_INFORMATION], [undefined]);
  expect(answerOf(facts, CLUSTER_INFORMATION)).toBeUndefined();
  expect(() => answerOf(facts, IP_POOLS)).toThrow(
    expect.objectContaining({ kind: "internal", message: 'look up an answer: nobody asked ["list","IPPool",null,null]' }),
  );
});
