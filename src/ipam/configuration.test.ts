import { describe, expect, test } from "bun:test";
import { failureOf } from "../../test/support/failure-of.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { allocate } from "./allocate.ts";

/** Blocks of two addresses. */
async function createWorld(cidr = "10.65.0.0/29"): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", cidr, { blockSize: 31 });
  return world;
}

async function fillNode(world: IpamWorld, node: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await world.add(`${node}-${i}`, node);
}

const exhausted = (why: string) => ({ kind: "noAddressLeft", message: expect.stringContaining(why) });

describe("maxBlocksPerHost", () => {
  test("ends the claims of a node, which then borrows", async () => {
    const world = await createWorld();
    await world.configure({ maxBlocksPerHost: 1 });
    await fillNode(world, "n1", 2);
    await world.add("c", "n2");
    await world.add("d", "n1");
    const blocks = (await world.blocks()).map((block) => block.split(" "));
    expect(blocks.map(([, ...rest]) => rest.join(" ")).sort()).toEqual(["n1 2/2", "n2 2/2"]);
    const own = blocks.find(([, node]) => node === "n1")?.[0];
    expect(await failureOf(world.add("e", "n1"))).toMatchObject(
      exhausted(`nothing left in any claimed block, and node "n1" has 1 of at most 1 blocks (${own})`),
    );
    await world.add("f", "n3"); // others have their own limit
  });

  test("holds for each family by itself, and for blocks that are taken over", async () => {
    const world = await createWorld();
    await world.putPool("b", "fd00:65::/126", { blockSize: 127 });
    await world.configure({ maxBlocksPerHost: 1, strictAffinity: true });
    expect(await world.add("c1", "n1", { families: [4, 6] })).toHaveLength(2);
    await fillNode(world, "n2", 2);
    await world.del("n2-0", "n2");
    await world.del("n2-1", "n2");
    await world.add("c2", "n1");
    expect(await failureOf(world.add("c3", "n1"))).toMatchObject(
      exhausted('node "n1" has 1 of at most 1 blocks (10.65.0.2/31), and strictAffinity forbids'),
    );
  });

  test("is 20 when nothing is said, and an explicit address does not ask for it", async () => {
    const world = await createWorld("10.65.0.0/24");
    await fillNode(world, "n1", 40);
    await world.configure({ strictAffinity: true });
    expect(await failureOf(world.add("c", "n1"))).toMatchObject(exhausted('node "n1" has 20 of at most 20 blocks ('));
    expect(String(await failureOf(world.add("d", "n1")))).toMatch(/blocks \((?:10\.65\.0\.\d+\/31, ){4}…\)/);
    const free = (await world.blocks()).every((block) => !block.startsWith("10.65.0.200/")) ? "10.65.0.200" : "10.65.0.100";
    expect(await world.add("c", "n1", { addresses: [parseAddress(free)] })).toEqual([free]);
  });
});

describe("autoAllocateBlocks off", () => {
  test("lets nodes use what they have, and says so when that is used up", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    await world.configure({ autoAllocateBlocks: false, strictAffinity: true });
    await world.add("c2", "n1");
    expect(await failureOf(world.add("c3", "n1"))).toMatchObject(exhausted("autoAllocateBlocks is off, and strictAffinity forbids"));
    expect(await failureOf(world.add("c4", "n2"))).toMatchObject(exhausted("autoAllocateBlocks is off"));
  });
});

describe("strictAffinity", () => {
  test("forbids to borrow, and lets a node take over what is empty", async () => {
    const world = await createWorld("10.65.0.0/30");
    await world.configure({ strictAffinity: true });
    await world.add("c1", "n1");
    await world.add("c2", "n2");
    expect(await failureOf(world.add("c3", "n3"))).toMatchObject(exhausted("none of its 2 blocks is free, and strictAffinity forbids"));
    await world.del("c2", "n2");
    await world.add("c3", "n3");
    expect((await world.blocks()).map((block) => block.split(" ")[1]).sort()).toEqual(["n1", "n3"]);
  });

  test("is told of where a pool has one block only", async () => {
    const world = await createWorld("10.65.0.0/31");
    await world.configure({ strictAffinity: true, ipCooldownSeconds: 60 });
    await world.add("c1", "n1");
    expect(await failureOf(world.add("c2", "n2"))).toMatchObject(exhausted("its only block is not free, and strictAffinity forbids"));
    await world.del("c1", "n1");
    const why = "its only block is not free (it is empty, but cools down after the last release), and strictAffinity forbids";
    expect(await failureOf(world.add("c2", "n2"))).toMatchObject(exhausted(why));
  });

  test("leaves what was borrowed before with its borrower", async () => {
    const world = await createWorld("10.65.0.0/31");
    await world.add("c1", "n1");
    const borrowed = await world.add("c2", "n2");
    await world.configure({ strictAffinity: true });
    expect(await world.add("c2", "n2")).toEqual(borrowed);
    expect(await world.del("c2", "n2")).toEqual(borrowed);
    expect(await failureOf(world.add("c2", "n2"))).toMatchObject({ kind: "noAddressLeft" });
  });
});

