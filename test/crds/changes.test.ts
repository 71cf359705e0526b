/** What may change in an object that stands, and what may not. */

import { describe, expect } from "bun:test";
import { decodeBlock, encodeBlock } from "../../src/api/ipam-block-codec.ts";
import { KINDS } from "../../src/api/registry.ts";
import type { Kind } from "../../src/api/resource.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import type { Answer } from "../support/servers/admin-requests.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { collection, startWithCrds } from "./definitions.ts";
import { askAbout, objectOf } from "./verdicts.ts";

const [test, server] = onApiServer(() => startWithCrds());

let count = 0;

/** Creates an object, replaces its spec, and removes it. */
async function change(kind: Kind, before: unknown, after: unknown): Promise<Answer> {
  const name = KINDS[kind].singleton ?? `object-${++count}`;
  const path = `${collection(KINDS[kind].plural)}/${name}`;
  const created = await server.request("POST", collection(KINDS[kind].plural), objectOf(kind, before, name));
  expect(created.status).toBe(201);
  const { resourceVersion } = created.body.metadata ?? {};
  const changed = await server.request("PUT", path, { ...objectOf(kind, after, name), metadata: { name, resourceVersion } });
  await server.request("DELETE", path);
  return changed;
}

describe("a change that is taken:", () => {
  test.each<[Kind, unknown, unknown]>([
    ["IPPool", { cidr: "FD00:0065::/64" }, { cidr: "fd00:65::/64" }],
    ["IPPool", { cidr: "10.65.0.7", blockSize: 32 }, { cidr: "10.65.0.7/32", blockSize: 32 }],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/16", blockSize: 26 }],
    ["IPPool", { cidr: "10.65.0.0/16", blockSize: 26 }, { cidr: "10.65.0.0/16", blockSize: 0 }],
    ["IPPool", { cidr: "fd00:65::/64", blockSize: 0 }, { cidr: "fd00:65::/64", blockSize: 122 }],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/16", disabled: true, natOutgoing: true, nodeSelector: "has(a)" }],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/16", podSelector: "has(a)" }],
    ["IPPool", { cidr: "10.65.0.0/16", podSelector: "has(a)" }, { cidr: "10.65.0.0/16" }],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"] }],
    ["ClusterInformation", { datastoreReady: true }, { clusterGUID: "0".repeat(32) }],
    ["ClusterInformation", { clusterGUID: "0".repeat(32) }, { clusterGUID: "0".repeat(32), datastoreReady: false, datastoreFrozen: true }],
  ])("%s %j becomes %j (needs cluster)", async (kind, before, after) => {
    expect(await change(kind, before, after)).toMatchObject({ status: 200 });
  });
});

describe("a change that is refused:", () => {
  test.each<[Kind, unknown, unknown, string]>([
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.66.0.0/16" }, "spec.cidr"],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/17" }, "spec.cidr"],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "fd00:65::/64" }, "spec.cidr"],
    ["IPPool", { cidr: "10.65.0.0/16" }, {}, "spec.cidr"],
    ["IPPool", { cidr: "10.65.0.0/16", blockSize: 26 }, { cidr: "10.65.0.0/16", blockSize: 28 }, "spec.blockSize"],
    ["IPPool", { cidr: "10.65.0.0/16" }, { cidr: "10.65.0.0/16", blockSize: 28 }, "spec.blockSize"],
    ["IPPool", { cidr: "10.65.0.0/16", blockSize: 28 }, { cidr: "10.65.0.0/16" }, "spec.blockSize"],
    ["IPPool", { cidr: "10.65.0.0/16", blockSize: 28 }, { cidr: "10.65.0.0/16", blockSize: 0 }, "spec.blockSize"],
    ["IPPool", { cidr: "10.65.0.0/16", blockSize: 28 }, { cidr: "10.65.0.0/16", blockSize: null }, "spec.blockSize"],
    ["IPPool", { cidr: "fd00:65::/64" }, { cidr: "fd00:65::/64", blockSize: 124 }, "spec.blockSize"],
    ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"] }, { cidr: "10.65.0.0/16", allowedUses: ["Workload"] }, "allowedUses"],
    ["IPPool", { cidr: "10.65.0.0/16", allowedUses: ["LoadBalancer"] }, { cidr: "10.65.0.0/16" }, "allowedUses"],
    ["ClusterInformation", { clusterGUID: "0".repeat(32) }, { clusterGUID: "1".repeat(32) }, "spec.clusterGUID"],
    ["ClusterInformation", { clusterGUID: "0".repeat(32) }, {}, "spec.clusterGUID"],
  ])("%s %j becomes %j (needs cluster)", async (kind, before, after, field) => {
    expect(await change(kind, before, after)).toMatchObject({ status: 422, body: { message: expect.stringContaining(field) } });
  });
});

