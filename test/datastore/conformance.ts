/** What every datastore does, whatever is behind it. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { Block } from "../../src/api/ipam-block.ts";
import type { Resource } from "../../src/api/resource.ts";
import type { Datastore, Query, ResourceRef, Revision, Stored, WatchEvent } from "../../src/datastore/datastore.ts";
import { initialise } from "../../src/datastore/initialise.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { parsePrefix, toPrefixText } from "../../src/lib/ip/prefix.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { makeBlock } from "./blocks.ts";

/** A driver under test. */
export interface Subject {
  readonly datastore: Datastore;
  /** Removes all that is stored. */
  readonly wipe: () => Promise<void>;
  readonly end: () => Promise<void>;
}

export function describeDatastore(name: string, start: () => Promise<Subject>): void {
  describe(name, async () => {
    const subject = await start();
    const { datastore } = subject;
    beforeEach(() => subject.wipe());
    afterAll(() => subject.end());
    describeResources(datastore);
    describeBlocks(datastore);
    describeSearches(datastore);
    describeWatch(datastore);
    describeLimits(datastore);
  });
}

export function makePool(name: string, cidr = "10.65.0.0/16"): Resource {
  return { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec: { cidr } };
}

function makeEndpoint(namespace: string, name: string): Resource {
  return { apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata: { namespace, name }, spec: { note: "Zürich 東京 \u0000" } };
}

function poolRef(name: string): ResourceRef {
  return { kind: "IPPool", name };
}

/** Commits what must not conflict. */
async function commit(datastore: Datastore, ...writes: Parameters<Datastore["commit"]>[0]): Promise<Revision> {
  const result = await datastore.commit(writes);
  if (!result.committed) throw new Error(`conflict: ${JSON.stringify(writes.map((write) => write.op))}`);
  return result.revision;
}

async function ask<const Q extends Query>(datastore: Datastore, query: Q) {
  return (await datastore.read([query]))[0];
}

async function readBlock(datastore: Datastore, block: Block): Promise<Stored<Block>> {
  const stored = await ask(datastore, { type: "block", ref: block });
  if (stored === undefined) throw new Error(`no block ${toPrefixText(block.cidr)} of ${block.node}`);
  return stored;
}

