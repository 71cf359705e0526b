import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { createIpamWorld, type IpamWorld } from "../../../test/support/ipam/ipam.ts";
import { planSplit } from "./split.ts";

describe("planSplit()", () => {
  const locked = { datastoreReady: false };

  /** What a split needs of a pool. */
  async function readFor(world: IpamWorld, name: string, parts = 4): Promise<Parameters<typeof planSplit>> {
    const [pools, information] = await world.datastore.read([
      { type: "list", kind: "IPPool" },
      { type: "get", ref: { kind: "ClusterInformation", name: "default" } },
    ]);
    const pool = pools.find(({ value }) => value.metadata.name === name);
    if (pool === undefined) throw new Error("no pool");
    return [pool, parts, information, pools];
  }

  test("replaces a pool by parts of equal size, in one commit", async () => {
    const world = await createIpamWorld();
    await world.putPool("blue", "10.65.0.0/24", { nodeSelector: 'zone == "x"' });
    await world.put("ClusterInformation", "default", locked);
    const [pool, , information, pools] = await readFor(world, "blue");
    const { parts, writes } = planSplit(pool, 4, information, pools);
    expect(parts.map(({ pool: { metadata, spec } }) => [metadata.name, spec.cidr, spec.nodeSelector])).toEqual([
      ["split-blue-0", "10.65.0.0/26", 'zone == "x"'],
      ["split-blue-1", "10.65.0.64/26", 'zone == "x"'],
      ["split-blue-2", "10.65.0.128/26", 'zone == "x"'],
      ["split-blue-3", "10.65.0.192/26", 'zone == "x"'],
    ]);
    expect(await world.datastore.commit(writes)).toMatchObject({ committed: true });
    for (const wrong of [0, 1, 3, 8, 2.5])
      expect(() => planSplit(pool, wrong, information, pools)).toThrow("want a power of two from 2 to 4");
  });

  test("takes a datastore for locked that does not say that it is ready", async () => {
    const world = await createIpamWorld();
    await world.putPool("blue", "10.65.0.0/25");
    await world.put("ClusterInformation", "default", {});
    expect(await world.datastore.commit(planSplit(...(await readFor(world, "blue", 2))).writes)).toMatchObject({ committed: true });
  });

  test.each([
    [undefined, "notInitialised", "was never initialised"],
    [{ datastoreReady: true }, "tryAgainLater", "is not locked"],
    [{ ...locked, datastoreFrozen: true }, "tryAgainLater", "frozen"],
  ])("refuses where the cluster is %j", async (cluster, kind, message) => {
    const world = await createIpamWorld();
    await world.putPool("blue", "10.65.0.0/24");
    if (cluster !== undefined) await world.put("ClusterInformation", "default", cluster);
    const [pool, , information, pools] = await readFor(world, "blue");
    const plan = async () => planSplit(pool, 2, cluster === undefined ? undefined : information, pools);
    expect(await failureOf(plan())).toMatchObject({ kind, message: expect.stringContaining(message) });
  });

  test("holds only as long as the datastore stays locked", async () => {
    const world = await createIpamWorld();
    await world.putPool("blue", "10.65.0.0/25");
    await world.put("ClusterInformation", "default", locked);
    const { writes } = planSplit(...(await readFor(world, "blue", 2)));
    await world.put("ClusterInformation", "default", { datastoreReady: true });
    expect(await world.datastore.commit(writes)).toMatchObject({ committed: false });
  });

  test.each([
    ["10.65.0.0/16", 128, "want a power of two from 2 to 64 for 10.65.0.0/16 with blockSize 26"],
    ["10.65.0.0/23", 16, "want a power of two from 2 to 8 for"],
    ["10.65.0.0/33", 2, 'split pool "blue": '],
  ])("refuses to make of %s %p parts", async (cidr, parts, message) => {
    const world = await createIpamWorld();
    await world.putPool("blue", cidr);
    await world.put("ClusterInformation", "default", locked);
    const [pool, , information, pools] = await readFor(world, "blue");
    expect(() => planSplit(pool, parts, information, pools)).toThrow(message);
  });
});
