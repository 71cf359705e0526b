import { expect, test } from "bun:test";
import type { AllocationOwner } from "../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Revision } from "../datastore/datastore.ts";
import { toFacts } from "../ipam/facts.ts";
import { planRecordEnds, recordQueries } from "./plan-record-ends.ts";

const REF = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-web-eth0" } as const;
const POD = { pod: "web", namespace: "default", podUID: "uid-1", endpoint: REF.name };
const OWNER: AllocationOwner = { network: "net", containerID: "c1", ifName: "eth0", node: "n1", ...POD };
const isTarget = ({ spec }: WorkloadEndpoint): boolean => spec.containerID === "c1";

test("a record ends once for all owners that name it, and those without one need no end", () => {
  const second = { ...OWNER, containerID: "c2" };
  const { endpoint: _, ...nameless } = OWNER;
  const owners = [OWNER, nameless, second];
  const queries = recordQueries(owners);
  expect(queries.map((query) => (query.type === "get" ? query.ref.name : query.type))).toEqual(["default", REF.name]);
  const metadata = { ...REF, uid: "uid-1" };
  const value = { apiVersion: "netplug.io/v3", kind: REF.kind, metadata, spec: { node: "n1", endpoint: "eth0", containerID: "c1" } };
  const facts = toFacts(queries, [undefined, { value, revision: "7" }]);
  expect(planRecordEnds(owners, isTarget, facts)).toEqual({
    condition: { op: "expect", ref: { kind: "ClusterInformation", name: "default" }, revision: undefined },
    ends: [{ owners: [OWNER, second], write: { op: "delete", ref: REF, revision: "7" as Revision } }],
  });
});

test("records of one name in two namespaces end each on its own", () => {
  const owners = [OWNER, { ...OWNER, namespace: "other" }];
  const queries = recordQueries(owners);
  const answers = owners.map(({ namespace }) => {
    const metadata = { ...REF, namespace, uid: "uid-1" };
    return {
      value: { apiVersion: "netplug.io/v3", kind: REF.kind, metadata, spec: { node: "n1", endpoint: "eth0", containerID: "c1" } },
      revision: "7",
    };
  });
  const { ends } = planRecordEnds(owners, isTarget, toFacts(queries, [undefined, ...answers]));
  expect(ends.map((end) => end.owners)).toEqual(owners.map((owner) => [owner]));
});
