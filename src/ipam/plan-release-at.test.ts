import { expect, test } from "bun:test";
import { createIpamWorld } from "../../test/support/ipam/ipam.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { FactsWanted, toFacts } from "./facts.ts";
import { addressQueries, planReleaseAt } from "./plan-release-at.ts";
import { transact } from "./transact/transact.ts";

const FIRST = parseAddress("10.65.0.0");
const SECOND = parseAddress("10.65.0.1");

test("of the addresses only those are released whose allocations are meant", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
  for (const name of ["c1", "c2"]) await world.add(name, "n1");
  const addresses = [FIRST, SECOND];
  const released = await transact(world.ports, addressQueries(addresses), (facts, { now }) => {
    const plan = planReleaseAt(addresses, ({ owner }) => owner.containerID === "c2", facts, now);
    return { writes: plan.writes, result: plan.released };
  });
  expect(released.map(({ owner }) => owner.containerID)).toEqual(["c2"]);
  expect(await world.add("c1", "n1")).toEqual(["10.65.0.0"]);
  expect(await world.blocks()).toEqual(["10.65.0.0/30 n1 1/4"]);
});

test("an address whose block has moved since it was looked up is looked up again, and not taken for a free one", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
  await world.add("c1", "n1");
  const queries = addressQueries([FIRST]);
  const answers = await world.datastore.read(queries);
  const block = { type: "block", ref: { cidr: parsePrefix("10.65.0.0/30"), node: "n1" } } as const;
  const facts = toFacts([...queries, block], [...answers, undefined]);
  expect(() => planReleaseAt([FIRST], () => true, facts, 1)).toThrow(FactsWanted);
});

test("the blocks of all addresses are read in one round", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/27", { blockSize: 30 });
  const given: string[] = [];
  for (let at = 0; at < 8; at++) given.push(...(await world.add(`c${at}`, `n${at}`)));
  const addresses = given.map(parseAddress);
  const reads: number[] = [];
  const read: Datastore["read"] = async (queries, options) => {
    reads.push(queries.filter(({ type }) => type === "block").length);
    return await world.datastore.read(queries, options);
  };
  const commit: Datastore["commit"] = (writes, options) => world.datastore.commit(writes, options);
  const datastore = Object.assign(Object.create(world.datastore) as Datastore, { read, commit });
  const released = await transact({ ...world.ports, datastore }, addressQueries(addresses), (facts, { now }) => {
    const plan = planReleaseAt(addresses, () => true, facts, now);
    return { writes: plan.writes, result: plan.released };
  });
  expect([released.length, reads]).toEqual([8, [0, 8]]);
});
