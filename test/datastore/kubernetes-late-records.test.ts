/** Records of endpoints that come late, or where somebody else has written: what was read is what they replace, or nothing is. */

import { beforeEach, describe, expect } from "bun:test";
import type { WorkloadEndpoint } from "../../src/api/workload-endpoint.ts";
import type { ResourceRef, Stored, Write } from "../../src/datastore/datastore.ts";
import { makeBlock } from "./blocks.ts";
import type { Fate } from "../support/servers/fault-proxy.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask, commit, readEndpoint } from "./steps.ts";

const WEB: ResourceRef = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-web-eth0" };
const OWNER = "cni.netplug.io/containerID";

const [test, world] = onApiServer(() => KubernetesWorld.start());
const { server, proxy, pods } = world;
const [, datastore] = onApiServer(() => world.openThroughProxy());
beforeEach(async () => {
  await world.empty();
  await pods.create("web");
});

const read = async (): Promise<Stored<WorkloadEndpoint>> => await readEndpoint(datastore, WEB);

function record({ value, revision }: Stored<WorkloadEndpoint>, containerID: string, ...ipNetworks: readonly string[]): Write {
  return { op: "update", resource: { ...value, spec: { ...value.spec, containerID, ipNetworks } }, revision };
}

const annotate = (...pairs: readonly string[]): Promise<string> => server.kubectl(["annotate", "--overwrite", "pod", "web", ...pairs]);

describe("a record", () => {
  test.each<[what: string, change: () => Promise<unknown>]>([
    ["somebody gave the pod its first annotation", () => annotate("example.com/x=y")],
    ["another container was recorded", async () => await commit(datastore, record(await read(), "c9", "10.65.0.9/32"))],
    ["it was over before it came", async () => await commit(datastore, record(await read(), "c1"))],
  ])("is a conflict after %s; read again, it is written (needs cluster)", async (_what, change) => {
    const before = await read();
    await change();
    const there = await pods.addressesOf("web");
    const late = await datastore.commit([record(before, "c1", "10.65.0.7/32")], { readOnConflict: [{ type: "get", ref: WEB }] });
    expect([late.committed, await pods.addressesOf("web")]).toEqual([false, there]);
    await commit(datastore, record(await read(), "c1", "10.65.0.7/32"));
    expect((await read()).value.spec).toMatchObject({ containerID: "c1", ipNetworks: ["10.65.0.7/32"] });
  });

  test("is not hindered by annotations of others that come and go (needs cluster)", async () => {
    await annotate("example.com/x=y");
    const before = await read();
    await annotate("example.com/x-", "example.com/z=y");
    await commit(datastore, record(before, "c1", "10.65.0.7/32"));
    expect(await pods.addressesOf("web")).toBe("10.65.0.7/32");
  });

  test.each(["", "~", "=", "a/b", "c%2F1"])(
    "takes the place of a container that somebody named %j by hand (needs cluster)",
    async (name) => {
      await annotate(`${OWNER}=${name}`);
      await commit(datastore, record(await read(), "c1", "10.65.0.7/32"));
      expect((await read()).value.spec).toMatchObject({ containerID: "c1", ipNetworks: ["10.65.0.7/32"] });
    },
  );

  test("by hand that names no container is ended all the same (needs cluster)", async () => {
    await annotate("cni.netplug.io/podIPs=10.65.0.7/32");
    await commit(datastore, { op: "delete", ref: WEB, revision: (await read()).revision });
    expect(await pods.addressesOf("web")).toBe("");
  });

  test("that something in the cluster forbids to end is code 108 with its words, and keeps its address (needs cluster)", async () => {
    await commit(datastore, record(await read(), "c1", "10.65.0.7/32"));
    const end = { op: "delete", ref: WEB, revision: (await read()).revision } as const;
    proxy.decide = ({ method }) => (method === "PATCH" ? { status: 422, reason: "Invalid", message: "hands off" } : "pass");
    const release = { op: "create-block", block: makeBlock("10.65.0.0/26", "n1", {}) } as const;
    expect(await failureOf(datastore.commit([release, end]))).toMatchObject({ code: 108, message: expect.stringContaining("hands off") });
    expect([await ask(datastore, { type: "all-blocks" }), await pods.addressesOf("web")]).toEqual([[], "10.65.0.7/32"]);
  });

  test("of a pod that was not there when it was looked for is made of what is there then (needs cluster)", async () => {
    const { value } = await read();
    const resource = { ...value, spec: { ...value.spec, containerID: "c1", ipNetworks: ["10.65.0.7/32"] } };
    await commit(datastore, { op: "create", resource });
    expect(await pods.addressesOf("web")).toBe("10.65.0.7/32");
    const foreign = { ...resource, metadata: { ...resource.metadata, uid: crypto.randomUUID() } };
    expect(await failureOf(datastore.commit([{ op: "create", resource: foreign }]))).toMatchObject({ code: 106 });
  });
});

describe("a record that is over before it came", () => {
  const release = { op: "create-block", block: makeBlock("10.65.0.0/26", "n1", {}) } as const;

  test("is written before blocks are (needs cluster)", async () => {
    const over = record(await read(), "c1");
    proxy.seen.length = 0;
    await commit(datastore, release, over);
    expect(proxy.seen.map((request) => request.split("/")[0])).toEqual(["PATCH namespaces", "POST ipamblocks"]);
    const { value } = await read();
    expect([value.spec.containerID, value.spec.ipNetworks, await pods.addressesOf("web")]).toEqual(["c1", [], ""]);
  });

  test.each<[what: string, fate: Fate]>([
    ["may not be written", { status: 403, reason: "Forbidden" }],
    ["is refused by something in the cluster", { status: 422, reason: "Invalid" }],
  ])("and %s keeps nobody from releasing addresses (needs cluster)", async (_what, fate) => {
    const over = record(await read(), "c1");
    proxy.decide = ({ method }) => (method === "PATCH" ? fate : "pass");
    await commit(datastore, release, over);
    expect(await ask(datastore, { type: "all-blocks" })).toHaveLength(1);
    expect(await pods.addressesOf("web")).toBeUndefined();
  });

  test.each<[what: string, change: () => Promise<unknown>]>([
    ["is gone", () => pods.delete("web")],
    ["was made anew", async () => await pods.delete("web").then(() => pods.create("web"))],
  ])("in a pod that %s is a conflict, and no error (needs cluster)", async (_what, change) => {
    const over = record(await read(), "c1");
    await change();
    expect(await datastore.commit([release, over])).toMatchObject({ committed: false });
    expect(await ask(datastore, { type: "all-blocks" })).toEqual([]);
  });
});
