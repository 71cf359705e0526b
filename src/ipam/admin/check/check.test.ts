import { describe, expect, test } from "bun:test";
import { changedAfter } from "../../../../test/support/ipam/faulty-datastore.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../../../test/support/ipam/ipam.ts";
import { REPORTED_ADDRESSES } from "../../../api/reported-addresses.ts";
import { API_VERSION, type Resource } from "../../../api/resource.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { parsePrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { newBlock, take } from "../../block.ts";
import { allocate } from "../../allocate.ts";
import { checkConsistency } from "./check.ts";

/** Allocates for a container with an endpoint; `record` writes the endpoint too. */
async function addWithEndpoint(
  world: IpamWorld,
  name: string,
  { record = true, address = undefined as string | undefined } = {},
): Promise<string> {
  const request = requestFor(name, "n1");
  const owner = { ...request.owner, namespace: "default", endpoint: `n1-cni-${name}-eth0` };
  const [given] = await allocate(world.ports, { ...request, owner });
  const cidr = address ?? `${toPrefixText({ family: 4, base: given?.address.value ?? 0n, length: 32 })}`;
  if (record) await world.datastore.commit([{ op: "create", resource: endpointOf(owner.endpoint, [cidr]) }]);
  return cidr.split("/")[0] ?? "";
}

function endpointOf(name: string, ipNetworks: readonly string[], annotations: Readonly<Record<string, string>> = {}): Resource {
  const spec = { orchestrator: "cni", node: "n1", endpoint: "eth0", containerID: name, ipNetworks };
  return { apiVersion: API_VERSION, kind: "WorkloadEndpoint", metadata: { name, namespace: "default", annotations }, spec };
}

