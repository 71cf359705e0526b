import { describe, expect, test } from "bun:test";
import { failureOf } from "../../test/support/failure-of.ts";
import { createIpamWorld, type IpamWorld, requestFor, textsOf } from "../../test/support/ipam/ipam.ts";
import type { IPPoolSpec } from "../api/ip-pool.ts";
import type { Resource } from "../api/resource.ts";
import type { Answers, CommitOptions, Query, ReadOptions, Stored, Write } from "../datastore/datastore.ts";
import { MemoryDatastore } from "../datastore/memory/memory-datastore.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { allocate } from "./allocate.ts";
import { IP_POOLS } from "./cluster.ts";
import { toPoolTable } from "./pools.ts";

/** Pools by name; each has one block's worth of addresses unless it says otherwise. */
async function worldWith(pools: Readonly<Record<string, Partial<IPPoolSpec> & { readonly cidr: string }>>): Promise<IpamWorld> {
  const world = await createIpamWorld();
  for (const [name, { cidr, ...spec }] of Object.entries(pools)) await world.putPool(name, cidr, spec);
  return world;
}

const refusal = (kind: string, message: string) => ({ kind, message: expect.stringContaining(message) });

describe("pools that a request names", () => {
  const pools = {
    blue: { cidr: "10.65.0.0/24" },
    green: { cidr: "10.66.0.0/24" },
    six: { cidr: "fd00:65::/64" },
    off: { cidr: "10.67.0.0/24", disabled: true },
    tunnels: { cidr: "10.68.0.0/24", allowedUses: ["Tunnel"] },
    balancers: { cidr: "10.69.0.0/24", allowedUses: ["LoadBalancer"] },
  } as const;

  test.each<[readonly string[], RegExp]>([
    [["green"], /^10\.66\./],
    [["10.66.0.0/24"], /^10\.66\./],
    [["green", "blue"], /^10\.66\./],
    [["blue", "10.66.0.0/24"], /^10\.65\./],
    [["blue", "blue", "10.65.0.0/24"], /^10\.65\./],
  ])("%j: are used in that order", async (named, wanted) => {
    const world = await worldWith(pools);
    expect(await world.add("c1", "n1", { pools: { 4: named } })).toEqual([expect.stringMatching(wanted)]);
  });

  test("are known by any spelling of their CIDR", async () => {
    const world = await worldWith(pools);
    expect(await world.add("c1", "n1", { families: [6], pools: { 6: ["FD00:0065:0:0::/64"] } })).toEqual([
      expect.stringMatching(/^fd00:65::/),
    ]);
  });

  test("are drained one after the other", async () => {
    const world = await worldWith({ a: { cidr: "10.65.0.0/31", blockSize: 31 }, b: { cidr: "10.66.0.0/31", blockSize: 31 } });
    const given: string[] = [];
    for (let i = 0; i < 4; i++) given.push(...(await world.add(`c${i}`, "n1", { pools: { 4: ["b", "a"] } })));
    expect(given).toEqual(["10.66.0.0", "10.66.0.1", "10.65.0.0", "10.65.0.1"]);
    const failure = await failureOf(world.add("c9", "n1", { pools: { 4: ["b", "a"] } }));
    expect(failure).toMatchObject(refusal("noAddressLeft", 'pool "b" (10.66.0.0/31): full: all 2 addresses are in use; pool "a"'));
  });

  test("are all that select the node when the list is empty", async () => {
    const world = await worldWith(pools);
    expect(await world.add("c1", "n1", { pools: { 4: [] } })).toEqual([expect.stringMatching(/^10\.65\./)]);
  });

  test("and that make no sense are refused with what is wrong", async () => {
    const world = await worldWith({ good: { cidr: "10.65.0.0/24" }, wrong: { cidr: "10.66.0.0/24", blockSize: 16 } });
    expect(await failureOf(world.add("c1", "n1", { pools: { 4: ["wrong"] } }))).toMatchObject(
      refusal("poolUnusable", 'use pool "wrong": its blockSize 16 does not fit 10.66.0.0/24'),
    );
  });

  test("which cannot be used, and where they are named", async () => {
    const world = await worldWith(pools);
    const asked = { pools: { 4: ["off"] }, namedBy: { 4: 'annotation "a" of namespace "shop"' } };
    const message = 'use pool "off": it is disabled; annotation "a" of namespace "shop" names it';
    expect(await failureOf(world.add("c1", "n1", asked))).toMatchObject(refusal("poolUnusable", message));
  });

  test("which are full, and where they are named", async () => {
    const world = await worldWith({ one: { cidr: "10.70.0.0/32", blockSize: 32 } });
    const asked = { pools: { 4: ["one"] }, namedBy: { 4: 'annotation "a" of namespace "shop"' } };
    await world.add("c1", "n1", asked);
    const message = 'full: its only address is in use; annotation "a" of namespace "shop" names no other pool';
    expect(await failureOf(world.add("c2", "n1", asked))).toMatchObject(refusal("noAddressLeft", message));
  });

  test.each<[4 | 6, readonly string[], string]>([
    [4, ["nope"], 'use pool "nope": no pool has this name or exactly this CIDR; IPv4 pools are'],
    [4, ["Blue"], 'use pool "Blue": no pool has this name'],
    [4, ["10.65.0.0/25"], 'use pool "10.65.0.0/25": no pool has this name or exactly this CIDR'],
    [4, ["10.65.0.0/23"], "no pool has this name or exactly this CIDR"],
    [4, ["10.65.0.7/24"], "no pool has this name or exactly this CIDR"],
    [4, ["10.65.0.0"], "no pool has this name or exactly this CIDR"],
    [4, ["blue", "nope"], 'use pool "nope"'],
    [4, ["six"], 'use pool "six": it is an IPv6 pool, listed for IPv4'],
    [4, ["fd00:65::/64"], "it is an IPv6 pool, listed for IPv4"],
    [6, ["10.65.0.0/24"], "it is an IPv4 pool, listed for IPv6"],
    [4, ["off"], 'use pool "off": it is disabled'],
    [4, ["10.67.0.0/24"], 'use pool "10.67.0.0/24": it is disabled'],
    [4, ["tunnels"], 'use pool "tunnels": it allows Tunnel, not Workload'],
    [4, ["balancers"], "it allows LoadBalancer, not Workload"],
  ])("IPv%p from %j is refused: %p", async (family, named, message) => {
    const world = await worldWith(pools);
    expect(await failureOf(world.add("c1", "n1", { families: [family], pools: { [family]: named } }))).toMatchObject(
      refusal("poolUnusable", message),
    );
    expect(await world.blocks()).toEqual([]);
  });

  test("give their addresses whatever their selectors and assignment mode", async () => {
    const world = await worldWith({
      a: {
        cidr: "10.65.0.0/24",
        nodeSelector: 'zone == "x"',
        namespaceSelector: 'team == "t"',
        podSelector: "has(app)",
        assignmentMode: "Manual",
      },
    });
    expect(await world.add("c1", "n1", { pools: { 4: ["a"] } })).toEqual([expect.stringMatching(/^10\.65\./)]);
    expect(await failureOf(world.add("c2", "n1"))).toMatchObject(refusal("noAddressLeft", 'pool "a": its assignmentMode is Manual'));
  });

  test("hold for their family only", async () => {
    const world = await worldWith(pools);
    expect(await world.add("c1", "n1", { families: [4, 6], pools: { 4: ["green"] } })).toEqual([
      expect.stringMatching(/^10\.66\./),
      expect.stringMatching(/^fd00:65::/),
    ]);
  });
});