describe("ipCooldownSeconds", () => {
  test("keeps a released address back for the whole time, on every node", async () => {
    const world = await createWorld("10.65.0.0/31");
    await world.configure({ ipCooldownSeconds: 60 });
    await world.clock.advance(900); // not at the beginning of a second
    await world.add("c1", "n1");
    const [second = ""] = await world.add("c2", "n1");
    await world.del("c2", "n1");
    for (const [node, ms] of [
      ["n1", 0],
      ["n2", 0],
      ["n1", 59_000],
      ["n2", 999],
    ] as const) {
      await world.clock.advance(ms);
      expect(await failureOf(world.add("c3", node))).toMatchObject(exhausted("or cool down after their release (at least 1 of them)"));
    }
    await world.clock.advance(1_001); // 61 s: a second more at most, because times are kept in seconds
    expect(await world.add("c3", "n2")).toEqual([second]);
  });

  test("of a pool's only address is said", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/32", { blockSize: 32 });
    await world.configure({ ipCooldownSeconds: 60 });
    await world.add("c1", "n1");
    await world.del("c1", "n1");
    const why = "full: its only address cools down after its release";
    expect(await failureOf(world.add("c2", "n1"))).toMatchObject(exhausted(why));
  });

  test("does not hold for who asks for the address by name, and counts from the last release", async () => {
    const world = await createWorld("10.65.0.0/31");
    await world.configure({ ipCooldownSeconds: 60 });
    const [first = ""] = await world.add("c1", "n1");
    await world.del("c1", "n1");
    expect(await world.add("c2", "n1", { addresses: [parseAddress(first)] })).toEqual([first]);
    await world.clock.advance(50_000);
    await world.del("c2", "n1");
    await world.clock.advance(50_000);
    const [other] = await world.add("c3", "n1");
    expect(other).not.toBe(first);
    expect(await failureOf(world.add("c4", "n1"))).toMatchObject({ kind: "noAddressLeft" });
  });

  test("is that of now, not that of the release", async () => {
    const world = await createWorld("10.65.0.0/31");
    await world.add("c1", "n1");
    await world.add("c2", "n1");
    await world.del("c2", "n1");
    await world.configure({ ipCooldownSeconds: 60 });
    expect(await failureOf(world.add("c3", "n1"))).toMatchObject({ kind: "noAddressLeft" });
    await world.configure({ ipCooldownSeconds: 0 });
    expect(await world.add("c3", "n1")).toHaveLength(1);
  });
});

