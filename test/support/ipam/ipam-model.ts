/** For tests: random histories of address management, in memory, against a simple model of who has what. */

import { expect } from "bun:test";
import fc from "fast-check";
import { MemoryDatastore } from "../../../src/datastore/memory/memory-datastore.ts";
import { checkConsistency } from "../../../src/ipam/admin/check/check.ts";
import { deleteEmptyBlocks } from "../../../src/ipam/gc.ts";
import { allocate } from "../../../src/ipam/allocate.ts";
import { compareTexts } from "../../../src/lib/characters.ts";
import { NetplugError } from "../../../src/lib/errors.ts";
import { type Family, parseAddress, toAddressText, WIDTH } from "../../../src/lib/ip/address.ts";
import { addressAt, containsPrefix, overlaps, parsePrefix, toPrefixText } from "../../../src/lib/ip/prefix.ts";
import { Death, FaultyDatastore } from "./faulty-datastore.ts";
import { createIpamWorld, idOf, type IpamWorld, requestFor, textsOf } from "./ipam.ts";
import { type Action, action, addressesOf, CONTAINERS, type PoolName, POOLS, slotsOf } from "./ipam-model-actions.ts";
import { releaseStale } from "./ipam-operations.ts";

/**
 * Plays random histories: no address is given twice, none automatically that is reserved or cools down, a released one last, and
 * error 101 comes only when nothing is left; lost replies and dying callers among them.
 */
export async function playHistories(seed: number, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 80, size: "max" }), async (actions) => {
      const history = await History.start();
      for (const next of actions) await history.apply(next);
    }),
    { seed, numRuns },
  );
}

/** Addresses that may be given: all of them, and first of all those of the node's own blocks, in their order. */
interface Usable {
  readonly all: readonly string[];
  readonly own: readonly string[];
}

/** The system and its model, side by side. */
class History {
  /** Address to `<container> on <node>`. */
  readonly #allocated = new Map<string, string>();
  /** Address to the number of the step that released it. */
  readonly #released = new Map<string, number>();
  readonly #releasedAt = new Map<string, number>();
  #reserved: readonly string[] = [];
  #strict = false;
  #cooldown = 0;
  #maxBlocks = 0;
  #mayClaim = true;
  readonly #pools = new Map<PoolName, { readonly cidr: string; readonly blockSize: number; readonly disabled: boolean }>();
  #step = 0;
  readonly #world: IpamWorld;
  readonly #faults: FaultyDatastore;

  static async start(): Promise<History> {
    const faults = new FaultyDatastore(new MemoryDatastore());
    const world = await createIpamWorld(faults.datastore);
    const history = new History(world, faults);
    for (const { name, cidr, blockSize } of POOLS) await history.#putPool(name, WIDTH[parsePrefix(cidr).family] - blockSize, false);
    return history;
  }

  private constructor(world: IpamWorld, faults: FaultyDatastore) {
    this.#world = world;
    this.#faults = faults;
  }

  async apply(next: Action): Promise<void> {
    this.#step++;
    const { clock } = this.#world;
    await clock.advance(1000 - (clock.now() % 1000)); // retries take less than a second: all of a step happens in one
    await this.#act(next);
    await this.#compare();
  }