function describeResources(datastore: Datastore): void {
  test("what was created is read back with its revision, and again in a list", async () => {
    const endpoint = makeEndpoint("default", "web-1");
    const revision = await commit(datastore, { op: "create", resource: endpoint });
    const ref: ResourceRef = { kind: "WorkloadEndpoint", namespace: "default", name: "web-1" };
    const stored = { value: { ...endpoint, metadata: { ...endpoint.metadata, resourceVersion: revision } }, revision };
    expect(await ask(datastore, { type: "get", ref })).toEqual(stored);
    expect(await ask(datastore, { type: "list", kind: "WorkloadEndpoint" })).toEqual([stored]);
  });

  test("a resource version that was read is not stored when it is written back", async () => {
    const first = await commit(datastore, { op: "create", resource: makePool("a") });
    const read = await ask(datastore, { type: "get", ref: poolRef("a") });
    if (read === undefined) throw new Error("no pool");
    expect(read.value.metadata.resourceVersion).toBe(first);
    const second = await commit(datastore, { op: "update", resource: read.value, revision: read.revision });
    expect(second).not.toBe(first);
    expect((await ask(datastore, { type: "get", ref: poolRef("a") }))?.value.metadata.resourceVersion).toBe(second);
  });

  test("a list holds one kind, or one namespace of it, in the order of names", async () => {
    const resources = [makeEndpoint("b", "x"), makeEndpoint("a", "y"), makeEndpoint("a", "x"), makeEndpoint("ab", "x"), makePool("x")];
    await commit(datastore, ...resources.map((resource) => ({ op: "create", resource }) as const));
    const namesOf = (list: readonly Stored<Resource>[]) => list.map(({ value }) => `${value.metadata.namespace}/${value.metadata.name}`);
    expect(namesOf(await ask(datastore, { type: "list", kind: "WorkloadEndpoint" }))).toEqual(["a/x", "a/y", "ab/x", "b/x"]);
    expect(namesOf(await ask(datastore, { type: "list", kind: "WorkloadEndpoint", namespace: "a" }))).toEqual(["a/x", "a/y"]);
    expect(await ask(datastore, { type: "list", kind: "Node" })).toEqual([]);
  });

  test.each(["blocks", "a.b", "…", "a b", "%62locks", "x@y"])("a resource may be called %p", async (name) => {
    await commit(datastore, { op: "create", resource: makeEndpoint(name, name) });
    expect(
      (await ask(datastore, { type: "list", kind: "WorkloadEndpoint", namespace: name })).map(({ value }) => value.metadata.name),
    ).toEqual([name]);
    const ref: ResourceRef = { kind: "WorkloadEndpoint", namespace: name, name };
    await commit(datastore, { op: "delete", ref });
    expect(await ask(datastore, { type: "get", ref })).toBeUndefined();
  });

  test("a conflict writes nothing and answers what was asked for in its place", async () => {
    const revision = await commit(datastore, { op: "create", resource: makePool("a") });
    const readOnConflict = [
      { type: "get", ref: poolRef("a") },
      { type: "list", kind: "IPPool" },
    ] as const;
    const result = await datastore.commit(
      [
        { op: "create", resource: makePool("b") },
        { op: "create", resource: makePool("a") },
      ],
      { readOnConflict },
    );
    if (result.committed) throw new Error("no conflict");
    const [pool, pools] = result.current;
    expect(pool?.revision).toBe(revision);
    expect(pools.map(({ value }) => value.metadata.name)).toEqual(["a"]);
  });

  test("update, delete and expect hold for the stored revision only", async () => {
    const old = await commit(datastore, { op: "create", resource: makePool("a") });
    const current = await commit(datastore, { op: "update", resource: makePool("a", "10.66.0.0/16"), revision: old });
    const ref = poolRef("a");
    for (const write of [
      { op: "update", resource: makePool("a"), revision: old },
      { op: "delete", ref, revision: old },
      { op: "expect", ref, revision: old },
      { op: "expect", ref, revision: undefined },
      { op: "expect", ref: poolRef("b"), revision: old },
      { op: "update", resource: makePool("b"), revision: old },
    ] as const) {
      expect({ write, ...(await datastore.commit([write])) }).toEqual({ write, committed: false, current: [] });
    }
    await commit(datastore, { op: "expect", ref, revision: current }, { op: "expect", ref: poolRef("b"), revision: undefined });
    expect((await ask(datastore, { type: "get", ref }))?.revision).toBe(current);
    await commit(datastore, { op: "delete", ref, revision: current });
    expect(await ask(datastore, { type: "get", ref })).toBeUndefined();
  });

  test("deleting what does not exist, without a revision, succeeds", async () => {
    await commit(datastore, { op: "delete", ref: poolRef("a") });
  });

  test("initialising makes the cluster and its tiers once, also when many do it at once", async () => {
    const options = { clock: systemClock, random: seededRandom(1), version: "v3.31.0" };
    const made = await Promise.all(Array.from({ length: 8 }, () => initialise(datastore, options)));
    expect(made.filter(Boolean)).toHaveLength(1);
    const [information, tiers] = await datastore.read([
      { type: "get", ref: { kind: "ClusterInformation", name: "default" } },
      { type: "list", kind: "Tier" },
    ]);
    expect(information?.value.spec).toMatchObject({
      guid: expect.stringMatching(/^[0-9a-f]{32}$/),
      version: "v3.31.0",
      datastoreReady: true,
    });
    expect(tiers.map(({ value }) => [value.metadata.name, value.spec])).toEqual([
      ["default", { order: 1_000_000, defaultAction: "Deny" }],
      ["kube-admin", { order: 1_000, defaultAction: "Pass" }],
      ["kube-baseline", { order: 10_000_000, defaultAction: "Pass" }],
    ]);
    await commit(datastore, { op: "delete", ref: { kind: "Tier", name: "kube-admin" } });
    expect(await initialise(datastore, options)).toBe(true);
    expect(await ask(datastore, { type: "get", ref: { kind: "ClusterInformation", name: "default" } })).toEqual(information);
  });
}