describe("reservations", () => {
  test.each([
    ["the whole pool", ["10.65.0.0/16"], "all its addresses are reserved"],
    [
      "the whole pool in overlapping parts",
      ["10.65.0.0/30", "10.65.0.2/31", "10.65.0.3", "10.65.0.4/30", "0.0.0.0/5", "10.65.0.6"],
      "all its addresses are reserved",
    ],
  ])("of %s leave nothing", async (_, reservedCIDRs, why) => {
    const world = await createWorld();
    await world.put("IPReservation", "r", { reservedCIDRs });
    expect(await failureOf(world.add("c", "n1"))).toMatchObject(exhausted(why));
    expect(await world.blocks()).toEqual([]);
  });

  test("of one address are told of where the node gets no block", async () => {
    const world = await createWorld("10.65.0.0/30");
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.0"] });
    await world.configure({ strictAffinity: true });
    await world.add("c1", "n1");
    await world.add("c2", "n2");
    const why = "none of its 2 blocks is free (1 address is reserved), and strictAffinity";
    expect(await failureOf(world.add("c3", "n3"))).toMatchObject(exhausted(why));
  });

  test("of 10 000 ranges, of both families, and nonsense among them hold all the same", async () => {
    const world = await createWorld();
    const many = Array.from({ length: 10_000 }, (_, i) => `10.66.${i >> 8}.${i & 255}`);
    await world.put("IPReservation", "r", {
      reservedCIDRs: [...many, "x", 7, null, "10.65.0.0/99", "fd00::/8", " 10.65.0.0/30 ", "10.65.0.5/31"],
    });
    await world.put("IPReservation", "s", { reservedCIDRs: "10.65.0.6" });
    await world.put("IPReservation", "t", {});
    const given = [...(await world.add("c1", "n1")), ...(await world.add("c2", "n1"))];
    expect(given.sort()).toEqual(["10.65.0.6", "10.65.0.7"]); // host bits of 10.65.0.5/31 are dropped
    expect(await failureOf(world.add("c3", "n1"))).toMatchObject({ kind: "noAddressLeft" });
  });

  test("that make no sense in part are told about, one sentence for each", async () => {
    const world = await createWorld();
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.0", "x", 7] });
    await world.put("IPReservation", "s", { reservedCIDRs: "10.65.0.6" });
    await world.put("IPReservation", "t", {});
    await world.put("IPReservation", "u", { reservedCIDRs: ["10.65.0.7/32"] });
    const defects = new Set<string>();
    await allocate(world.ports, requestFor("c1", "n1"), { defects });
    expect([...defects]).toEqual([
      'ipreservation "r": "x" in its reservedCIDRs is no CIDR and reserves nothing; correct it by "netplugctl patch ipreservation r"',
      'ipreservation "s": its reservedCIDRs are "10.65.0.6" and no list, and reserve nothing; correct it by "netplugctl patch ipreservation s"',
    ]);
  });

  test("do not touch what is in use, nor who asks by name", async () => {
    const world = await createWorld();
    const first = await world.add("c1", "n1");
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.0/16"] });
    expect(await world.add("c1", "n1")).toEqual(first);
    expect(await world.add("c2", "n2", { addresses: [parseAddress("10.65.0.7")] })).toEqual(["10.65.0.7"]);
    expect(await world.del("c1", "n1")).toEqual(first);
    expect(await failureOf(world.add("c1", "n1"))).toMatchObject({ kind: "noAddressLeft" });
  });

  test("keep their place in the order of reuse", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.0"] });
    expect(await world.add("c1", "n1")).toEqual(["10.65.0.1"]);
    await world.put("IPReservation", "r", { reservedCIDRs: [] });
    expect(await world.add("c2", "n1")).toEqual(["10.65.0.0"]);
  });
});

describe("settings that somebody wrote by hand and that cannot be so", () => {
  test.each([
    ["ipCooldownSeconds", 1e300, "a whole number 0..1200"],
    ["ipCooldownSeconds", "60", "a whole number 0..1200"],
    ["ipCooldownSeconds", -1, "a whole number 0..1200"],
    ["maxBlocksPerHost", 1.5, "a whole number 0..1000000"],
    ["maxBlocksPerHost", [], "a whole number 0..1000000"],
    ["strictAffinity", "true", "true or false"],
    ["autoAllocateBlocks", 0, "true or false"],
  ])("%s %p gives nothing and says why, lets go, and leaves no trace", async (field, value, wanted) => {
    const world = await createWorld("10.65.0.0/31");
    const given = await world.add("c1", "n1");
    await world.put("IPAMConfiguration", "default", { [field]: value });
    const refusal = await failureOf(world.add("c2", "n1"));
    expect(refusal).toMatchObject({ kind: "invalidConfig" });
    expect(String(refusal)).toContain(`read IPAMConfiguration "default": "${field}" is `);
    expect(String(refusal)).toEndWith(`, want ${wanted}; correct it by "netplugctl ipam configure"`);
    expect(await world.del("c1", "n1")).toEqual(given);
    await world.configure({ strictAffinity: true });
    expect(await world.add("c2", "n2")).toHaveLength(1); // another node takes the empty block over
  });
});
