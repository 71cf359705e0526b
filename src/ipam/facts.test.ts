import { expect, test } from "bun:test";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { BlockPageStart, Query } from "../datastore/datastore.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
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

test("queries that differ in anything have an answer each", () => {
  const [within, other] = [parsePrefix("10.65.0.0/24"), parsePrefix("10.66.0.0/24")];
  const [address, from] = [parseAddress("10.65.0.1"), parseAddress("10.65.0.2")];
  const queries: readonly Query[] = [
    { type: "get", ref: { kind: "Node", name: "n1" } },
    { type: "get", ref: { kind: "Node", name: "n2" } },
    { type: "get", ref: { kind: "Profile", name: "n1" } },
    { type: "get", ref: { kind: "Node", namespace: "a", name: "n1" } },
    IP_POOLS,
    { type: "list", kind: "IPReservation" },
    { type: "list", kind: "IPPool", namespace: "a" },
    { type: "list", kind: "IPPool", labelSelector: "a" },
    { type: "block", ref: { cidr: within, node: "n1" } },
    { type: "block", ref: { cidr: other, node: "n1" } },
    { type: "block", ref: { cidr: within, node: "n2" } },
    ...(["blocks-of-node", "blocks-borrowed-by"] as const).flatMap((type): Query[] => [
      { type, node: "n1" },
      { type, node: "n2" },
    ]),
    { type: "block-of-address", address },
    { type: "block-of-address", address: from },
    { type: "count-blocks", within },
    { type: "count-blocks", within: other },
    { type: "empty-blocks", within, limit: 1 },
    { type: "empty-blocks", within: other, limit: 1 },
    { type: "empty-blocks", within, limit: 2 },
    ...(["claimed-blocks", "spare-blocks"] as const).flatMap((type): Query[] => [
      { type, within, limit: 1 },
      { type, within: other, limit: 1 },
      { type, within, limit: 2 },
      { type, within, from: address, limit: 1 },
      { type, within, from, limit: 1 },
    ]),
    { type: "all-blocks" },
    { type: "block-names" },
    { type: "block-page", from: undefined },
    { type: "block-page", from: "a" as BlockPageStart },
  ];
  const facts = toFacts(
    queries,
    queries.map((_, i) => i),
  );
  expect(queries.map((query): unknown => answerOf(facts, query))).toEqual([...queries.keys()]);
});
