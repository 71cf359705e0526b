/** How long a node without a block looks when the first of two large pools is full. */

import type { Datastore, Write } from "../../src/datastore/datastore.ts";
import { allocate } from "../../src/ipam/allocate.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { parsePrefix, type Prefix, subnetAt, subnetCount } from "../../src/lib/ip/prefix.ts";
import { fullBlock, open, portsOf, prepare, putPool, requestOf } from "./ipam-world.ts";
import type { BenchRow } from "./row.ts";
import { summarize, toText } from "./summary.ts";

const ROUNDS = 100;
const LIMIT_MS = 50;
const BLOCKS_PER_COMMIT = 16;
const FULL = parsePrefix("10.65.0.0/16");

/** Every block of the first pool is full; each round is a node that has none, on a connection of its own. */
export async function benchSecondPool(etcdEndpoint: string): Promise<BenchRow> {
  await prepare(etcdEndpoint);
  const filler = open(etcdEndpoint);
  await fill(filler, FULL);
  await putPool(filler, "second", "10.66.0.0/16");
  filler.close();
  const times: number[] = [];
  let roundTrips = 0;
  for (let i = 0; i < ROUNDS; i++) {
    const datastore = open(etcdEndpoint);
    const begin = performance.now();
    const [given] = await allocate(portsOf(datastore), requestOf(`late-${i}`, "first"));
    times.push(performance.now() - begin);
    roundTrips = Math.max(roundTrips, datastore.requests.roundTrips);
    datastore.close();
    if (given === undefined || !toAddressText(given.address).startsWith("10.66.")) throw new Error("choose a pool: got one that is full");
  }
  const ms = summarize(times);
  return {
    what: `first address of a node when the first of two /16 pools is full (${subnetCount(FULL, 26)} blocks)`,
    target: `≤ ${LIMIT_MS} ms`,
    measured: `${toText(ms)}, at most ${roundTrips} round trips`,
    met: ms.p99 <= LIMIT_MS,
    figures: { ms, roundTrips },
  };
}

/** As 40 nodes would have filled it. */
async function fill(datastore: Datastore, pool: Prefix): Promise<void> {
  const count = Number(subnetCount(pool, 26));
  for (let i = 0; i < count; i += BLOCKS_PER_COMMIT) {
    const writes = Array.from({ length: Math.min(BLOCKS_PER_COMMIT, count - i) }, (_, j): Write => {
      return { op: "create-block", block: fullBlock(subnetAt(pool, 26, i + j), `node-${(i + j) % 40}`) };
    });
    const { committed } = await datastore.commit(writes);
    if (!committed) throw new Error("fill the first pool: a block exists already");
  }
}