describe("pools that nobody names", () => {
  test("are used by name, and only where their selectors say so", async () => {
    const world = await worldWith({
      a: { cidr: "10.65.0.0/24", nodeSelector: 'zone == "x"' },
      b: { cidr: "10.66.0.0/24", namespaceSelector: 'team == "t"' },
      c: { cidr: "10.67.0.0/24", nodeSelector: "!has(zone)" },
      d: { cidr: "10.68.0.0/24" },
    });
    await world.put("Node", "x1", {}, { labels: { zone: "x" } });
    await world.put("Node", "y1", {}, { labels: { zone: "y" } });
    await world.put("Node", "y2", {}, { labels: { zone: "y" } });
    expect(await world.add("c1", "x1")).toEqual([expect.stringMatching(/^10\.65\./)]);
    expect(await world.add("c2", "y1")).toEqual([expect.stringMatching(/^10\.68\./)]);
    expect(await world.add("c3", "y2", { namespaceLabels: { team: "t" } })).toEqual([expect.stringMatching(/^10\.66\./)]);
    // Blocks that a node has come before a block of a pool with an earlier name.
    expect(await world.add("c5", "y1", { namespaceLabels: { team: "t" } })).toEqual([expect.stringMatching(/^10\.68\./)]);
    expect(await world.add("c4", "no-node-object")).toEqual([expect.stringMatching(/^10\.67\./)]);
  });

  test("with a podSelector are for pods of those labels, on nodes and in namespaces that the pool selects, too", async () => {
    const world = await worldWith({
      all: { cidr: "10.65.0.0/24", nodeSelector: 'zone == "x"', namespaceSelector: "has(team)", podSelector: 'app == "mail"' },
      mail: { cidr: "10.66.0.0/24", podSelector: 'app == "mail"' },
      rest: { cidr: "10.67.0.0/24", podSelector: 'app != "mail"' },
    });
    await world.put("Node", "x1", {}, { labels: { zone: "x", app: "mail" } });
    const [team, mail] = [{ namespaceLabels: { team: "t" } }, { podLabels: { app: "mail" } }];
    const asked = [
      ["x1", {}, /^10\.67\./],
      ["x1", { ...team, podLabels: { app: "web" } }, /^10\.67\./],
      ["x1", { namespaceLabels: { team: "t", app: "mail" } }, /^10\.67\./],
      ["x1", { podLabels: { app: "mail", team: "t", zone: "x" } }, /^10\.66\./],
      ["y1", { ...team, ...mail }, /^10\.66\./],
      ["x2", { ...team, ...mail }, /^10\.66\./],
    ] as const;
    for (const [i, [node, labels, wanted]] of asked.entries())
      expect(await world.add(`c${i}`, node, labels)).toEqual([expect.stringMatching(wanted)]);
    // Blocks that a node has come before a block of a pool with an earlier name.
    for (const c of ["c1", "c3"]) await world.del(c, "x1");
    await world.put("Node", "x3", {}, { labels: { zone: "x" } });
    expect(await world.add("c9", "x3", { ...team, ...mail })).toEqual([expect.stringMatching(/^10\.65\./)]);
  });

  test.each([
    ["absent", {}],
    ["empty", { podSelector: "" }],
    ["all()", { podSelector: "all()" }],
  ])("whose podSelector is %s are for every pod, and for what is none", async (_, spec) => {
    const world = await worldWith({ a: { cidr: "10.65.0.0/24", ...spec } });
    expect(await world.add("c1", "n1", { podLabels: { app: "mail" } })).toHaveLength(1);
    expect(await world.add("c2", "n1")).toHaveLength(1);
  });

  test("are told one by one when none will do", async () => {
    const world = await worldWith({
      manual: { cidr: "10.65.0.0/24", assignmentMode: "Manual" },
      off: { cidr: "10.66.0.0/24", disabled: true },
      other: { cidr: "10.67.0.0/24", nodeSelector: "has(zone)" },
      mail: { cidr: "10.71.0.0/24", podSelector: 'app == "mail"' },
      team: { cidr: "10.68.0.0/24", namespaceSelector: "has(team)" },
      tunnels: { cidr: "10.69.0.0/24", allowedUses: ["Tunnel"] },
      six: { cidr: "fd00:65::/64" },
      wrong: { cidr: "10.70.0.0/24", nodeSelector: "has(" },
    });
    expect(await failureOf(world.add("c1", "n1"))).toMatchObject({
      kind: "noAddressLeft",
      message:
        'allocate an IPv4 address on node "n1": no address left: pool "mail": its podSelector \'app == "mail"\' does not match the pod\'s labels (none are known); ' +
        'pool "manual": its assignmentMode is Manual: it must be named; pool "off": it is disabled; ' +
        'pool "other": its nodeSelector "has(zone)" does not match node "n1"; ' +
        'pool "team": its namespaceSelector "has(team)" does not match the namespace\'s labels (none are known); pool "tunnels": it allows Tunnel, not Workload; ' +
        'pool "wrong": its nodeSelector "has(" is no selector: at character 5 got the end, want a label; correct it by "netplugctl patch ippool wrong"',
    });
    const { message } = await failureOf(world.add("c1", "n1", { podLabels: { app: "web" }, namespaceLabels: { zone: "x" } }));
    for (const whose of ["namespace", "pod"]) expect(message).toContain(` does not match the ${whose}'s labels; `);
  });

  test("that are left out because they make no sense are told about, where others give the address too", async () => {
    const world = await worldWith({
      good: { cidr: "10.65.0.0/24" },
      other: { cidr: "10.66.0.0/24", nodeSelector: "has(zone)" },
      six: { cidr: "fd00:65::/64", nodeSelector: "zone = a" },
      pods: { cidr: "10.71.0.0/24", podSelector: "has(app" },
      team: { cidr: "10.68.0.0/24", namespaceSelector: "zone = a" },
      wrong: { cidr: "10.70.0.0/24", nodeSelector: "has(" },
    });
    await world.put("IPPool", "none", {});
    const told = async (asked: Parameters<typeof requestFor>[2]): Promise<readonly string[]> => {
      const defects = new Set<string>();
      expect(textsOf(await allocate(world.ports, requestFor("c1", "n1", asked), { defects }))).toEqual([
        expect.stringMatching(/^10\.65\./),
      ]);
      await world.del("c1", "n1");
      return [...defects];
    };
    expect(await told({})).toEqual([
      'pool "none" is left out: it has no CIDR; correct it by "netplugctl patch ippool none"',
      'pool "pods" is left out: its podSelector "has(app" is no selector: at character 8 got the end, want ")"; ' +
        'correct it by "netplugctl patch ippool pods"',
      'pool "team" is left out: its namespaceSelector "zone = a" is no selector: at character 6 got "=", ' +
        'want "==", "!=", "in", "not in", "contains", "starts with" or "ends with"; correct it by "netplugctl patch ippool team"',
      'pool "wrong" is left out: its nodeSelector "has(" is no selector: at character 5 got the end, want a label; ' +
        'correct it by "netplugctl patch ippool wrong"',
    ]);
    // Whoever names a pool means that one, whatever its selector.
    expect(await told({ pools: { 4: ["good"] } })).toEqual([]);
    expect(await world.add("c2", "n1", { pools: { 4: ["wrong"] } })).toEqual([expect.stringMatching(/^10\.70\./)]);
  });

  test("that make no sense are named to whoever asks for an address that lies in no other", async () => {
    const world = await worldWith({ good: { cidr: "10.65.0.0/24" } });
    await world.put("IPPool", "wrong", { cidr: "10.66.0.0/24", blockSize: 16 });
    const failure = await failureOf(world.add("c1", "n1", { addresses: [parseAddress("10.66.0.1")] }));
    const left =
      'pool "wrong" is left out: its blockSize 16 does not fit 10.66.0.0/24: want 24..32; make another pool, and "netplugctl delete ippool wrong"';
    expect(failure).toMatchObject({
      kind: "addressOutsidePools",
      message: `use address "10.66.0.1": it lies in no pool; IPv4 pools are "good" (10.65.0.0/24); ${left}`,
    });
  });

  describe("that are none, by what is stored in their place,", () => {
    /** The pool "wrong", older than "good" and with the same addresses, which cannot be read until somebody repairs it: before our first block. */
    class RepairedLate extends MemoryDatastore {
      isRepaired = false;

      override async read<const Qs extends readonly Query[]>(queries: Qs, options?: ReadOptions): Promise<Answers<Qs>> {
        const answers: readonly unknown[] = await super.read(queries, options);
        const hide = (stored: Stored<Resource>): Stored<Resource> =>
          stored.value.metadata.name === "wrong" ? { ...stored, value: { ...stored.value, spec: {} }, isUnreadable: true } : stored;
        const isHidden = (i: number): boolean => !this.isRepaired && Bun.deepEquals(queries[i], IP_POOLS);
        const shown = answers.map((answer, i) => (isHidden(i) ? (answer as readonly Stored<Resource>[]).map(hide) : answer));
        return shown as unknown as Answers<Qs>; // the shape stays
      }

      override async commit<const Qs extends readonly Query[] = readonly []>(writes: readonly Write[], options?: CommitOptions<Qs>) {
        if (!this.isRepaired && writes.some(({ op }) => op === "create-block")) {
          this.isRepaired = true;
          const [stored] = await super.read([{ type: "get", ref: { kind: "IPPool", name: "wrong" } }]);
          if (stored !== undefined) await super.commit([{ op: "update", resource: stored.value, revision: stored.revision }]);
        }
        return await super.commit(writes, options);
      }
    }

    async function worldWithWrong() {
      const datastore = new RepairedLate();
      const world = await createIpamWorld(datastore);
      await world.putPool("wrong", "10.65.0.0/30", { blockSize: 30 }, "2026-01-01T00:00:00Z");
      await world.putPool("good", "10.65.0.0/31", { blockSize: 32 }, "2026-02-01T00:00:00Z");
      return { datastore, world };
    }

    const reason = 'what is stored in its place is no pool; make another pool, and "netplugctl delete ippool wrong"';

    test("are left out, and told about", async () => {
      const { datastore, world } = await worldWithWrong();
      const [listed] = await datastore.read([IP_POOLS]);
      expect(toPoolTable(listed).pools.map(({ name, unusable }) => [name, unusable])).toEqual([["good", undefined]]);
      expect(await failureOf(world.add("c1", "n1", { pools: { 4: ["wrong"] } }))).toMatchObject({
        kind: "poolUnusable",
        message: `use pool "wrong": ${reason}`,
      });
      expect(await failureOf(world.add("c1", "n1", { families: [6] }))).toMatchObject(refusal("noAddressLeft", `pool "wrong": ${reason}`));
    });

    test("and are repaired while a block is claimed get no block of another size among theirs", async () => {
      const { world } = await worldWithWrong();
      expect(await world.add("c1", "n1")).toEqual(["10.65.0.0"]);
      expect(await world.blocks()).toEqual(["10.65.0.0/30 n1 1/4"]);
    });
  });

  test("for tunnels are those that allow it", async () => {
    const world = await worldWith({
      pods: { cidr: "10.65.0.0/24", allowedUses: ["Workload"] },
      tunnels: { cidr: "10.66.0.0/24", allowedUses: ["Tunnel"] },
    });
    expect(await world.add("t", "n1", { use: "Tunnel" })).toEqual([expect.stringMatching(/^10\.66\./)]);
    expect(await world.add("c", "n1")).toEqual([expect.stringMatching(/^10\.65\./)]);
  });

  test("that no longer select the node keep what was given, and give nothing more, from its blocks neither", async () => {
    const world = await worldWith({ a: { cidr: "10.65.0.0/24" }, b: { cidr: "10.66.0.0/24" } });
    const first = await world.add("c1", "n1");
    await world.putPool("a", "10.65.0.0/24", { nodeSelector: "has(zone)" });
    expect(await world.add("c2", "n1")).toEqual([expect.stringMatching(/^10\.66\./)]);
    expect(await world.add("c1", "n1")).toEqual(first);
    expect(await world.del("c1", "n1")).toEqual(first);
  });

  test("that are written past the validation are named with what is wrong", async () => {
    const world = await createIpamWorld();
    for (const [name, spec] of Object.entries({
      a: {},
      b: { cidr: "10.65.0.1/24" },
      c: { cidr: "10.66.0.0/24", blockSize: 16 },
      d: { cidr: "10.67.0.0/28", blockSize: 26 },
      e: { cidr: "10.68.0.0/24", allowedUses: "Workload" },
      f: { cidr: "10.69.0.0/24", nodeSelector: 7 },
      g: { cidr: "10.70.0.0/24", namespaceSelector: 7 },
      j: { cidr: "10.73.0.0/24", podSelector: 7 },
      k: { cidr: "10.74.0.0/24", podSelector: null },
      h: { cidr: "10.71.0.0/24", blockSize: 33 },
      i: { cidr: "10.72.0.0/24", blockSize: 26.5 },
    }))
      await world.put("IPPool", name, spec);
    const message = String(await failureOf(world.add("c1", "n1")));
    for (const part of [
      'pool "a": it has no CIDR',
      'pool "b": its CIDR "10.65.0.1/24" is invalid',
      'pool "c": its blockSize 16 does not fit 10.66.0.0/24: want 24..32',
      'pool "d": its blockSize 26 does not fit 10.67.0.0/28: want 28..32',
      'pool "e": its allowedUses is no list',
      'pool "f": its selectors are no texts',
      'pool "g": its selectors are no texts',
      'pool "j": its selectors are no texts',
      'pool "k": its selectors are no texts',
      'pool "h": its blockSize 33 does not fit 10.71.0.0/24: want 24..32',
      'pool "i": its blockSize 26.5 does not fit 10.72.0.0/24: want 24..32',
    ])
      expect(message).toContain(part);
  });
});