test("what an API server applies as defaults can be read back (needs cluster)", async () => {
  const { body } = await askAbout(server, objectOf("IPPool", { cidr: "10.65.0.0/16" }));
  expect(body.spec).toMatchObject({ natOutgoing: false, nodeSelector: "all()", namespaceSelector: "", assignmentMode: "Automatic" });
  expect(body.spec).not.toHaveProperty("podSelector");
  expect((await askAbout(server, objectOf("IPAMConfiguration", undefined))).body.spec).toEqual({
    strictAffinity: false,
    autoAllocateBlocks: true,
    maxBlocksPerHost: 0,
    ipCooldownSeconds: 0,
  });
});

test("the status of a pool is written apart from its spec (needs cluster)", async () => {
  const path = `${collection("ippools")}/seen`;
  const condition = { type: "Allocatable", status: "True", reason: "OK", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const status = { conditions: [condition] };
  const created = await server.request("POST", collection("ippools"), { ...objectOf("IPPool", { cidr: "10.65.0.0/16" }, "seen"), status });
  expect(created.body).not.toHaveProperty("status");
  const merge = "application/merge-patch+json";
  expect((await server.request("PATCH", `${path}/status`, { status, spec: { disabled: true } }, merge)).body).toMatchObject({
    spec: { disabled: false },
    status,
  });
  const wrong = { status: { conditions: [{ ...condition, status: "yes" }] } };
  expect((await server.request("PATCH", `${path}/status`, wrong, merge)).status).toBe(422);
});

describe("a block", () => {
  const cidr = parsePrefix("10.65.0.0/26");
  const block = {
    cidr,
    node: "node-1",
    allocations: [
      { ordinal: 0, owner: { network: "n", containerID: "a.b_c", ifName: "eth0", node: "node-1", pod: "w😀" }, since: 1_760_000_000 },
    ],
    free: Array.from({ length: 63 }, (_, index) => index + 1),
    releasedAt: new Map([[1, 1_750_000_000]]),
    emptySince: undefined,
  };
  const path = `${collection("ipamblocks")}/10-65-0-0-26`;
  const spec = { cidr: "10.65.0.0/26", node: "node-1", allocations: encodeBlock(block) };
  const object = { apiVersion: "netplug.io/v3", kind: "IPAMBlock", metadata: { name: "10-65-0-0-26" }, spec };
  const patch = (operations: readonly object[]): Promise<Answer> =>
    server.request("PATCH", path, operations, "application/json-patch+json");

  test("comes back as it was written, and can be claimed once (needs cluster)", async () => {
    expect((await server.request("POST", collection("ipamblocks"), object)).status).toBe(201);
    expect((await server.request("POST", collection("ipamblocks"), object)).status).toBe(409);
    const { body } = await server.request("GET", path);
    expect(body.spec).toEqual(spec);
    expect(decodeBlock((body.spec as typeof spec).allocations, { cidr, node: "node-1" })).toEqual(block);
  });

  test("moves to another node, and never to another CIDR (needs cluster)", async () => {
    expect((await patch([{ op: "replace", path: "/spec/node", value: "node-2" }])).status).toBe(200);
    const moved = await patch([{ op: "replace", path: "/spec/cidr", value: "10.65.0.64/26" }]);
    expect(moved).toMatchObject({ status: 422, body: { message: expect.stringContaining("cidr cannot be changed") } });
  });

  test("takes its allocations as one value, compared in the same request (needs cluster)", async () => {
    const replace = [
      { op: "test", path: "/spec/allocations", value: spec.allocations },
      { op: "replace", path: "/spec/allocations", value: "other" },
    ];
    expect((await patch(replace)).status).toBe(200);
    expect((await patch(replace)).status).toBe(422);
  });
});
