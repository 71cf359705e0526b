import { describe, expect, test } from "bun:test";
import { addAll } from "../../test/support/calls/add-all.ts";
import { attachmentRequest } from "../../test/support/calls/attachment-request.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import { changedBefore } from "../../test/support/ipam/faulty-datastore.ts";
import { createIpamWorld, type IpamWorld, NETWORK, requestFor } from "../../test/support/ipam/ipam.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { KUBERNETES_TRAITS } from "../datastore/traits.ts";
import { MemoryDatastore } from "../datastore/memory/memory-datastore.ts";
import type { AddressRequest } from "../ipam/request.ts";
import type { NodeTurn, TurnWait } from "../ipam/transact/node-turn.ts";
import { readFacts, transact } from "../ipam/transact/transact.ts";
import { parseAddress, toAddressText } from "../lib/ip/address.ts";
import type { PodIdentity } from "./names.ts";
import { type AddOutcome, addQueries, type AddRequest, planAdds } from "./plan-add.ts";
import type { CompleteRecord } from "./plan-attachment.ts";
import { type DelRequest, delQueries, planDel } from "./plan-del.ts";
import { recordQueryOf } from "./record.ts";

const NODE = "n1";

function attachment(containerID: string, pod?: PodIdentity): AddRequest["attachment"] {
  return attachmentRequest(NODE, { containerID, ifName: "eth0", pod });
}

function request(containerID: string, ipam: Partial<AddressRequest> = {}, pod?: PodIdentity): AddRequest {
  return { attachment: attachment(containerID, pod), ipam: requestFor(containerID, NODE, ipam) };
}

async function del(world: IpamWorld, containerID: string, records: DelRequest["records"]): Promise<void> {
  const meant: DelRequest = {
    node: NODE,
    isTargetOwner: (owner) => owner.containerID === containerID,
    isTargetRecord: ({ spec }) => spec.containerID === containerID,
    records,
  };
  await transact(world.ports, delQueries(meant), (facts, { now }) => ({ writes: planDel(meant, facts, now).writes, result: undefined }));
}

async function records(world: IpamWorld): Promise<readonly WorkloadEndpoint[]> {
  const [found] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
  return found.map(({ value }) => value);
}

function addressesOf(outcome: AddOutcome | undefined): readonly string[] {
  return outcome === undefined || "error" in outcome ? [] : outcome.addresses.map(toAddressText);
}

function kindOf(outcome: AddOutcome | undefined): string | undefined {
  return outcome !== undefined && "error" in outcome ? outcome.error.kind : undefined;
}

async function createWorld(): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  return world;
}

test("a repeated ADD that waits for the lock, while its DEL is played, records what it gives", async () => {
  // where not everything is read again after the wait
  const datastore = Object.assign(new MemoryDatastore(), { traits: KUBERNETES_TRAITS });
  const world = await createIpamWorld(datastore);
  await world.putPool("a", "10.65.0.0/24");
  const wanted = request("c1", { addresses: [parseAddress("10.65.0.7")] });
  await addAll(world.ports, [wanted]);
  const queries = addQueries([wanted]);
  const facts = await readFacts(world.ports, queries);
  const takeTurn = async ({ stallMs }: TurnWait): Promise<NodeTurn | undefined> => {
    if (stallMs === 0) return undefined;
    await del(world, "c1", [recordQueryOf(wanted.attachment)]);
    await world.clock.advance(20);
    return new DisposableStack();
  };
  await transact(
    { ...world.ports, takeTurn },
    queries,
    (known, attempt) => {
      const plan = planAdds([wanted], known, attempt);
      return { writes: plan.writes, result: plan.outcomes };
    },
    { facts },
  );
  expect((await records(world)).map(({ spec }) => spec.ipNetworks)).toEqual([["10.65.0.7/32"]]);
});

test("an ADD whose address others have given it records nothing when a DEL was quicker", async () => {
  const world = await createWorld();
  await addAll(world.ports, [request("c0")]);
  const [first, given] = [request("c1"), request("c2")];
  const facts = await readFacts(world.ports, addQueries([first]));
  const queued = (): readonly AddressRequest[] => ("ipam" in given ? [given.ipam] : []);
  await world.datastore.commit(planAdds([first], facts, { now: 1, salt: 0n, queued }).writes);
  const late = planAdds([given], await readFacts(world.ports, addQueries([given])), { now: 1, salt: 0n, queued: () => [] });
  expect(late.outcomes).toMatchObject([{ isNew: false }]);
  await del(world, "c2", [recordQueryOf(given.attachment)]);
  expect(await world.datastore.commit(late.writes)).toMatchObject({ committed: false });
  expect((await records(world)).map(({ spec }) => spec.containerID)).toEqual(["c0", "c1"]);
});

