/**
 * Resources in etcd that somebody wrote with etcdctl, past all validation: read as an API server would have left them, or refused by name.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Resource } from "../../src/api/resource.ts";
import type { Datastore, ResourceRef } from "../../src/datastore/datastore.ts";
import { type EtcdServer, startEtcd } from "../support/etcd.ts";
import { openEtcd } from "./open-etcd.ts";

const POOL: ResourceRef = { kind: "IPPool", name: "blue" };
const KEY = "/netplug/v3/ippools/blue";

let etcd: EtcdServer;
let datastore: Datastore;
beforeAll(async () => {
  etcd = await startEtcd({ quick: true });
  datastore = openEtcd({ endpoints: [etcd.endpoint] });
});
afterAll(async () => {
  datastore.close();
  await etcd[Symbol.asyncDispose]();
});

async function readBack(value: unknown): Promise<Resource | undefined> {
  await etcd.ctl(["put", KEY, JSON.stringify(value)]);
  const [got, [listed]] = await datastore.read([
    { type: "get", ref: POOL },
    { type: "list", kind: "IPPool" },
  ]);
  expect(listed).toEqual(got);
  return got?.value;
}

describe("a resource", () => {
  test.each([[undefined], [null], ["x"], [7], [[]]])("with the spec %p has an empty one", async (spec) => {
    expect((await readBack({ kind: "IPPool", metadata: { name: "blue" }, spec }))?.spec).toEqual({});
  });

  test("has no field of its spec that is null", async () => {
    const value = await readBack({
      kind: "IPPool",
      metadata: { name: "blue" },
      spec: { cidr: "10.0.0.0/8", allowedUses: null, disabled: null },
    });
    expect(value?.spec).toEqual({ cidr: "10.0.0.0/8" });
  });

  test("is the one that its key names, whatever it says of itself", async () => {
    const value = await readBack({ kind: "Tier", metadata: { name: 5, uid: "u" }, spec: { cidr: "10.0.0.0/8" } });
    expect(value).toMatchObject({ kind: "IPPool", metadata: { name: "blue", uid: "u" }, spec: { cidr: "10.0.0.0/8" } });
  });

  test.each([[null], ["x"], [7], [[]], [["a"]]])("with %p as labels and annotations has none", async (entries) => {
    const value = await readBack({ kind: "IPPool", metadata: { name: "blue", labels: entries, annotations: entries }, spec: {} });
    expect(Object.keys(value?.metadata ?? {}).sort()).toEqual(["name", "resourceVersion"]);
  });

  test("has those of its labels that are texts", async () => {
    const value = await readBack({ kind: "IPPool", metadata: { name: "blue", labels: { a: "1", b: 2, c: null, d: {} } }, spec: {} });
    expect(value?.metadata.labels).toEqual({ a: "1" });
  });

  test.each(["x", "7", "null", "[]", "{}", '{"metadata":null}', '{"metadata":[]}', '{"metadata":"x"}'])(
    "of %p is refused, and its key is named",
    async (text) => {
      await etcd.ctl(["put", KEY, text]);
      await expect(datastore.read([{ type: "get", ref: POOL }])).rejects.toMatchObject({
        kind: "ioFailure",
        message: `read "${KEY}" in etcd: the value is not what netplug writes there; restore it or delete the key`,
      });
    },
  );

  test("under a key that is none of ours is refused, and the key is named", async () => {
    await etcd.ctl(["del", KEY]);
    await etcd.ctl(["put", `${KEY}/more`, JSON.stringify({ kind: "IPPool", metadata: { name: "blue" }, spec: {} })]);
    await expect(datastore.read([{ type: "list", kind: "IPPool" }])).rejects.toThrow(`read "${KEY}/more" in etcd`);
    await etcd.ctl(["del", `${KEY}/more`]);
  });

  test("under a key of other characters than ours is named as somebody wrote it", async () => {
    const [pool, block] = ["/netplug/v3/ippools/grün", "/netplug/ipam/blocks/grün"];
    await etcd.ctl(["put", pool, "x"]);
    await expect(datastore.read([{ type: "list", kind: "IPPool" }])).rejects.toThrow(`read "${pool}" in etcd`);
    await etcd.ctl(["del", pool]);
    await etcd.ctl(["put", block, "x"]);
    const names: string[] = [];
    await datastore.read([{ type: "all-blocks" }], { onDamage: ({ name }) => void names.push(name) });
    expect(names).toEqual([block]);
    await etcd.ctl(["del", block]);
  });
});