describe("of overlapping pools", () => {
  test("only the oldest is usable, then the first by name", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/16", {}, "2026-03-01T00:00:00Z");
    await world.putPool("b", "10.65.1.0/24", {}, "2026-02-01T00:00:00Z");
    await world.putPool("c", "10.66.0.0/24", {}, "2026-02-01T00:00:00Z");
    await world.putPool("d", "10.66.0.0/24", {}, "2026-02-01T00:00:00Z");
    await world.putPool("e", "10.65.2.0/24", {}, "2026-04-01T00:00:00Z"); // overlaps only one that is not used itself
    expect(await world.add("c1", "n1", { pools: { 4: ["b"] } })).toEqual([expect.stringMatching(/^10\.65\.1\./)]);
    expect(await failureOf(world.add("c2", "n1", { pools: { 4: ["a"] } }))).toMatchObject(
      refusal("poolUnusable", 'use pool "a": it overlaps the older pool "b" (10.65.1.0/24)'),
    );
    expect(await world.add("c3", "n1", { pools: { 4: ["c"] } })).toEqual([expect.stringMatching(/^10\.66\.0\./)]);
    expect(await failureOf(world.add("c4", "n1", { pools: { 4: ["d"] } }))).toMatchObject(
      refusal("poolUnusable", 'it overlaps pool "c" (10.66.0.0/24), as old and first by name'),
    );
    expect(await world.add("c5", "n1", { pools: { 4: ["e"] } })).toEqual([expect.stringMatching(/^10\.65\.2\./)]);
    expect(await failureOf(world.add("c6", "n1", { addresses: [parseAddress("10.65.9.9")] }))).toMatchObject(
      refusal("addressOutsidePools", 'pool "a" (10.65.0.0/16) cannot be used: it overlaps the older pool "b"'),
    );
  });

  test.each([["a"], ["b"]])("of one CIDR, that CIDR means the one that can be used: %s", async (oldest) => {
    const world = await createIpamWorld();
    for (const name of ["a", "b"])
      await world.putPool(name, "10.65.0.0/24", {}, name === oldest ? "2026-01-01T00:00:00Z" : "2026-02-01T00:00:00Z");
    expect(await world.add("c1", "n1", { pools: { 4: ["10.65.0.0/24"] } })).toHaveLength(1);
  });

  test("that were made one after the other with blocks of another size, no block overlaps an older one", async () => {
    const world = await createIpamWorld();
    await world.putPool("old", "10.65.0.0/26", { blockSize: 28 });
    await world.add("c1", "n1", { addresses: [parseAddress("10.65.0.20")] });
    await world.datastore.commit([{ op: "delete", ref: { kind: "IPPool", name: "old" } }]);
    await world.putPool("new", "10.65.0.0/26", { blockSize: 27 });
    expect(await failureOf(world.add("c2", "n2", { addresses: [parseAddress("10.65.0.2")] }))).toMatchObject(
      refusal("addressOutsidePools", 'its block "10.65.0.0/27" would overlap the claimed block "10.65.0.16/28" of node "n1"'),
    );
    expect(await world.add("c3", "n2")).toEqual(["10.65.0.32"]);
    expect(await world.blocks()).toEqual(["10.65.0.16/28 n1 1/16", "10.65.0.32/27 n2 1/32"]);
  });
});
