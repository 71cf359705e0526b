/** A lost node, or a cluster that was restored, may have leaked a million addresses: what a check keeps of each decides whether it ends. */

import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createIpamWorld, requestFor } from "../../../../test/support/ipam/ipam.ts";
import type { Block } from "../../../api/ipam-block.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { parsePrefix, subnetAt } from "../../../lib/ip/prefix.ts";
import { checkConsistency } from "./check.ts";

const BLOCKS = 256;
const LEAKS = BLOCKS * 64;

function leakedBlock(at: number): Block {
  const node = `n${at}`;
  const allocations = Array.from({ length: 64 }, (_, ordinal) => {
    const { owner } = requestFor(`c${at}-${ordinal}`, node);
    return { ordinal, since: 1, owner: { ...owner, namespace: "default", endpoint: `${node}-cni-c${at}-${ordinal}-eth0` } };
  });
  const cidr = subnetAt(parsePrefix("10.65.0.0/16"), 26, at);
  return { cidr, node, allocations, free: [], releasedAt: new Map(), emptySince: undefined };
}

test("what the first look found takes less than 300 bytes for each leak while the second one looks", async () => {
  const { datastore, clock, putPool } = await createIpamWorld();
  await putPool("a", "10.65.0.0/16");
  await datastore.commit(Array.from({ length: BLOCKS }, (_, at) => ({ op: "create-block", block: leakedBlock(at) })));
  const liveBytes: number[] = [];
  const read: Datastore["read"] = async (queries, options) => {
    if (queries.some(({ type }) => type === "all-blocks")) {
      Bun.gc(true);
      const { heapSize, extraMemorySize } = heapStats();
      liveBytes.push(heapSize + extraMemorySize);
    }
    return await datastore.read(queries, options);
  };
  const { problems } = await checkConsistency(Object.assign(Object.create(datastore) as Datastore, { read }), clock);
  const [before = 0, meanwhile = Number.NaN, ...more] = liveBytes;
  expect([problems.length, more]).toEqual([LEAKS, []]);
  expect((meanwhile - before) / LEAKS).toBeLessThan(300);
});