  async #act(next: Action): Promise<void> {
    const world = this.#world;
    switch (next.do) {
      case "add":
        return await this.#add(next);
      case "add explicit":
        return await this.#addExplicit(next.container, next.node, next.address);
      case "del":
        this.#faults.next = next.fault;
        await this.#untilDone(() => world.del(next.container, next.node));
        return this.#forget((owner) => owner === `${next.container} on ${next.node}`);
      case "reserve":
        this.#reserved = next.cidrs.flatMap((text) => addressesOf(text));
        return await world.put("IPReservation", "r", { reservedCIDRs: next.cidrs });
      case "configure":
        this.#strict = next.strictAffinity;
        this.#cooldown = next.ipCooldownSeconds;
        this.#maxBlocks = next.maxBlocksPerHost;
        this.#mayClaim = next.autoAllocateBlocks;
        return await world.configure({ ...next });
      case "change pool":
        return await this.#putPool(next.pool, next.hostBits, next.disabled);
      case "wait":
        return await world.clock.advance(next.seconds * 1000);
      case "collect": {
        const kept = new Set(CONTAINERS.filter((_, i) => i % 5 !== this.#step % 5));
        const valid = [...kept].map((containerID) => ({ containerID, ifName: "eth0" }));
        await releaseStale(world.ports, { node: next.node, network: idOf("").network, valid });
        this.#forget((owner) => owner.endsWith(` on ${next.node}`) && !kept.has(owner.split(" ")[0] ?? ""));
        for (const cidr of await deleteEmptyBlocks(world.ports, next.node)) {
          for (const address of addressesOf(toPrefixText(cidr))) this.#released.delete(address); // its order of reuse went with it
        }
      }
    }
  }

  async #add({ container: name, node: on, families, fault }: Action & { readonly do: "add" }): Promise<void> {
    const owner = `${name} on ${on}`;
    const allocated = [...this.#allocated].filter(([, holder]) => holder === owner).map(([address]) => address);
    const wanted = await Promise.all(
      families.map(async (family) => ({ before: allocated.filter((one) => isOf(one, family)), usable: await this.#usableFor(on, family) })),
    );
    this.#faults.next = fault;
    try {
      const given = await this.#untilDone(() => this.#world.add(name, on, { families }));
      if (given === undefined) return await this.#adopt(owner); // it died: what it left is found by its owner's name
      expect(given).toHaveLength(families.length);
      for (const [i, { before, usable }] of wanted.entries()) this.#take(given[i] ?? "", owner, before, usable);
    } catch (thrown) {
      if (!(thrown instanceof NetplugError) || thrown.kind !== "noAddressLeft") throw thrown;
      expect(wanted.some(({ before, usable }) => before.length === 0 && usable.all.length === 0)).toBe(true);
    }
  }

  /** @param before what it had of the address's family */
  #take(address: string, owner: string, before: readonly string[], { all, own }: Usable): void {
    if (before.length > 0) {
      expect(before).toContain(address);
      return;
    }
    expect(all).toContain(address);
    if (own.length > 0) expect(address).toBe(own[0] ?? "");
    this.#allocated.set(address, owner);
    this.#released.delete(address);
  }

  async #addExplicit(name: string, on: string, address: string): Promise<void> {
    const owner = `${name} on ${on}`;
    const holder = this.#allocated.get(address);
    try {
      const given = await allocate(this.#world.ports, requestFor(name, on, { addresses: [parseAddress(address)] }));
      expect(textsOf(given)).toEqual([address]);
      expect(holder ?? owner).toBe(owner);
      this.#allocated.set(address, owner);
      this.#released.delete(address);
    } catch (thrown) {
      if (!(thrown instanceof NetplugError)) throw thrown;
      if (thrown.kind === "addressInUse") expect(holder).toBeDefined();
      else expect([thrown.kind, this.#strict || (await this.#isOutOfReach(address))]).toEqual(["addressOutsidePools", true]);
    }
  }

  /** Whether the pool of an address gives none, or one of its blocks would overlap others there. */
  async #isOutOfReach(address: string): Promise<boolean> {
    const host = parsePrefix(address);
    const pool = [...this.#pools.values()].find(({ cidr }) => containsPrefix(parsePrefix(cidr), host));
    if (pool === undefined || pool.disabled) return true;
    const slot = slotsOf(pool.cidr, pool.blockSize).find((one) => containsPrefix(one, host));
    const [stored] = await this.#world.datastore.read([{ type: "all-blocks" }]);
    const cidrs = stored.map(({ value }) => value.cidr);
    return slot !== undefined && !cidrs.some((cidr) => containsPrefix(cidr, host)) && cidrs.some((cidr) => overlaps(cidr, slot));
  }

  async #putPool(name: PoolName, hostBits: number, disabled: boolean): Promise<void> {
    const { cidr = "" } = POOLS.find((pool) => pool.name === name) ?? {};
    const blockSize = WIDTH[parsePrefix(cidr).family] - hostBits;
    this.#pools.set(name, { cidr, blockSize, disabled });
    await this.#world.putPool(name, cidr, { blockSize, disabled });
  }

  /** What may be given of a family on a node. */
  async #usableFor(on: string, family: Family): Promise<Usable> {
    const [stored] = await this.#world.datastore.read([{ type: "all-blocks" }]);
    const blocks = stored.map(({ value }) => value).filter(({ cidr }) => cidr.family === family);
    const now = Math.floor(this.#world.clock.now() / 1000);
    const isFree = (address: string): boolean =>
      !this.#allocated.has(address) && !this.#reserved.includes(address) && !this.#isCoolingDown(address, now);
    const own: string[] = [];
    const others: string[] = [];
    const mayClaim = this.#mayClaim && blocks.filter(({ node }) => node === on).length < (this.#maxBlocks || 20);
    for (const { cidr, blockSize, disabled } of this.#pools.values()) {
      if (disabled || parsePrefix(cidr).family !== family) continue;
      const inPool = blocks.filter((block) => containsPrefix(parsePrefix(cidr), block.cidr));
      for (const block of inPool) {
        const free = addressesOf(toPrefixText(block.cidr)).filter(isFree);
        const isEmpty = block.emptySince !== undefined && block.emptySince <= now && !this.#hasCoolingDown(toPrefixText(block.cidr), now);
        if (block.node === on) own.push(...free);
        else if ((isEmpty && mayClaim) || !this.#strict) others.push(...free);
      }
      const unclaimed = slotsOf(cidr, blockSize).filter((slot) => !inPool.some((block) => overlaps(block.cidr, slot)));
      if (mayClaim) others.push(...unclaimed.flatMap((slot) => addressesOf(toPrefixText(slot)).filter(isFree)));
    }
    const pool = (address: string): string => address.slice(0, 6);
    const order = (address: string): number => this.#released.get(address) ?? -1;
    const first = own.map(pool).sort(compareTexts)[0];
    const inOrder = own.filter((address) => pool(address) === first).sort((a, b) => order(a) - order(b) || compareAddresses(a, b));
    return { all: [...own, ...others], own: inOrder };
  }

  #hasCoolingDown(cidr: string, now: number): boolean {
    return addressesOf(cidr).some((address) => this.#isCoolingDown(address, now));
  }

  /** A whole cool-down has surely passed only when one second more is counted: times are cut to seconds. */
  #isCoolingDown(address: string, now: number): boolean {
    return this.#cooldown > 0 && now <= (this.#releasedAt.get(address) ?? -Infinity) + this.#cooldown;
  }

  /** Lets an operation and its retries run; undefined when its caller died. */
  async #untilDone<T>(operation: () => Promise<T>): Promise<T | undefined> {
    const { clock } = this.#world;
    const ended: (() => T)[] = [];
    operation().then(
      (value) => ended.push(() => value),
      (thrown: unknown) =>
        ended.push(() => {
          throw thrown;
        }),
    );
    for (let turns = 0; ended.length === 0; turns++) {
      await clock.advance(turns < 100 ? 0 : 1);
      // what is imported only when it is needed comes with the event loop: without its turn this would never end
      await new Promise(setImmediate);
    }
    this.#faults.next = "none";
    try {
      return ended[0]?.();
    } catch (thrown) {
      if (thrown instanceof Death) return undefined;
      throw thrown;
    }
  }

  #forget(isTarget: (owner: string) => boolean): void {
    for (const [address, owner] of this.#allocated) {
      if (!isTarget(owner)) continue;
      this.#allocated.delete(address);
      this.#released.set(address, this.#step);
      this.#releasedAt.set(address, Math.floor(this.#world.clock.now() / 1000));
    }
  }

  /** After the caller died: the model learns whether its commit was applied. */
  async #adopt(owner: string): Promise<void> {
    for (const [address, holder] of await this.#stored()) {
      if (holder !== owner || this.#allocated.has(address)) continue;
      this.#allocated.set(address, owner);
      this.#released.delete(address);
    }
  }

  async #stored(): Promise<ReadonlyMap<string, string>> {
    const stored = new Map<string, string>();
    const [blocks] = await this.#world.datastore.read([{ type: "all-blocks" }]);
    for (const { value } of blocks) {
      for (const { ordinal, owner } of value.allocations) {
        const address = toAddressText(addressAt(value.cidr, ordinal));
        expect(stored.has(address)).toBe(false);
        stored.set(address, `${owner.containerID} on ${owner.node}`);
      }
    }
    return stored;
  }

  async #compare(): Promise<void> {
    expect(Object.fromEntries(await this.#stored())).toEqual(Object.fromEntries(this.#allocated));
    expect((await checkConsistency(this.#world.datastore, this.#world.clock)).problems).toEqual([]);
  }
}

function isOf(address: string, family: Family): boolean {
  return parseAddress(address).family === family;
}

function compareAddresses(a: string, b: string): number {
  return Number(parseAddress(a).value - parseAddress(b).value);
}
