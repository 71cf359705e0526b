import { expect, test } from "bun:test";
import type { ClusterInformation } from "../api/cluster-information.ts";
import type { AllocationOwner, Block } from "../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Revision, Stored, Write } from "../datastore/datastore.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import { createIpamWorld } from "../../test/support/ipam/ipam.ts";
import { type Facts, toFacts } from "../ipam/facts.ts";
import type { ReleasePlan } from "../ipam/plan-release.ts";
import { readFacts, transact } from "../ipam/transact/transact.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { type DelRequest, delQueries, endWritesOf, planDel } from "./plan-del.ts";
import { toRecordQuery } from "./record.ts";

const REF = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-web-eth0" } as const;
const OWNER: AllocationOwner = {
  network: "net",
  containerID: "c1",
  ifName: "eth0",
  node: "n1",
  pod: "web",
  namespace: "default",
  podUID: "uid-1",
  endpoint: REF.name,
};
const REQUEST: DelRequest = {
  node: "n1",
  isTargetOwner: ({ containerID }) => containerID === "c1",
  isTargetRecord: ({ spec }) => spec.containerID === "c1",
  records: [toRecordQuery(REF)],
};

interface Recorded {
  readonly uid?: string;
  readonly containerID?: string;
}

/** These owners have addresses of a block, and this is recorded. */
function factsOf(
  { uid = "uid-1", containerID }: Recorded,
  owners: readonly AllocationOwner[],
  cluster?: ClusterInformation["spec"],
): Facts {
  const value: WorkloadEndpoint = {
    apiVersion: "netplug.io/v3",
    kind: "WorkloadEndpoint",
    metadata: { ...REF, uid },
    spec: { orchestrator: "k8s", node: "n1", pod: "web", endpoint: "eth0", ...(containerID !== undefined && { containerID }) },
  };
  const block: Block = {
    cidr: parsePrefix("10.65.0.0/26"),
    node: "n1",
    allocations: owners.map((owner, ordinal) => ({ ordinal, owner, since: 1 })),
    free: [],
    releasedAt: new Map(),
    emptySince: undefined,
  };
  const blocks: readonly Stored<Block>[] = [{ value: block, revision: "5" as Revision }];
  const answers: Readonly<Record<string, unknown>> = {
    "blocks-of-node": blocks,
    "blocks-borrowed-by": [],
    WorkloadEndpoint: { value, revision: "7" },
    ClusterInformation: cluster && { value: { spec: cluster }, revision: "3" },
  };
  const queries = delQueries(REQUEST);
  return toFacts(
    queries,
    queries.map((query) => answers[query.type === "get" ? query.ref.kind : query.type]),
  );
}

function planOf(record: Recorded, ...owners: readonly AllocationOwner[]): ReleasePlan {
  return planDel(REQUEST, factsOf(record, owners), 1);
}

function plannedWrites(...given: Parameters<typeof planOf>): readonly Write[] {
  return planOf(...given).writes;
}

/** What of it is written to the record. */
function writesTo(...given: Parameters<typeof plannedWrites>): readonly Write[] {
  const writes = plannedWrites(...given);
  return writes.filter((write) => write.op === "delete" || (write.op === "update" && write.resource.kind === "WorkloadEndpoint"));
}

test("what it takes away is told: addresses with their owners, records, and that there is no more", () => {
  const plan = planOf({ containerID: "c1" }, OWNER, { ...OWNER, containerID: "c2" });
  expect(plan.released.map(({ owner, address }) => [owner, toAddressText(address)])).toEqual([[OWNER, "10.65.0.0"]]);
  expect([plan.writes.flatMap((write) => (write.op === "delete" ? [write.ref] : [])), plan.isAll]).toEqual([[REF], true]);
});

test("the record of the attachment itself is deleted", () => {
  expect(writesTo({ containerID: "c1" }, OWNER)).toEqual([{ op: "delete", ref: REF, revision: "7" as Revision }]);
});

test("so is one that an allocation names, without being asked for", () => {
  const { writes } = planDel({ ...REQUEST, records: [] }, factsOf({ containerID: "c1" }, [OWNER]), 1);
  expect(writes.at(-1)).toEqual({ op: "delete", ref: REF, revision: "7" as Revision });
});