describe("checkConsistency()", () => {
  const problemsIn = async (world: IpamWorld) =>
    (await checkConsistency(world.datastore, world.clock)).problems.map((problem) => [problem.class, problem.object]);

  test("finds nothing where all agrees, other main plugins' addresses included", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("IPPool", "without-cidr", {});
    await world.put("Node", "other", {});
    await addWithEndpoint(world, "c1");
    await world.add("c2", "n1");
    const { owner } = requestFor("c3", "n1");
    await world.add("c3", "n1", { owner: { ...owner, pod: "web-0", namespace: "default" } });
    expect(await checkConsistency(world.datastore, world.clock)).toEqual({
      problems: [],
      warnings: [{ kind: "IPPool", object: "without-cidr", detail: expect.stringMatching(/^it has no CIDR; correct it by /) }],
      pools: 1,
      blocks: 1,
      allocations: 3,
      endpoints: 1,
      unread: [],
      silentLeaks: 0,
    });
  });

  test("does not take another endpoint, or another address of the same, for the owner", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const given: string[] = [];
    for (const name of ["c1", "c2", "c3", "c4"]) given.push(await addWithEndpoint(world, name, { record: false }));
    const [elsewhere = "", changed = "", anothers = "", ofAnotherInterface = ""] = given;
    const inShop = (resource: Resource): Resource => ({ ...resource, metadata: { ...resource.metadata, namespace: "shop" } });
    const record = endpointOf("c4", [`${ofAnotherInterface}/32`]);
    const records = [
      inShop(endpointOf("n1-cni-c1-eth0", [`${elsewhere}/32`])),
      endpointOf("n1-cni-c2-eth0", ["10.65.0.99/32"]),
      inShop(endpointOf("n1-cni-c2-eth0", ["10.65.0.98/32"])),
      endpointOf("n1-cni-c9-eth0", [`${anothers}/32`]),
      { ...record, spec: { ...(record.spec as object), endpoint: "net1" } },
    ];
    await world.datastore.commit(records.map((resource) => ({ op: "create", resource })));
    const leaks = (await checkConsistency(world.datastore, world.clock)).problems.filter((problem) => problem.class === "leaked-address");
    expect(leaks.map(({ object, detail }) => [object, detail.slice(detail.indexOf("for endpoint"))])).toEqual([
      [elsewhere, 'for endpoint "n1-cni-c1-eth0", which does not exist'],
      [changed, 'for endpoint "n1-cni-c2-eth0", which has other addresses'],
      [anothers, 'for endpoint "n1-cni-c3-eth0", which does not exist'],
      [ofAnotherInterface, 'for endpoint "n1-cni-c4-eth0", which does not exist'],
    ]);
  });

  test("takes an endpoint of the same attachment for the owner, whatever it calls the node", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("Node", "host-1", {});
    const address = await addWithEndpoint(world, "c1", { record: false });
    const record = endpointOf("host-1-cni-c1-eth0", []);
    const spec = { orchestrator: "cni", node: "host-1", endpoint: "eth0", containerID: "c1", ipNetworks: [`${address}/32`] };
    await world.datastore.commit([{ op: "create", resource: { ...record, spec } }]);
    expect(await problemsIn(world)).toEqual([]);
  });

  test("finds what a container has under the name of another node, which only that one's calls would look at", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const address = await addWithEndpoint(world, "c1", { record: false });
    const record = endpointOf("n2-cni-c1-eth0", []);
    const spec = { orchestrator: "cni", node: "n2", endpoint: "eth0", containerID: "c1", ipNetworks: [`${address}/32`] };
    await world.datastore.commit([{ op: "create", resource: { ...record, spec } }]);
    // perhaps n2 calls itself so
    expect(await problemsIn(world)).toEqual([]);
    await world.put("Node", "n1", {});
    expect(await problemsIn(world)).toEqual([["misnamed-node", address]]);
    await world.datastore.commit([{ op: "delete", ref: { kind: "Node", name: "n1" } }]);
    await addWithEndpoint(world, "c2");
    expect(await problemsIn(world)).toEqual([["misnamed-node", address]]);
    // Of two records of the container, as when a manifest brought a copy along, one is right.
    const own = { ...record, metadata: { ...record.metadata, name: "z-cni-c1-eth0" }, spec: { ...spec, node: "n1" } };
    await world.datastore.commit([{ op: "create", resource: own }]);
    expect(await problemsIn(world)).toEqual([["duplicate-address", address]]);
    const unplaced = { ...record, spec: { ...spec, node: "" } };
    const gone = ["n2", "z"].map((name) => ({ kind: "WorkloadEndpoint", namespace: "default", name: `${name}-cni-c1-eth0` }) as const);
    await world.datastore.commit(gone.map((ref) => ({ op: "delete", ref })));
    await world.datastore.commit([{ op: "create", resource: unplaced }]);
    expect(await problemsIn(world)).toEqual([]);
  });

  test("finds the block of a node that is gone with all endpoints, and no other", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/26");
    await addWithEndpoint(world, "lost", { record: false });
    await addWithEndpoint(world, "lost-too", { record: false });
    // as long as there are no nodes at all, nobody keeps them
    const leaks = ["leaked-address", "leaked-address"];
    expect((await problemsIn(world)).map(([kind]) => kind)).toEqual(leaks);
    await world.put("Node", "n2", {});
    const orphaned = 'belongs to node "n1", which does not exist, with';
    const [problem] = (await checkConsistency(world.datastore, world.clock)).problems;
    expect(problem).toEqual({ class: "orphaned-block", object: "10.65.0.0/26", detail: `${orphaned} 2 addresses` });
    await world.del("lost-too", "n1");
    expect((await checkConsistency(world.datastore, world.clock)).problems[0]?.detail).toBe(`${orphaned} 1 address`);
    await world.put("Node", "n1", {});
    expect((await problemsIn(world)).map(([kind]) => kind)).toEqual(leaks.slice(1));
    await world.datastore.commit([{ op: "delete", ref: { kind: "Node", name: "n1" } }]);
    await addWithEndpoint(world, "alive");
    expect((await problemsIn(world)).map(([kind]) => kind)).toEqual(leaks.slice(1));
  });

  test("does not miss a node whose block only another main plugin has used", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("Node", "n2", {});
    await world.add("c1", "n1");
    expect(await problemsIn(world)).toEqual([]);
  });

  test("finds an endpoint's address that nobody allocated, and one that two endpoints have", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const address = await addWithEndpoint(world, "c1");
    const networks = [`${address}/32`, "10.65.0.200/32", "10.70.0.1/32", "fd00:70::1/128"];
    await world.datastore.commit([{ op: "create", resource: endpointOf("x", networks) }]);
    const found = [
      ["outside-pool", "10.70.0.1"],
      ["duplicate-address", address],
      ["unallocated-in-use", "10.65.0.200"],
    ];
    // a family without pools has other address management
    expect(await problemsIn(world)).toEqual(found);
    await world.putPool("six", "fd00:65::/48");
    expect(await problemsIn(world)).toEqual([...found.slice(0, 1), ["outside-pool", "fd00:70::1"], ...found.slice(1)]);
  });

  test("leaves alone what another management gave: by the record, by pod CIDRs, by the pod's own request; the rest it finds", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("Node", "n1", { podCIDRs: ["10.244.1.0/24", "fd10::/64"] });
    await world.put("Node", "n2", { podCIDRs: ["x", "10.244.2.0/24"] });
    const endpoints = [
      endpointOf("recorded", ["192.0.2.1/32"], { "netplug.io/ipam": "other" }),
      endpointOf("of-the-node", ["10.244.1.5/32", "fd10::5/128"]),
      endpointOf("of-another-node", ["10.244.2.5/32"]),
      endpointOf("asked", ["192.0.2.7/32", "2001:db8::7/128"], {
        "cni.netplug.io/ipAddrsNoIpam": '[7, "x", "192.0.2.7", "2001:DB8:0::7"]',
      }),
      endpointOf("asked-another", ["192.0.2.8/32"], { "cni.netplug.io/ipAddrsNoIpam": '["192.0.2.9"]' }),
      endpointOf("babbled", ["192.0.2.10/32"], { "cni.netplug.io/ipAddrsNoIpam": "192.0.2.10" }),
      endpointOf("in-a-pool", ["10.65.0.9/32"], { "netplug.io/ipam": "other" }),
    ];
    await world.datastore.commit(endpoints.map((resource) => ({ op: "create", resource })));
    expect((await problemsIn(world)).toSorted()).toEqual([
      ["outside-pool", "10.244.2.5"],
      ["outside-pool", "192.0.2.10"],
      ["outside-pool", "192.0.2.8"],
      ["unallocated-in-use", "10.65.0.9"],
    ]);
  });

  test("takes nothing for a problem that was only changing while it looked", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const leaked = await addWithEndpoint(world, "c1", { record: false });
    await addWithEndpoint(world, "c3");
    const changing = changedAfter(world.datastore, "all-blocks", async () => {
      await addWithEndpoint(world, "c2");
      await world.datastore.commit([{ op: "delete", ref: { kind: "WorkloadEndpoint", name: "n1-cni-c3-eth0", namespace: "default" } }]);
      await world.del("c3", "n1");
    });
    expect((await checkConsistency(changing, world.clock)).problems.map(({ object }) => object)).toEqual([leaked]);
  });

  test("gives a kubelet time to tell that a pod has ended, before it says that the pod runs without a record", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const names = ["ends", "runs"];
    const annotated = names.map((name, i) => endpointOf(name, [], { [REPORTED_ADDRESSES]: `10.65.0.${i}` }));
    await world.datastore.commit(annotated.map((resource) => ({ op: "create", resource })));
    const sleeps: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      sleeps.push(ms);
      await world.datastore.commit([{ op: "delete", ref: { kind: "WorkloadEndpoint", name: "ends", namespace: "default" } }]);
    };
    const { problems } = await checkConsistency(world.datastore, { ...world.clock, sleep });
    expect(problems.map((problem) => [problem.class, problem.object])).toEqual([["unallocated-in-use", "10.65.0.1"]]);
    expect(sleeps).toEqual([2_000]);
  });

  test("calls no address leaked that a pod without a record has for its kubelet: releasing it would give it twice", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const ips = [await addWithEndpoint(world, "c1", { record: false }), await addWithEndpoint(world, "c2", { record: false })];
    const cleared = endpointOf("n1-cni-c1-eth0", [], { [REPORTED_ADDRESSES]: ips[0] ?? "" });
    await world.datastore.commit([{ op: "create", resource: cleared }]);
    const { problems } = await checkConsistency(world.datastore, { ...world.clock, sleep: () => Promise.resolve() });
    expect(problems.map((problem) => [problem.class, problem.object])).toEqual([
      ["unrecorded-in-use", ips[0] ?? ""],
      ["leaked-address", ips[1] ?? ""],
    ]);
  });

  test("does not wait because of what no kubelet has told", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const leaked = await addWithEndpoint(world, "c1", { record: false });
    const sleep = (): Promise<void> => Promise.reject(new Error("it waits"));
    expect((await checkConsistency(world.datastore, { ...world.clock, sleep })).problems.map(({ object }) => object)).toEqual([leaked]);
  });

  test.each([
    ["between it and the lists", 0],
    ["also when it looks at that block alone", 6],
    ["all the time", Infinity],
  ])("does not take a block for damaged that is written %s", async (_when, timesAlone) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/30", { blockSize: 30 });
    for (const name of ["c1", "c2", "c3", "c4"]) await world.add(name, "n1");
    for (const name of ["c1", "c2", "c3", "c4"]) await world.del(name, "n1");
    const turnOver = async (): Promise<void> => {
      await world.add("c5", "n1");
      await world.del("c5", "n1");
    };
    const changing = changedAfter(world.datastore, "all-blocks", turnOver, Infinity);
    expect((await checkConsistency(changedAfter(changing, "block", turnOver, timesAlone), world.clock)).problems).toEqual([]);
  });

  test("asks each node once what it borrows, however many blocks are written while it looks", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
    const nodes = ["n1", "n2", "n3", "n4", "n5"];
    const useUp = async (): Promise<void> => {
      for (const node of nodes) for (const nth of ["a", "b", "c"]) await world.add(`${node}-${nth}`, node);
    };
    for (const node of nodes) await world.add(node, node);
    const asked: string[] = [];
    const changing = changedAfter(world.datastore, "all-blocks", useUp);
    const read: Datastore["read"] = async (queries, options) => {
      for (const query of queries) if (query.type === "blocks-borrowed-by") asked.push(query.node);
      return await changing.read(queries, options);
    };
    expect((await checkConsistency({ ...changing, read }, world.clock)).problems).toEqual([]);
    expect(asked.toSorted()).toEqual(nodes);
  });

  test("finds what a deleted pool leaves behind", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/26");
    const address = await addWithEndpoint(world, "c1");
    await world.datastore.commit([{ op: "delete", ref: { kind: "IPPool", name: "a" } }]);
    expect((await checkConsistency(world.datastore, world.clock)).problems).toEqual([
      { class: "orphaned-block", object: "10.65.0.0/26", detail: 'belongs to node "n1", and lies in no pool' },
      { class: "outside-pool", object: address, detail: expect.stringContaining('allocated to container "c1"') },
    ]);
  });

  test("finds an address in two overlapping blocks", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.datastore.commit([{ op: "create-block", block: newBlock(parsePrefix("10.65.0.0/26"), "n1", 1) }]);
    for (const [cidr, name] of [
      ["10.65.0.64/26", "c1"],
      ["10.65.0.64/27", "c2"],
    ] as const) {
      const block = take(newBlock(parsePrefix(cidr), "n1", 1), 3, requestFor(name, "n1").owner, 1);
      await world.datastore.commit([
        { op: "create-block", block: name === "c2" ? take(block, 4, requestFor("c3", "n1").owner, 1) : block },
      ]);
    }
    expect(await problemsIn(world)).toEqual([
      ["corrupt-block", "10.65.0.64/27"],
      ["duplicate-address", "10.65.0.67"],
    ]);
  });
});
