import { expect, test } from "bun:test";
import { createIpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { planRenewal } from "./plan-renewal.ts";
import { releaseQueries } from "./plan-release.ts";
import { transact } from "./transact/transact.ts";

test("a renewal within a second changes the block, too: Kubernetes does not count a write of the same", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
  await world.add("c1", "n1");
  const since = async (): Promise<number | undefined> => {
    const [blocks] = await world.datastore.read([{ type: "all-blocks" }]);
    return blocks[0]?.value.allocations[0]?.since;
  };
  const renew = async (address: string): Promise<boolean> =>
    await transact(world.ports, releaseQueries("n1"), (facts, { now }) => {
      return planRenewal(requestFor("c1", "n1").owner, [parseAddress(address)], facts, now);
    });
  const before = (await since()) ?? 0;
  expect(await renew("10.65.0.0")).toBe(true);
  expect(await since()).toBe(before + 1);
  expect(await renew("10.65.0.1")).toBe(false);
});
