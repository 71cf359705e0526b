import { describe, expect, test } from "bun:test";
import { createIpamWorld, requestFor, textsOf } from "../../../test/support/ipam/ipam.ts";
import type { CommitOptions, Query } from "../../datastore/datastore.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { allocate } from "../allocate.ts";
import type { AddressRequest } from "../request.ts";

/** A world in which each request gets what the one before has left, as those of a node do. */
async function worldOfNotes(request: Partial<AddressRequest> = {}) {
  const world = await createIpamWorld();
  let left: readonly Query[] = [];
  let next = 1;
  return {
    world,
    left: (): readonly string[] => textsOfQueries(left),
    /** @returns the address, and how many rounds it took */
    async add(further: Partial<AddressRequest> = {}) {
      const before = world.datastore.requests.roundTrips;
      const ports = { ...world.ports, savePrefetch: (queries: readonly Query[]) => void (left = queries) };
      const given = await allocate(ports, requestFor(`c${next++}`, "n1", { ...request, ...further }), { loadPrefetch: () => left });
      return { addresses: textsOf(given), rounds: world.datastore.requests.roundTrips - before };
    },
  };
}

function textsOfQueries(queries: readonly Query[]): readonly string[] {
  return queries.map((query) => ("within" in query ? `${query.type} ${toPrefixText(query.within)}` : query.type));
}

describe("what a request leaves for the next one", () => {
  test("spares the round in which a new block is looked for, of all but the node's first", async () => {
    const { world, add, left } = await worldOfNotes();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
    const rounds: number[] = [];
    for (let i = 0; i < 12; i++) {
      rounds.push((await add()).rounds);
      expect(left()).toEqual(i % 4 === 3 ? ["claimed-blocks 10.65.0.0/24", "get"] : []);
    }
    expect(rounds).toEqual([3, ...Array.from({ length: 11 }, () => 2)]);
  });

  test("is there after each request where blocks are single addresses", async () => {
    const { world, add } = await worldOfNotes();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 32 });
    expect([(await add()).rounds, (await add()).rounds, (await add()).rounds]).toEqual([3, 2, 2]);
  });

  test("is about both families of a dual-stack request", async () => {
    const { world, add } = await worldOfNotes({ families: [4, 6] });
    await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
    await world.putPool("b", "fd65::/120", { blockSize: 126 });
    const rounds: number[] = [];
    for (let i = 0; i < 9; i++) rounds.push((await add()).rounds);
    expect(rounds.slice(1)).toEqual(Array.from({ length: 8 }, () => 2));
  });

  test("is nothing for a requested address", async () => {
    const { world, add, left } = await worldOfNotes();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 32 });
    expect((await add({ addresses: [parseAddress("10.65.0.7")] })).addresses).toEqual(["10.65.0.7"]);
    expect(left()).toEqual([]);
  });

  test("is there once all that a block has left is reserved", async () => {
    const { world, add, left } = await worldOfNotes();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
    await world.put("IPReservation", "last", { reservedCIDRs: ["10.65.0.2/31"] });
    await world.putPool("b", "10.66.0.0/24", { blockSize: 30 });
    await add();
    expect(left()).toEqual([]);
    await add();
    expect(left()).not.toEqual([]);
  });

  test("is what a first try asks for, also after a lost race", async () => {
    const { world, left, add } = await worldOfNotes();
    await world.putPool("a", "10.64.0.0/12", { blockSize: 32 });
    await add();
    const noted = left();
    const { datastore } = world;
    let lost = 0;
    const losing = new Proxy(datastore, {
      get(target, name) {
        if (name !== "commit" || lost++ > 0) return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
        return async (_writes: unknown, { readOnConflict = [] }: CommitOptions<readonly Query[]>) => {
          return { committed: false, current: await target.read(readOnConflict) };
        };
      },
    });
    const again: Query[] = [];
    const ports = { ...world.ports, datastore: losing, savePrefetch: (queries: readonly Query[]) => void again.push(...queries) };
    await allocate(ports, requestFor("late", "n1"));
    expect(lost).toBeGreaterThan(1);
    expect(textsOfQueries(again)).toEqual(noted);
  });

  test("is nothing where the node may have no further block", async () => {
    const { world, add, left } = await worldOfNotes();
    await world.configure({ maxBlocksPerHost: 1, strictAffinity: true });
    await world.putPool("a", "10.65.0.0/24", { blockSize: 31 });
    expect([await add(), await add()].map(({ addresses }) => addresses.length)).toEqual([1, 1]);
    expect(left()).toEqual([]);
    await expect(add()).rejects.toMatchObject({ kind: "noAddressLeft" });
  });

  test("that was wrong changes nothing but the reading", async () => {
    const { world, add, left } = await worldOfNotes();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
    for (let i = 0; i < 4; i++) await add();
    expect(left()).not.toEqual([]);
    await world.del("c2", "n1");
    expect(await add()).toMatchObject({ rounds: 2 });
    expect((await world.blocks()).map((block) => block.split(" ")[2])).toEqual(["4/4"]);
  });
});
