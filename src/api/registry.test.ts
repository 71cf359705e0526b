import { expect, test } from "bun:test";
import { ALL_KINDS, kindOf } from "./registry.ts";

test.each([
  ["IPPool", "IPPool"],
  ["ippool", "IPPool"],
  ["IPPOOLS", "IPPool"],
  ["ipp", "IPPool"],
  ["pool", "IPPool"],
  ["ipr", "IPReservation"],
  ["wep", "WorkloadEndpoint"],
  ["pro", "Profile"],
  ["no", "Node"],
  ["clusterinfo", "ClusterInformation"],
  ["ipamblocks", "IPAMBlock"],
  ["tiers", "Tier"],
])("%p means %p", (word, kind) => {
  expect(kindOf(word)?.kind).toBe(kind as never);
});

test.each(["", "pods", "ip pool", "constructor"])("%p means nothing", (word) => {
  expect(kindOf(word)).toBeUndefined();
});

test("no two kinds share a name", () => {
  const names = ALL_KINDS.flatMap((info) => [info.kind.toLowerCase(), info.plural, ...info.shortNames]);
  expect(new Set(names).size).toBe(names.length);
});