test("a locked datastore hinders no release, and one that a migration has frozen does", () => {
  const plan = (cluster: ClusterInformation["spec"]): ReleasePlan => planDel(REQUEST, factsOf({ containerID: "c1" }, [OWNER], cluster), 1);
  expect(plan({ datastoreReady: false }).released).toHaveLength(1);
  expect(() => plan({ datastoreReady: true, datastoreFrozen: true })).toThrow("a migration has frozen it");
});

test("a pod in which nothing is recorded is told once that its container's addresses are over", () => {
  const spec = { orchestrator: "k8s", node: "n1", pod: "web", endpoint: "eth0", containerID: "c1", ipNetworks: [] };
  const resource = { apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata: { ...REF, uid: "uid-1" }, spec } as const;
  expect(writesTo({}, OWNER, OWNER)).toEqual([{ op: "update", revision: "7" as Revision, resource }]);
});

test("a pod in which nothing is recorded is told so although another of its name, in another namespace, goes with it", () => {
  const shop = { ...REF, namespace: "shop" };
  const owners = [OWNER, { ...OWNER, namespace: "shop", podUID: "uid-2" }];
  const queries = [REF, shop].map(toRecordQuery);
  const recordOf = (namespace: string, uid: string): unknown => ({
    value: { kind: REF.kind, metadata: { name: REF.name, namespace, uid }, spec: {} },
    revision: "7",
  });
  const facts = toFacts(queries, [recordOf("default", "uid-1"), recordOf("shop", "uid-2")]);
  expect(endWritesOf(queries, owners, REQUEST.isTargetRecord, facts)).toHaveLength(2);
});

function without(field: "podUID" | "endpoint"): AllocationOwner {
  const { [field]: _, ...owner } = OWNER;
  return owner;
}

test.each<[what: string, record: Parameters<typeof writesTo>[0], owners: readonly AllocationOwner[]]>([
  ["of another container", { containerID: "c2" }, [OWNER]],
  ["of a pod made anew", { uid: "uid-2" }, [OWNER]],
  ["of a pod whose UID nobody knew", {}, [without("podUID")]],
  ["of whom no address is left", {}, []],
  ["beside an address for another main plugin", {}, [without("endpoint")]],
])("a record %s stays as it is", (_what, record, owners) => {
  expect(writesTo(record, ...owners)).toEqual([]);
});

test.each([
  ["a record and its addresses", [OWNER]],
  ["a record whose addresses are a delegate's", []],
] as const)("%s end only while no migration has frozen the datastore since", (_what, owners) => {
  const [condition, ...others] = plannedWrites({ containerID: "c1" }, ...owners);
  expect(condition).toEqual({ op: "expect", ref: { kind: "ClusterInformation", name: "default" }, revision: undefined });
  expect(others.map(({ op }) => op)).toEqual([...owners.map(() => "update-block" as const), "delete"]);
});

test("where there is nothing to take away nothing is written", () => {
  expect(plannedWrites({ containerID: "c2" })).toEqual([]);
});

test("a record does not end when a migration froze the datastore after the DEL had looked", async () => {
  const world = await createIpamWorld();
  const spec = { node: "n1", endpoint: "eth0", containerID: "c1" };
  const { kind, namespace, name } = REF;
  await world.datastore.commit([{ op: "create", resource: { apiVersion: "netplug.io/v3", kind, metadata: { namespace, name }, spec } }]);
  const facts = await readFacts(world.ports, delQueries(REQUEST));
  await world.put("ClusterInformation", "default", { datastoreReady: true, datastoreFrozen: true });
  const deleting = transact<void>(
    world.ports,
    delQueries(REQUEST),
    (known, { now }) => ({ ...planDel(REQUEST, known, now), result: undefined }),
    {
      facts,
    },
  );
  expect(await failureOf(deleting)).toMatchObject({ kind: "tryAgainLater" });
  const [record] = await world.datastore.read([{ type: "get", ref: REF }]);
  expect(record).toBeDefined();
});