function describeBlocks(datastore: Datastore): void {
  test("a block is read back as it was written, by itself and among its node's", async () => {
    const block = { ...makeBlock("10.65.0.0/26", "n1", { 0: "n1", 5: "n2" }), releasedAt: new Map([[7, 1234]]) };
    const revision = await commit(datastore, { op: "create-block", block });
    expect(await readBlock(datastore, block)).toEqual({ value: block, revision });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n1" })).toEqual([{ value: block, revision }]);
    expect(await ask(datastore, { type: "blocks-of-node", node: "n" })).toEqual([]);
    expect(await ask(datastore, { type: "block", ref: { cidr: block.cidr, node: "n2" } })).toBeUndefined();
  });

  test("a CIDR is claimed by one node at a time", async () => {
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.0.0/26", "n1") });
    const { cidr } = makeBlock("10.65.0.0/26", "n2");
    const result = await datastore.commit([{ op: "create-block", block: makeBlock("10.65.0.0/26", "n2") }], {
      readOnConflict: [{ type: "claimed-blocks", within: cidr, limit: 1 }],
    });
    expect(result).toEqual({ committed: false, current: [[{ cidr, node: "n1" }]] });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n2" })).toEqual([]);
  });

  test("of many claims for one CIDR at once exactly one succeeds", async () => {
    const nodes = Array.from({ length: 16 }, (_, index) => `n${index}`);
    const results = await Promise.all(
      nodes.map((node) => datastore.commit([{ op: "create-block", block: makeBlock("10.65.0.0/26", node) }])),
    );
    expect(results.filter(({ committed }) => committed)).toHaveLength(1);
    expect(await ask(datastore, { type: "all-blocks" })).toHaveLength(1);
  });

  test("a block that was changed meanwhile is not changed again", async () => {
    const block = makeBlock("10.65.0.0/26", "n1");
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    await commit(datastore, { op: "update-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }), previous });
    for (const write of [
      { op: "update-block", block, previous },
      { op: "update-block", block: makeBlock("10.65.0.0/26", "n2"), previous },
      { op: "delete-block", previous },
    ] as const) {
      expect(await datastore.commit([write])).toEqual({ committed: false, current: [] });
    }
  });

  test("the indexes follow a block through its life", async () => {
    const within = parsePrefix("10.65.0.0/16");
    const cidr = parsePrefix("10.65.0.0/30");
    const look = async () => {
      const [claimed, spare, empty, borrowed, count] = await datastore.read([
        { type: "claimed-blocks", within, limit: 10 },
        { type: "spare-blocks", within, limit: 10 },
        { type: "empty-blocks", within, limit: 10 },
        { type: "blocks-borrowed-by", node: "n2" },
        { type: "count-blocks", within },
      ]);
      return { claimed, spare, empty, borrowed, count };
    };
    const become = async (block: Block, owner = "n1") => {
      const previous = await readBlock(datastore, { ...block, node: owner });
      await commit(datastore, { op: "update-block", block, previous });
    };
    const [ofN1, ofN3] = [
      { cidr, node: "n1" },
      { cidr, node: "n3" },
    ];
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.0.0/30", "n1") });
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [{ ...ofN1, since: 1000 }], borrowed: [], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 0: "n1", 1: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [], borrowed: [ofN1], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 0: "n1", 1: "n1", 2: "n2", 3: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [], empty: [], borrowed: [ofN1], count: 1 });
    await become(makeBlock("10.65.0.0/30", "n1", { 3: "n1" }));
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [], borrowed: [], count: 1 });
    await become({ ...makeBlock("10.65.0.0/30", "n1"), emptySince: 2000 });
    expect(await look()).toEqual({ claimed: [ofN1], spare: [ofN1], empty: [{ ...ofN1, since: 2000 }], borrowed: [], count: 1 });
    await become({ ...makeBlock("10.65.0.0/30", "n1"), emptySince: 3000 });
    expect((await look()).empty).toEqual([{ ...ofN1, since: 3000 }]);
    await become(makeBlock("10.65.0.0/30", "n3", { 1: "n2" }));
    expect(await look()).toEqual({ claimed: [ofN3], spare: [ofN3], empty: [], borrowed: [ofN3], count: 1 });
    expect(await ask(datastore, { type: "blocks-of-node", node: "n1" })).toEqual([]);
    expect(await ask(datastore, { type: "blocks-of-node", node: "n3" })).toHaveLength(1);
    await commit(datastore, { op: "delete-block", previous: await readBlock(datastore, ofN3 as Block) });
    expect(await look()).toEqual({ claimed: [], spare: [], empty: [], borrowed: [], count: 0 });
    expect(await ask(datastore, { type: "all-blocks" })).toEqual([]);
  });

  test.each(["blocks", "node.example.com", "ä/b", "..", "a b"])("a node may be called %p", async (node) => {
    const block = makeBlock("10.65.0.0/30", "other", { 1: node });
    const own = makeBlock("fd00::/126", node, { 0: node });
    await commit(datastore, { op: "create-block", block }, { op: "create-block", block: own });
    expect((await ask(datastore, { type: "blocks-of-node", node })).map(({ value }) => value)).toEqual([own]);
    expect(await ask(datastore, { type: "blocks-borrowed-by", node })).toEqual([{ cidr: block.cidr, node: "other" }]);
    expect(await ask(datastore, { type: "block-of-address", address: parseAddress("fd00::3") })).toEqual({ cidr: own.cidr, node });
  });
}

