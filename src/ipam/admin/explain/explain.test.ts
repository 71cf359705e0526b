import { describe, expect, test } from "bun:test";
import { createIpamWorld, type IpamWorld, requestFor } from "../../../../test/support/ipam/ipam.ts";
import { parseAddress } from "../../../lib/ip/address.ts";
import { explain } from "./explain.ts";

describe("explain()", () => {
  /** Pools by name, of which the last has the node's own block. */
  async function startWithPools(count: number): Promise<IpamWorld> {
    const world = await createIpamWorld();
    for (let i = 0; i < count; i++) await world.putPool(`p${1_000 + i}`, `10.${i >> 8}.${i & 255}.0/24`);
    const last = count - 1;
    await world.add("c1", "n1", { addresses: [parseAddress(`10.${last >> 8}.${last & 255}.0`)] });
    return world;
  }

  test("asks of thousands of pools in no more round trips than of three, and reads each pool but a few times", async () => {
    const roundTrips: number[] = [];
    for (const count of [3, 2_000]) {
      const { datastore, ports } = await startWithPools(count);
      const before = datastore.requests.roundTrips;
      const { pools } = await explain(ports, requestFor("", "n1"));
      roundTrips.push(datastore.requests.roundTrips - before);
      const reason = `the node's own block of pool "p${1_000 + count - 1}" comes first`;
      expect(pools.map((pool) => pool.reason)).toEqual([...Array.from({ length: count - 1 }, () => reason), undefined]);
    }
    expect(roundTrips).toEqual([2, 2]);
    // Twenty times as long as that takes, and half of what it takes where each answer reads all pools.
  }, 5_000);
});
