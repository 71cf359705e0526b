import { describe, expect, test } from "bun:test";
import { failureOf } from "../../test/support/failure-of.ts";
import { createIpamWorld, requestFor, textsOf } from "../../test/support/ipam/ipam.ts";
import { changedAfter, changedBefore } from "../../test/support/ipam/faulty-datastore.ts";
import { allocateAll } from "../../test/support/ipam/ipam-operations.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { inFrontOf } from "../datastore/in-front-of.ts";
import { KUBERNETES_TRAITS } from "../datastore/traits.ts";
import { NetplugError } from "../lib/errors.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { toPrefixText } from "../lib/ip/prefix.ts";
import { allocate } from "./allocate.ts";
import { newBlock } from "./block.ts";

describe("allocate()", () => {
  test("claims a block for a node that has none, with two reads and one write", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/16");
    const before = world.datastore.requests.roundTrips;
    const [address] = await allocate(world.ports, requestFor("c1", "n1"));
    expect(world.datastore.requests.roundTrips - before).toBe(3);
    expect(address?.isNew).toBe(true);
    expect(await world.blocks()).toEqual([`${toPrefixText(address?.block ?? never())} n1 1/64`]);
  });

  test("on Kubernetes does not fail on a list of pools that may be old: it asks for the newest", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/16");
    const { datastore } = world;
    const read: Datastore["read"] = async (queries, options) => {
      const answers = await datastore.read(queries, options);
      const isOld = (i: number): boolean => options?.mayLag === true && queries[i]?.type === "list";
      return answers.map((answer, i) => (isOld(i) ? [] : answer)) as unknown as typeof answers; // the shape stays
    };
    const lagging = asOnKubernetes(inFrontOf(datastore, { read }));
    expect(await allocate({ ...world.ports, datastore: lagging, mayLag: true }, requestFor("c1", "n1"))).toHaveLength(1);
  });

  describe("on Kubernetes, where each block is a write of its own,", () => {
    /** The first commit is refused between its IPv6 block and its IPv4 block: that pool is disabled meanwhile, or a lock set, or no more than that. */
    async function tryBetweenBlocks(happens: "disabled" | "locked" | "refused", beforeCommit = (): void => {}) {
      const world = await createIpamWorld();
      await world.putPool("a4", "10.65.0.0/30", { blockSize: 30 });
      await world.putPool("a6", "fd65::/126", { blockSize: 126 });
      const torn = asOnKubernetes(
        changedBefore(world.datastore, "create-block", async (writes) => {
          const first = await world.datastore.commit(
            writes.filter((write) => write.op === "create-block" && write.block.cidr.family === 6),
          );
          expect(first.committed).toBe(true);
          if (happens === "disabled") await world.putPool("a4", "10.65.0.0/30", { blockSize: 30, disabled: true });
          if (happens === "locked")
            await world.put("ClusterInformation", "default", { datastoreReady: false, clusterGUID: "0".repeat(32) });
        }),
      );
      const request = requestFor("c1", "n1", { families: [4, 6] });
      const failure = await failureOf(allocate({ ...world.ports, datastore: torn }, request, { beforeCommit }));
      return { failure, blocks: await world.blocks() };
    }

    test.each([
      ["has space", 26, ["10.65.0.0/26 n1 2/64"]],
      ["is full", 32, ["10.65.0.0/32 n1 1/1"]],
    ])("a block that the node claimed after its blocks were read, and which %s, counts as its own", async (_, blockSize, blocks) => {
      const world = await createIpamWorld();
      await world.putPool("a", `10.65.0.0/${blockSize - 1}`, { blockSize });
      await world.put("IPAMConfiguration", "default", { maxBlocksPerHost: 1, strictAffinity: true });
      // Another process of the node is done between this read and the one of the slots for a new block.
      const late = asOnKubernetes(changedAfter(world.datastore, "blocks-of-node", async () => void (await world.add("c1", "n1"))));
      const second = allocate({ ...world.ports, datastore: late }, requestFor("c2", "n1"));
      if (blockSize === 32) expect(await failureOf(second)).toMatchObject({ kind: "noAddressLeft" });
      else expect(textsOf(await second)).toHaveLength(1);
      expect((await world.blocks()).map((text) => text.replace(/10\.65\.0\.\d+/, "10.65.0.0"))).toEqual(blocks);
    });

    test("releases the one that it has when there is nothing left for the other", async () => {
      const { failure, blocks } = await tryBetweenBlocks("disabled");
      expect(failure).toMatchObject({ kind: "noAddressLeft", message: expect.stringContaining('pool "a4": it is disabled') });
      expect(blocks).toEqual(["fd65::/126 n1 0/4"]);
    });

    test("releases it also when the datastore was locked meanwhile", async () => {
      const { failure, blocks } = await tryBetweenBlocks("locked");
      expect(failure).toMatchObject({ kind: "tryAgainLater", message: expect.stringContaining("locked") });
      expect(blocks).toEqual(["fd65::/126 n1 0/4"]);
    });

    test("releases it also from an attachment that had another address, and leaves that", async () => {
      const world = await createIpamWorld();
      await world.putPool("a4", "10.65.0.0/30", { blockSize: 30 });
      await world.putPool("a6", "fd65::/126", { blockSize: 126 });
      expect(await world.add("c1", "n1")).toEqual(["10.65.0.0"]);
      const addresses = ["10.65.0.1", "fd65::1"].map((text) => parseAddress(text));
      const torn = asOnKubernetes(
        changedBefore(world.datastore, "create-block", async (writes) => {
          const first = await world.datastore.commit(writes.filter(({ op }) => op === "create-block"));
          expect(first.committed).toBe(true);
          await world.add("c2", "n1", { addresses: addresses.slice(0, 1) });
        }),
      );
      const again = allocate({ ...world.ports, datastore: torn }, requestFor("c1", "n1", { addresses }));
      expect(await failureOf(again)).toMatchObject({ kind: "addressInUse" });
      expect(await world.blocks()).toEqual(["10.65.0.0/30 n1 2/4", "fd65::/126 n1 0/4"]);
    });

    test("releases nothing for a caller who may not commit any more: somebody else may have it by now", async () => {
      let commits = 0;
      const { failure, blocks } = await tryBetweenBlocks("disabled", () => {
        if (commits++ > 0) throw new NetplugError("badNetns", "the namespace is gone");
      });
      expect(failure).toMatchObject({ kind: "noAddressLeft" });
      expect(blocks).toEqual(["fd65::/126 n1 1/4"]);
    });

    test("releases nothing when another reason than the request ends it: the caller finds the part", async () => {
      let commits = 0;
      const { failure, blocks } = await tryBetweenBlocks("refused", () => {
        if (commits++ === 1) throw new NetplugError("badNetns", "the namespace is gone");
      });
      expect(failure).toMatchObject({ kind: "badNetns" });
      expect(blocks).toEqual(["fd65::/126 n1 1/4"]);
    });
  });

  test("costs one read and one write on a node that owns a block with space", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/16");
    await world.add("c1", "n1");
    const before = world.datastore.requests.roundTrips;
    await world.add("c2", "n1");
    expect(world.datastore.requests.roundTrips - before).toBe(2);
  });

  test("gives the addresses of a block in order, a released one last", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
    expect(await world.add("c1", "n1")).toEqual(["10.65.0.0"]);
    expect(await world.add("c2", "n1")).toEqual(["10.65.0.1"]);
    expect(await world.del("c1", "n1")).toEqual(["10.65.0.0"]);
    expect(await world.add("c3", "n1")).toEqual(["10.65.0.2"]);
    expect(await world.add("c4", "n1")).toEqual(["10.65.0.3"]);
    expect(await world.add("c5", "n1")).toEqual(["10.65.0.0"]);
  });

  test.each([
    ["c1", "c3"],
    ["c3", "c1"],
  ])("gives of two blocks the address that was released longer ago: that of %s", async (earlier, later) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
    for (const name of ["c1", "c2", "c3", "c4"]) await world.add(name, "n1");
    const released = await world.del(earlier, "n1");
    await world.clock.advance(1_000);
    await world.del(later, "n1");
    expect(await world.add("c5", "n1")).toEqual(released);
  });

  test("gives an attachment that asks again the address that it has, without a write", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const first = await world.add("c1", "n1");
    const before = world.datastore.requests.roundTrips;
    expect(await world.add("c1", "n1")).toEqual(first);
    expect(world.datastore.requests.roundTrips - before).toBe(1);
  });

  test("leaves an attachment that asks again what it has, also when there is nothing left any more of another family", async () => {
    const world = await createIpamWorld();
    await world.putPool("a4", "10.65.0.0/30", { blockSize: 30 });
    await world.putPool("a6", "fd65::/128", { blockSize: 128 });
    await world.add("c1", "n1");
    const raced = changedBefore(world.datastore, "create-block", async () => await world.add("c2", "n2", { families: [6] }));
    const again = allocate({ ...world.ports, datastore: raced }, requestFor("c1", "n1", { families: [6] }));
    expect(await failureOf(again)).toMatchObject({ kind: "noAddressLeft" });
    expect(await world.blocks()).toEqual(["10.65.0.0/30 n1 1/4", "fd65::/128 n2 1/1"]);
  });

  test("gives a second interface of the same container its own address", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const request = requestFor("c1", "n1");
    const first = textsOf(await allocate(world.ports, request));
    const second = textsOf(await allocate(world.ports, { ...request, owner: { ...request.owner, ifName: "net1" } }));
    expect(second).not.toEqual(first);
  });

  test("gives an attachment of another network its own address, and a DEL of one takes nothing from the other", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const request = requestFor("c1", "n1");
    const first = await world.add("c1", "n1");
    const second = textsOf(await allocate(world.ports, { ...request, owner: { ...request.owner, network: "storage" } }));
    expect(second).not.toEqual(first);
    expect(await world.del("c1", "n1")).toEqual(first);
  });

  test.each([
    ["for an address of any kind", {}],
    ["for one that is asked for", { addresses: [parseAddress("10.65.0.7")] }],
  ])("gives nothing of a pool that was disabled after it was read, %s", async (_, wanted) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const datastore = changedBefore(world.datastore, "create-block", () => world.putPool("a", "10.65.0.0/24", { disabled: true }));
    const failure = await failureOf(allocate({ ...world.ports, datastore }, requestFor("c1", "n1", wanted)));
    expect(failure).toMatchObject({ message: expect.stringContaining("it is disabled") });
    expect(await world.blocks()).toEqual([]);
  });

  test("takes the second pool when the first is full, with two reads and one write", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 26 });
    await world.putPool("b", "10.66.0.0/24", { blockSize: 26 });
    for (let i = 0; i < 4; i++) for (let j = 0; j < 64; j++) await world.add(`c${i}.${j}`, `n${i}`, { pools: { 4: ["a"] } });
    const before = world.datastore.requests.roundTrips;
    const [address = ""] = await world.add("c", "n9");
    expect(address).toStartWith("10.66.0.");
    expect(world.datastore.requests.roundTrips - before).toBe(3);
  });

  test("claims a block elsewhere after a lost race, so that those who lost it do not meet again", async () => {
    const claims = new Set<string>();
    for (const random of [0.1, 0.5, 0.9]) {
      const world = await createIpamWorld();
      await world.putPool("a", "10.64.0.0/12");
      const datastore = changedBefore(world.datastore, "create-block", async (writes) => {
        const winner = writes.flatMap((write) => (write.op === "create-block" ? [newBlock(write.block.cidr, "n2", 1)] : []));
        await world.datastore.commit(winner.map((block) => ({ op: "create-block", block })));
      });
      const [given] = await allocate({ ...world.ports, datastore, random: () => random }, requestFor("c1", "n1"));
      claims.add(toPrefixText((given ?? never()).block));
    }
    expect(claims.size).toBe(3);
  });

  test("takes over an empty block of another node when no slot is left", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
    await world.add("c1", "n1");
    const [second = ""] = await world.add("c2", "n2");
    await world.del("c2", "n2");
    const [third = ""] = await world.add("c3", "n3");
    expect(await world.blocks()).toContainEqual(expect.stringMatching(/ n3 1\/2$/));
    expect(third).not.toBe(second); // released last
    expect(parseAddress(third).value ^ 1n).toBe(parseAddress(second).value);
  });

  test("borrows when there is neither, and releases what was borrowed by the attachment's identity", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
    await world.add("c1", "n1");
    await world.add("c2", "n2");
    const borrowed = await world.add("c3", "n3");
    expect(borrowed).toHaveLength(1);
    expect(await world.add("c3", "n3")).toEqual(borrowed);
    expect(await world.del("c3", "n3")).toEqual(borrowed);
    expect((await world.blocks()).map((text) => text.split(" ")[2])).toEqual(["1/2", "1/2"]);
  });

  test("releases nothing of an attachment of another node that is called the same, and borrowed from the same block", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/31", { blockSize: 31 });
    const [own] = await world.add("c1", "n1");
    const [borrowed] = await world.add("c1", "n2");
    expect(borrowed).not.toBe(own);
    expect(await world.del("c1", "n1")).toEqual([own ?? never()]);
    expect(await world.add("c1", "n2")).toEqual([borrowed ?? never()]);
  });

  test("gives an attachment not the address of one of another node that is called the same, and borrowed from its block", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/29", { blockSize: 29 });
    await world.add("c0", "n1");
    const [borrowed] = await world.add("c1", "n2");
    expect(await world.add("c1", "n1")).not.toEqual([borrowed]);
  });

  test("says of each pool why nothing is left", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/31", { blockSize: 31 });
    await world.putPool("b", "10.66.0.0/24", { disabled: true });
    await world.putPool("c", "10.67.0.0/24", { nodeSelector: 'zone == "x"' });
    await world.putPool("d", "10.65.0.0/24", {}, "2026-01-01T00:00:00Z");
    await world.add("c1", "n1");
    await world.add("c2", "n1");
    expect(await failureOf(world.add("c3", "n1"))).toMatchObject({
      kind: "noAddressLeft",
      message:
        'allocate an IPv4 address on node "n1": no address left: pool "a" (10.65.0.0/31): full: all 2 addresses are in use; ' +
        'pool "b": it is disabled; pool "c": its nodeSelector \'zone == "x"\' does not match node "n1"; ' +
        'pool "d": it overlaps the older pool "a" (10.65.0.0/31)',
    });
  });

  test("without any pool, names the command that makes one", async () => {
    const world = await createIpamWorld();
    expect(await failureOf(world.add("c1", "n1"))).toMatchObject({
      message: expect.stringMatching(/: there is no IPv4 pool; create one with "netplugctl create"$/),
    });
  });

  test("fails when one of both wanted families has no pool, and says which", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    expect(await failureOf(world.add("c1", "n1", { families: [4, 6] }))).toMatchObject({
      kind: "noAddressLeft",
      message: expect.stringMatching(
        /: there is no IPv6 pool; create one with "netplugctl create", or have pods get IPv4 alone: assign_ipv4 "true", assign_ipv6 "false"$/,
      ),
    });
    expect(await world.blocks()).toEqual([]);
    await world.putPool("b", "fd00:65::/112");
    expect(await world.add("c1", "n1", { families: [4, 6] })).toEqual([
      expect.stringMatching(/^10\.65\./),
      expect.stringMatching(/^fd00:65::/),
    ]);
  });

  test("tells of the annotation that asks for a family without a pool, not of the config", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const asked = { families: [6], namedBy: { families: 'annotation "f" of pod "default/web"' } } as const;
    expect(await failureOf(world.add("c1", "n1", asked))).toMatchObject({
      kind: "noAddressLeft",
      message: expect.stringMatching(
        /: there is no IPv6 pool; create one with "netplugctl create"; annotation "f" of pod "default\/web" names IPv6$/,
      ),
    });
  });

  test("tells not of it where the pool of that family is only full", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/31", { blockSize: 31 });
    await world.putPool("b", "10.66.0.0/24", { disabled: true });
    const asked = { families: [4], namedBy: { families: 'annotation "f" of pod "default/web"' } } as const;
    await world.add("c1", "n1", asked);
    await world.add("c2", "n1", asked);
    expect((await failureOf(world.add("c3", "n1", asked))).message).toEndWith('addresses are in use; pool "b": it is disabled');
  });

  test.each([
    ["does not exist", false],
    ["has gone when it is to be committed", true],
  ])("leaves an attachment the address that it had when another that it asks for %s", async (_, isThereAtFirst) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    if (isThereAtFirst) await world.putPool("b", "fd65::/112");
    await world.add("c1", "n1");
    const datastore = changedBefore(world.datastore, "create-block", () => world.putPool("b", "fd65::/112", { disabled: true }));
    const failure = await failureOf(allocate({ ...world.ports, datastore }, requestFor("c1", "n1", { families: [4, 6] })));
    expect(failure).toMatchObject({ kind: "noAddressLeft" });
    expect(await world.blocks()).toEqual([expect.stringContaining(" n1 1/64")]);
  });

  test("plans two requests of one attachment as one, also where another node lends the address", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
    for (const node of ["n2", "n3"]) await world.add("c", node);
    await world.add("c1", "n1"); // borrows from one of the two blocks, which then is full
    const [first, second] = await allocateAll(world.ports, [requestFor("c2", "n1"), requestFor("c2", "n1")]);
    expect(second).toEqual({ addresses: [expect.objectContaining({ isNew: false })] });
    const address = first !== undefined && "addresses" in first ? textsOf(first.addresses) : [];
    expect(second !== undefined && "addresses" in second && textsOf(second.addresses)).toEqual(address);
  });

  test("plans several requests as one write per block, and one that fails does not stop the others", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.add("c0", "n1");
    const before = world.datastore.requests.roundTrips;
    const requests = [requestFor("c1", "n1"), requestFor("c2", "n1", { pools: { 4: ["nope"] } }), requestFor("c3", "n1")];
    const outcomes = await allocateAll(world.ports, requests);
    expect(world.datastore.requests.roundTrips - before).toBe(2);
    expect(outcomes.map((outcome) => ("error" in outcome ? outcome.error.kind : "given"))).toEqual(["given", "poolUnusable", "given"]);
  });
});

function asOnKubernetes(datastore: Datastore): Datastore {
  return { ...datastore, traits: KUBERNETES_TRAITS };
}

function never(): never {
  throw new Error("missing");
}