function describeSearches(datastore: Datastore): void {
  const textOf = (refs: readonly { readonly cidr: Block["cidr"] }[]): readonly string[] => refs.map(({ cidr }) => toPrefixText(cidr));

  /** Blocks of several lengths and both families; 10.65.1.0/27 is full, 2001:db8::/122 empty. */
  async function fill(): Promise<void> {
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, ordinal) => [ordinal, "n1"]));
    const blocks = [
      makeBlock("10.65.0.192/26", "n1", { 1: "n1" }),
      makeBlock("10.65.1.0/27", "n1", full),
      makeBlock("10.65.9.0/24", "n2", { 1: "n1" }),
      makeBlock("10.65.16.0/20", "n3"),
      makeBlock("9.255.255.255/32", "n3"),
      makeBlock("100.64.0.0/26", "n3"),
      makeBlock("2001:db8::/122", "n1"),
      makeBlock("2001:db8::40/122", "n1", { 0: "n1" }),
      makeBlock("100:6500::/116", "n4"),
    ];
    await commit(datastore, ...blocks.map((block) => ({ op: "create-block", block }) as const));
  }

  test("claimed blocks come in address order, from an address on, up to a limit", async () => {
    await fill();
    const claimed = async (within: string, limit = 10, from?: string) => {
      const start = from === undefined ? {} : { from: parseAddress(from) };
      return textOf(await ask(datastore, { type: "claimed-blocks", within: parsePrefix(within), limit, ...start }));
    };
    const inPool = ["10.65.0.192/26", "10.65.1.0/27", "10.65.9.0/24", "10.65.16.0/20"];
    expect(await claimed("10.65.0.0/16")).toEqual(inPool);
    expect(await claimed("10.65.0.0/16", 2)).toEqual(inPool.slice(0, 2));
    expect(await claimed("10.65.0.0/16", 2, "10.65.0.193")).toEqual(inPool.slice(1, 3));
    expect(await claimed("10.65.0.0/16", 2, "10.65.1.0")).toEqual(inPool.slice(1, 3));
    expect(await claimed("10.65.0.0/16", 9, "10.66.0.0")).toEqual([]);
    expect(await claimed("0.0.0.0/0")).toEqual(["9.255.255.255/32", ...inPool, "100.64.0.0/26"]);
    expect(await claimed("::/0")).toEqual(["100:6500::/116", "2001:db8::/122", "2001:db8::40/122"]);
    expect(await claimed("255.255.255.255/32")).toEqual([]);
  });

  test("a claimed block that encloses the prefix, or is it, overlaps it", async () => {
    await fill();
    const claimed = async (within: string, from?: string) => {
      const start = from === undefined ? {} : { from: parseAddress(from) };
      return textOf(await ask(datastore, { type: "claimed-blocks", within: parsePrefix(within), limit: 10, ...start }));
    };
    expect(await claimed("10.65.9.128/26")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.9.0/26")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.9.0/24")).toEqual(["10.65.9.0/24"]);
    expect(await claimed("10.65.31.255/32")).toEqual(["10.65.16.0/20"]);
    expect(await claimed("10.65.32.0/32")).toEqual([]);
    expect(await claimed("2001:db8::7f/128")).toEqual(["2001:db8::40/122"]);
    expect(await claimed("10.65.9.128/26", "10.65.9.128")).toEqual([]);
  });

  test("blocks are counted inside a prefix only", async () => {
    await fill();
    const prefixes = ["10.65.0.0/16", "10.65.9.0/24", "10.65.9.0/25", "10.65.16.0/20", "10.65.16.0/21", "::/0", "0.0.0.0/0"];
    const counts = await datastore.read(prefixes.map((text) => ({ type: "count-blocks", within: parsePrefix(text) }) as const));
    expect(counts).toEqual([4, 1, 0, 1, 0, 3, 6]);
  });

  test("spare and empty blocks are found among the others", async () => {
    await fill();
    const within = parsePrefix("10.65.0.0/16");
    const [spare, fromThere, one, empty, empty6] = await datastore.read([
      { type: "spare-blocks", within, limit: 10 },
      { type: "spare-blocks", within, from: parseAddress("10.65.1.0"), limit: 10 },
      { type: "spare-blocks", within, limit: 1 },
      { type: "empty-blocks", within, limit: 10 },
      { type: "empty-blocks", within: parsePrefix("2001:db8::/32"), limit: 10 },
    ]);
    expect(textOf(spare)).toEqual(["10.65.0.192/26", "10.65.9.0/24", "10.65.16.0/20"]);
    expect(textOf(fromThere)).toEqual(["10.65.9.0/24", "10.65.16.0/20"]);
    expect(textOf(one)).toEqual(["10.65.0.192/26"]);
    expect(empty).toEqual([{ cidr: parsePrefix("10.65.16.0/20"), node: "n3", since: 1000 }]);
    expect(textOf(empty6)).toEqual(["2001:db8::/122"]);
  });

  test("the block of an address is found whatever its length", async () => {
    await fill();
    const addresses = [
      "10.65.0.191",
      "10.65.0.192",
      "10.65.1.31",
      "10.65.9.255",
      "10.65.31.255",
      "9.255.255.255",
      "2001:db8::7f",
      "100:6500::fff",
    ];
    const found = await datastore.read(addresses.map((text) => ({ type: "block-of-address", address: parseAddress(text) }) as const));
    expect(found.map((ref) => ref && toPrefixText(ref.cidr))).toEqual([
      undefined,
      "10.65.0.192/26",
      "10.65.1.0/27",
      "10.65.9.0/24",
      "10.65.16.0/20",
      "9.255.255.255/32",
      "2001:db8::40/122",
      "100:6500::/116",
    ]);
  });

  test("all blocks are those of one family when one is asked for", async () => {
    await fill();
    const [all, v4, v6] = await datastore.read([
      { type: "all-blocks" },
      { type: "all-blocks", family: 4 },
      { type: "all-blocks", family: 6 },
    ]);
    expect([all.length, v4.length, v6.length]).toEqual([9, 6, 3]);
    expect(v6.every(({ value }) => value.cidr.family === 6)).toBe(true);
  });
}