test("all that a repeated ADD is decided on is read at once", async () => {
  const world = await createWorld();
  const [own, delegated] = [request("c1"), { attachment: attachment("c2"), delegated: [parseAddress("192.0.2.7")] }];
  const subjects = [own, { attachment: delegated.attachment }];
  await addAll(world.ports, [own, delegated]);
  for (const some of [[own], [delegated], [own, delegated]]) {
    const facts = await readFacts(
      world.ports,
      addQueries(subjects.filter(({ attachment: { workload } }) => some.some((one) => one.attachment.workload === workload))),
    );
    expect(planAdds(some, facts, { now: 1, salt: 0n, queued: () => [] })).toMatchObject({
      writes: [],
      outcomes: some.map(() => ({ isNew: false })),
    });
  }
});

describe("planAdds()", () => {
  test("records block, endpoint and profile of an ADD in one commit", async () => {
    const world = await createWorld();
    const commits: number[] = [];
    const commit = world.datastore.commit.bind(world.datastore);
    world.datastore.commit = async (writes, options) => {
      commits.push(writes.length);
      return await commit(writes, options);
    };
    const [outcome] = await addAll(world.ports, [request("c1")]);
    expect(commits).toHaveLength(1);
    expect(await records(world)).toMatchObject([{ spec: { containerID: "c1", ipNetworks: [`${addressesOf(outcome)[0]}/32`] } }]);
    const [profile] = await world.datastore.read([{ type: "get", ref: { kind: "Profile", name: NETWORK } }]);
    expect(profile?.value.metadata.name).toBe(NETWORK);
    expect(await world.blocks()).toEqual([expect.stringMatching(/^10\.65\.0\.\d+\/26 n1 1\/64$/)]);
  });

  test("gives several ADDs of one commit different addresses, records for each, and one profile", async () => {
    const world = await createWorld();
    const outcomes = await addAll(
      world.ports,
      Array.from({ length: 20 }, (_, i) => request(`c${i}`)),
    );
    expect(new Set(outcomes.flatMap(addressesOf)).size).toBe(20);
    expect(await records(world)).toHaveLength(20);
  });

  test("asks for the network's profile only where Kubernetes tells nothing of the pod, read or not", () => {
    const kindsOf = (completeRecord: CompleteRecord | undefined): readonly string[] =>
      addQueries([{ attachment: { ...attachment("c1"), completeRecord }, ipam: { owner: { node: NODE }, addresses: [] } }]).flatMap(
        (query) => (query.type === "get" ? [query.ref.kind] : []),
      );
    expect(kindsOf(undefined)).toContain("Profile");
    expect(kindsOf((record) => record)).not.toContain("Profile");
    expect(kindsOf((record) => record)).toContain("WorkloadEndpoint");
  });

  test("lets one that cannot be served fail alone", async () => {
    const world = await createWorld();
    const outcomes = await addAll(world.ports, [
      request("c1"),
      request("c2", { pools: { 4: ["nowhere"] } }),
      request("c3", { addresses: [parseAddress("192.0.2.1")] }),
      request("c4"),
    ]);
    expect(outcomes.map(kindOf)).toEqual([undefined, "poolUnusable", "addressOutsidePools", undefined]);
    expect((await records(world)).map(({ spec }) => spec.containerID).toSorted()).toEqual(["c1", "c4"]);
  });

  test("keeps no address for one that fails once it has some", async () => {
    const world = await createWorld();
    await world.putPool("b", "fd65::/112");
    const small = { ...attachment("c2"), mtu: 1200 };
    const outcomes = await addAll(world.ports, [
      request("c1"),
      { attachment: small, ipam: requestFor("c2", NODE, { families: [4, 6] }) },
      request("c3"),
      { attachment: small, ipam: requestFor("c2", NODE, { families: [6] }) },
      { attachment: attachment("c5"), delegated: [parseAddress("10.77.0.2")] },
    ]);
    expect(outcomes.map(kindOf)).toEqual([undefined, "invalidConfig", undefined, "invalidConfig", undefined]);
    expect(outcomes.map((outcome) => addressesOf(outcome).length)).toEqual([1, 0, 1, 0, 1]);
    expect((await records(world)).map(({ spec }) => spec.containerID).toSorted()).toEqual(["c1", "c3", "c5"]);
    expect(await world.blocks()).toEqual([expect.stringMatching(/^10\.65\.0\.\d+\/26 n1 2\/64$/)]);
  });

  test("gives the others the addresses of one that fails once it has some", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/32", { blockSize: 32 });
    await world.putPool("b", "fd65::/112");
    const outcomes = await addAll(world.ports, [
      { attachment: { ...attachment("c1"), mtu: 1200 }, ipam: requestFor("c1", NODE, { families: [4, 6] }) },
      request("c2"),
    ]);
    expect(outcomes.map(kindOf)).toEqual(["invalidConfig", undefined]);
    expect(await world.blocks()).toEqual(["10.65.0.0/32 n1 1/1"]);
  });

  test("gives the last the address of two that fail one after the other, each once it has it", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "fd65::/128", { blockSize: 128 });
    const wanted = [1200, 1200, 1500].map((mtu, i) => ({
      attachment: { ...attachment(`c${i}`), mtu },
      ipam: requestFor(`c${i}`, NODE, { families: [6] }),
    }));
    const outcomes = await addAll(world.ports, wanted);
    expect(outcomes.map(kindOf)).toEqual(["invalidConfig", "invalidConfig", undefined]);
    expect(outcomes.map(addressesOf)).toEqual([[], [], ["fd65::"]]);
    expect(await world.blocks()).toEqual(["fd65::/128 n1 1/1"]);
  });

  test("gives each its own addresses where some come from a delegate", async () => {
    const world = await createWorld();
    const outcomes = await addAll(world.ports, [
      request("c1", { addresses: [parseAddress("10.65.0.7")] }),
      { attachment: attachment("c2"), delegated: [parseAddress("10.77.0.2")] },
      request("c3", { addresses: [parseAddress("10.65.0.9")] }),
    ]);
    expect(outcomes.map(addressesOf)).toEqual([["10.65.0.7"], ["10.77.0.2"], ["10.65.0.9"]]);
  });

  test("of a repeated ADD wants nothing written, and gives the same", async () => {
    const world = await createWorld();
    const [first] = await addAll(world.ports, [request("c1")]);
    world.datastore.commit = () => Promise.reject(new Error("a repeated ADD wrote something"));
    const [second] = await addAll(world.ports, [request("c1")]);
    expect(addressesOf(second)).toEqual(addressesOf(first));
    expect(second).toMatchObject({ isNew: false });
  });

  test("of a repeated ADD that asks for addresses without IPAM by now gives what is allocated, and these where nothing is", async () => {
    const world = await createWorld();
    const past = [parseAddress("192.0.2.7")];
    for (const [containerID, isAllocated] of [
      ["c1", true],
      ["c2", false],
    ] as const) {
      const first = request(containerID);
      if (!("ipam" in first)) throw new Error("no addresses of our own");
      const given = isAllocated ? (await addAll(world.ports, [first])).flatMap(addressesOf) : ["192.0.2.7"];
      const [again] = await addAll(world.ports, [
        { attachment: first.attachment, unmanaged: { owner: first.ipam.owner, addresses: past } },
      ]);
      expect([addressesOf(again), kindOf(again)]).toEqual([given, undefined]);
    }
  });

  test("of a repeated ADD that asks for another address by now gives the recorded one, while it is allocated", async () => {
    const world = await createWorld();
    const [first = ""] = (await addAll(world.ports, [request("c1")])).flatMap(addressesOf);
    const other = request("c1", { addresses: [parseAddress("10.65.0.200")] });
    expect((await addAll(world.ports, [other])).flatMap(addressesOf)).toEqual([first]);
    await world.del("c1", NODE);
    await world.add("c2", NODE, { addresses: [parseAddress(first)] });
    expect((await addAll(world.ports, [other])).flatMap(addressesOf)).toEqual(["10.65.0.200"]);
  });

  describe("says whether the attachment is new to the datastore:", () => {
    const isNew = async (world: IpamWorld, add: AddRequest): Promise<boolean | undefined> => {
      const [outcome] = await addAll(world.ports, [add]);
      return outcome === undefined || "error" in outcome ? undefined : outcome.isNew;
    };
    const ofDelegate = (containerID: string, pod?: PodIdentity): AddRequest => ({
      attachment: attachment(containerID, pod),
      delegated: [parseAddress("10.77.0.2")],
    });
    const pod = { namespace: "shop", name: "web-0" };

    test("the first time, and not again", async () => {
      const world = await createWorld();
      for (const add of [request("c1"), ofDelegate("c2")]) {
        expect(await isNew(world, add)).toBe(true);
        expect(await isNew(world, add)).toBe(false);
      }
    });

    test("not when a block has its address, though no record says so", async () => {
      const world = await createWorld();
      await world.add("c1", NODE);
      expect(await isNew(world, request("c1"))).toBe(false);
    });

    test("not when a block has one of its two addresses", async () => {
      const world = await createWorld();
      await world.putPool("b", "fd65::/112");
      await world.add("c1", NODE);
      expect(await isNew(world, request("c1", { families: [4, 6] }))).toBe(false);
    });

    test("when the record is of another container", async () => {
      const world = await createWorld();
      await addAll(world.ports, [ofDelegate("old", pod)]);
      expect(await isNew(world, ofDelegate("new", pod))).toBe(true);
    });

    test("when the record has kept its container but no addresses, as after a DEL on Kubernetes", async () => {
      const world = await createWorld();
      await addAll(world.ports, [ofDelegate("c1", pod)]);
      const [stored] = await world.datastore.read([{ type: "list", kind: "WorkloadEndpoint" }]);
      if (stored[0] === undefined) throw new Error("nothing was recorded");
      const { value, revision } = stored[0];
      const resource = { ...value, spec: { ...value.spec, ipNetworks: [] } };
      await world.datastore.commit([{ op: "update", resource, revision }]);
      expect(await isNew(world, ofDelegate("c1", pod))).toBe(true);
    });
  });

  test("gives pods of one name in two namespaces a record each, in one commit", async () => {
    const world = await createWorld();
    await addAll(
      world.ports,
      ["shop", "bank"].map((namespace) => request(namespace, {}, { namespace, name: "web-0" })),
    );
    expect((await records(world)).map(({ metadata }) => metadata.namespace).toSorted()).toEqual(["bank", "shop"]);
  });

  test("reads nothing of address management when a delegate gives the addresses", () => {
    const types = addQueries([{ attachment: attachment("c1") }]).map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(["get"]));
  });

  test("records a delegate's addresses without a block", async () => {
    const world = await createWorld();
    const [outcome] = await addAll(world.ports, [{ attachment: attachment("c1"), delegated: [parseAddress("10.77.0.2")] }]);
    expect(addressesOf(outcome)).toEqual(["10.77.0.2"]);
    expect(await records(world)).toMatchObject([{ spec: { ipNetworks: ["10.77.0.2/32"] } }]);
    expect(await world.blocks()).toEqual([]);
  });

  test.each([
    ["was never initialised", undefined, 112],
    ["is locked", { datastoreReady: false }, 11],
    ["is frozen", { datastoreReady: true, datastoreFrozen: true }, 11],
  ])("takes nothing while the datastore %s", async (_what, spec, code) => {
    const world = await createWorld();
    if (spec === undefined) {
      const [cluster] = await world.datastore.read([{ type: "get", ref: { kind: "ClusterInformation", name: "default" } }]);
      if (cluster === undefined) throw new Error("there is none");
      await world.datastore.commit([{ op: "delete", ref: { kind: "ClusterInformation", name: "default" }, revision: cluster.revision }]);
    } else await world.put("ClusterInformation", "default", spec);
    for (const add of [request("c1"), { attachment: attachment("c2"), delegated: [parseAddress("10.77.0.2")] }]) {
      expect(await failureOf(addAll(world.ports, [add]))).toMatchObject({ code });
    }
    expect(await records(world)).toEqual([]);
  });

  test("does not commit when the datastore was locked after it was read", async () => {
    for (const add of [request("c1"), { attachment: attachment("c2"), delegated: [parseAddress("10.77.0.2")] }]) {
      const world = await createWorld();
      const lock = (): Promise<void> => world.put("ClusterInformation", "default", { datastoreReady: false });
      const ports = { ...world.ports, datastore: changedBefore(world.datastore, "create", lock) };
      expect(await failureOf(addAll(ports, [add]))).toMatchObject({ code: 11 });
      expect([await records(world), await world.blocks()]).toEqual([[], []]);
    }
  });
});
