/** Nodes as views of Kubernetes' own. */

import { beforeEach, expect } from "bun:test";
import type { NodeAddress } from "../../src/api/node.ts";
import type { Resource } from "../../src/api/resource.ts";
import type { ResourceRef } from "../../src/datastore/datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask, commit } from "./steps.ts";
import { startWatch, take, toText } from "./watch-events.ts";

const [test, world] = onApiServer(() => KubernetesWorld.start());
const { server, admin: datastore } = world;
beforeEach(() => world.empty());

const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { zone: "a" }, annotations: { "example.com/x": "y" } },
  spec: { podCIDR: "10.244.1.0/24", podCIDRs: ["10.244.1.0/24", "fd00:244:1::/64"] },
  status: {
    addresses: [
      { type: "InternalIP", address: "192.0.2.1" },
      { type: "ExternalIP", address: "198.51.100.1" },
      { type: "Hostname", address: "n1" },
    ],
  },
};
const ref: ResourceRef = { kind: "Node", name: "n1" };
const orchRefs = [{ nodeName: "n1", orchestrator: "k8s" }];
const fromKubelet: readonly NodeAddress[] = [
  { address: "192.0.2.1", type: "InternalIP" },
  { address: "198.51.100.1", type: "ExternalIP" },
];

test("a node is a view of Kubernetes' own (needs cluster)", async () => {
  await server.kubectl(["create", "-f", "-"], JSON.stringify(node));
  await server.kubectl(["patch", "node", "n1", "--subresource=status", "-p", JSON.stringify({ status: node.status })]);
  const stored = await ask(datastore, { type: "get", ref });
  expect(stored?.value).toMatchObject({
    kind: "Node",
    metadata: { name: "n1", labels: { zone: "a" } },
    spec: {
      orchRefs: [{ nodeName: "n1", orchestrator: "k8s" }],
      addresses: fromKubelet,
      podCIDRs: ["10.244.1.0/24", "fd00:244:1::/64"],
    },
  });
  expect(await ask(datastore, { type: "list", kind: "Node" })).toMatchObject([{ value: { metadata: { name: "n1" } } }]);
  expect(await ask(datastore, { type: "get", ref: { kind: "Node", name: "n2" } })).toBeUndefined();
});

test("a node keeps what only we know of it, and its labels, and nothing else changes (needs cluster)", async () => {
  await server.kubectl(["create", "-f", "-"], JSON.stringify(node));
  const stored = await ask(datastore, { type: "get", ref });
  if (stored === undefined) throw new Error("no node");
  const ours: readonly NodeAddress[] = [{ address: "10.0.0.9/24", type: "NetplugNodeIP" }, { address: "10.0.0.10" }];
  const addresses = [...ours, ...fromKubelet];
  const spec = { ...(stored.value.spec as object), ipv4VXLANTunnelAddr: "10.65.0.1", bgp: { ipv4Address: "192.0.2.1/24" }, addresses };
  const resource = { ...stored.value, metadata: { ...stored.value.metadata, labels: { zone: "b" } }, spec };
  await commit(datastore, { op: "update", resource, revision: stored.revision });
  expect(await datastore.commit([{ op: "update", resource, revision: stored.revision }])).toMatchObject({ committed: false });
  const again = await ask(datastore, { type: "get", ref });
  expect(again?.value.spec).toEqual(spec);
  expect(again?.value.metadata.labels).toEqual({ zone: "b" });
  expect(again?.value.metadata.annotations).toEqual({ "example.com/x": "y" });
  const kept = JSON.parse(await server.kubectl(["get", "node", "n1", "-o", "json"])) as typeof node;
  expect(kept.spec).toMatchObject(node.spec);
  await server.kubectl(["patch", "node", "n1", "--subresource=status", "--type=merge", "-p", '{"status":{"addresses":[]}}']);
  expect((await ask(datastore, { type: "get", ref }))?.value.spec).toEqual({ ...spec, addresses: ours });
  expect(kept.metadata.annotations["example.com/x"]).toBe("y");
});

test("a node of which there is little to know has no more after it is written (needs cluster)", async () => {
  await server.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } }));
  const stored = await ask(datastore, { type: "get", ref });
  if (stored === undefined) throw new Error("no node");
  expect(stored.value.spec).toEqual({ orchRefs });
  await commit(datastore, { op: "update", resource: stored.value, revision: stored.revision });
  const { metadata } = JSON.parse(await server.kubectl(["get", "node", "n1", "-o", "json"])) as { readonly metadata: object };
  expect(metadata).not.toHaveProperty("annotations");
});

test.each([
  ["x", []],
  ["7", []],
  ["null", []],
  ['["ab"]', []],
  ['{"addresses": 7}', []],
  ['{"addresses": [null, 7, {"address": 7}, {"address": "10.0.0.9"}]}', [{ address: "10.0.0.9" }]],
])("a node is what Kubernetes says when somebody writes %p by hand where we keep what we know (needs cluster)", async (text, own) => {
  await server.kubectl(["create", "-f", "-"], JSON.stringify(node));
  await server.kubectl(["annotate", "node", "n1", `netplug.io/node-spec=${text}`]);
  const stored = await ask(datastore, { type: "get", ref });
  expect(stored?.value.metadata.labels).toEqual({ zone: "a" });
  expect(stored?.value.spec).toEqual({ orchRefs, podCIDRs: node.spec.podCIDRs, addresses: [...own, ...fromKubelet] });
  if (stored !== undefined) await commit(datastore, { op: "update", resource: stored.value, revision: stored.revision });
});

test("a node comes and goes with Kubernetes only (needs cluster)", async () => {
  const resource: Resource = { apiVersion: "netplug.io/v3", kind: "Node", metadata: { name: "n1" }, spec: {} };
  const create = failureOf((async () => datastore.commit([{ op: "create", resource }]))());
  expect(await create).toMatchObject({ code: 7, message: expect.stringContaining('create node "n1": on the Kubernetes datastore') });
  expect(await failureOf((async () => datastore.commit([{ op: "delete", ref }]))())).toMatchObject({ code: 7 });
});

test("a node is watched: a heartbeat is nothing new (needs cluster)", async () => {
  await server.kubectl(["create", "-f", "-"], JSON.stringify(node));
  const ending = new AbortController();
  const events = startWatch(datastore, ["Node"], ending.signal);
  expect((await take(events, 3)).map(toText)).toEqual(["reset", "put n1", "in-sync"]);
  const beat = { status: { conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2030-01-01T00:00:00Z" }] } };
  await server.kubectl(["patch", "node", "n1", "--subresource=status", "-p", JSON.stringify(beat)]);
  await server.kubectl(["label", "node", "n1", "zone=c", "--overwrite"]);
  expect(await take(events, 1)).toMatchObject([{ type: "put", stored: { value: { metadata: { labels: { zone: "c" } } } } }]);
  await server.kubectl(["delete", "node", "n1"]);
  expect(await take(events, 1)).toEqual([{ type: "delete", ref }]);
  ending.abort();
});