function describeWatch(datastore: Datastore): void {
  /** Collects events until `count` of them came. */
  async function take(events: AsyncIterator<WatchEvent>, count: number): Promise<readonly WatchEvent[]> {
    const taken: WatchEvent[] = [];
    while (taken.length < count) {
      const { done, value } = await events.next();
      if (done === true) throw new Error(`the watch ended after ${JSON.stringify(taken)}`);
      taken.push(value);
    }
    return taken;
  }

  function toText(event: WatchEvent): string {
    switch (event.type) {
      case "put":
        return `put ${event.stored.value.metadata.name}`;
      case "put-block":
        return `put-block ${event.stored.value.node}`;
      case "delete":
        return `delete ${event.ref.name}`;
      case "delete-block":
        return `delete-block ${event.ref.node}`;
      default:
        return event.type;
    }
  }

  test("a watch gives a snapshot, then what changes of its kinds, until it is ended", async () => {
    await commit(datastore, { op: "create", resource: makePool("a") }, { op: "create-block", block: makeBlock("10.65.0.0/30", "n1") });
    const ending = new AbortController();
    const events = datastore.watch({ kinds: ["IPPool", "IPAMBlock"], signal: ending.signal })[Symbol.asyncIterator]();
    expect((await take(events, 4)).map(toText)).toEqual(["reset", "put a", "put-block n1", "in-sync"]);

    const revision = await commit(datastore, { op: "create", resource: makePool("b") });
    const [put] = await take(events, 1);
    expect(put).toEqual({
      type: "put",
      stored: { value: { ...makePool("b"), metadata: { name: "b", resourceVersion: revision } }, revision },
    });

    await commit(datastore, { op: "create", resource: makeEndpoint("default", "unwanted") });
    await commit(datastore, { op: "delete", ref: poolRef("a") });
    expect((await take(events, 1)).map(toText)).toEqual(["delete a"]);

    const previous = await readBlock(datastore, makeBlock("10.65.0.0/30", "n1"));
    await commit(datastore, { op: "update-block", block: makeBlock("10.65.0.0/30", "n2"), previous });
    expect((await take(events, 2)).map(toText)).toEqual(["delete-block n1", "put-block n2"]);
    await commit(datastore, { op: "delete-block", previous: await readBlock(datastore, makeBlock("10.65.0.0/30", "n2")) });
    expect((await take(events, 1)).map(toText)).toEqual(["delete-block n2"]);

    const last = events.next();
    ending.abort();
    expect((await last).done).toBe(true);
  });

  test("a watch misses nothing of what is written while it begins", async () => {
    const ending = new AbortController();
    const events = datastore.watch({ kinds: ["IPPool"], signal: ending.signal })[Symbol.asyncIterator]();
    const names = Array.from({ length: 40 }, (_, index) => `pool-${index}`);
    const writing = (async () => {
      for (const name of names) await commit(datastore, { op: "create", resource: makePool(name) });
    })();
    const seen = new Set<string>();
    while (seen.size < names.length) {
      const { done, value } = await events.next();
      if (done === true) throw new Error("the watch ended");
      if (value.type === "put") seen.add(value.stored.value.metadata.name);
    }
    await writing;
    ending.abort();
    expect([...seen].sort()).toEqual([...names].sort());
  });
}

function describeLimits(datastore: Datastore): void {
  test("two writes of one commit may not change the same thing", async () => {
    const twice = [
      { op: "create", resource: makePool("a") },
      { op: "delete", ref: poolRef("a") },
    ] as const;
    await expect(datastore.commit(twice)).rejects.toThrow("two of them change the same resource or block");
  });

  test("a block does not become another block", async () => {
    const block = makeBlock("10.65.0.0/30", "n1");
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    await expect(datastore.commit([{ op: "update-block", block: makeBlock("10.65.0.4/30", "n1"), previous }])).rejects.toThrow(
      "update block",
    );
  });

  test("a signal that aborts ends a request with the reason it gives", async () => {
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 5 s");
    await expect(datastore.read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(datastore.read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      kind: "tryAgainLater",
    });
  });

  test("any number of queries is answered from one read, in order", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `p${index}`);
    await commit(datastore, { op: "create", resource: makePool("p299") });
    const answers = await datastore.read(names.map((name) => ({ type: "get", ref: poolRef(name) }) as const));
    expect(answers.map((stored) => stored?.value.metadata.name)).toEqual([...names.slice(0, -1).map(() => undefined), "p299"]);
    expect(await datastore.read([])).toEqual([]);
  });

  test("a list of any length is complete", async () => {
    const names = Array.from({ length: 2_345 }, (_, index) => `p${String(index).padStart(4, "0")}`);
    for (let start = 0; start < names.length; start += 120) {
      await commit(datastore, ...names.slice(start, start + 120).map((name) => ({ op: "create", resource: makePool(name) }) as const));
    }
    const [pools, conflict] = await Promise.all([
      ask(datastore, { type: "list", kind: "IPPool" }),
      datastore.commit([{ op: "create", resource: makePool("p0000") }], { readOnConflict: [{ type: "list", kind: "IPPool" }] }),
    ]);
    expect(pools.map(({ value }) => value.metadata.name)).toEqual(names);
    expect(conflict.committed ? [] : conflict.current[0].map(({ value }) => value.metadata.name)).toEqual(names);
  });
}
