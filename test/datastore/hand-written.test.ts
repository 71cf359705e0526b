/**
 * Resources in etcd that somebody wrote with etcdctl, past all validation: read as an API server would have left them, or refused by name.
 */

import { describe, expect, test } from "bun:test";
import type { Resource } from "../../src/api/resource.ts";
import type { Damage, ResourceRef } from "../../src/datastore/datastore.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";
import { openEtcd } from "./open-etcd.ts";

const POOL: ResourceRef = { kind: "IPPool", name: "blue" };
const KEY = "/netplug/v3/ippools/blue";

const etcd = share(() => startEtcd({ quick: true }));
const datastore = share(() => openEtcd({ endpoints: [etcd.endpoint] }));

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
    const key = "/netplug/v3/ipreservations/held/more";
    await etcd.ctl(["put", key, JSON.stringify({ kind: "IPReservation", metadata: { name: "held" }, spec: {} })]);
    await expect(datastore.read([{ type: "list", kind: "IPReservation" }])).rejects.toThrow(`read "${key}" in etcd`);
    await etcd.ctl(["del", key]);
  });

  test("under a key of other characters than ours is named as somebody wrote it", async () => {
    const [reservation, block] = ["/netplug/v3/ipreservations/grün", "/netplug/ipam/blocks/grün"];
    await etcd.ctl(["put", reservation, "x"]);
    await expect(datastore.read([{ type: "list", kind: "IPReservation" }])).rejects.toThrow(`read "${reservation}" in etcd`);
    await etcd.ctl(["del", reservation]);
    await etcd.ctl(["put", block, "x"]);
    const names: string[] = [];
    await datastore.read([{ type: "all-blocks" }], { onDamage: ({ name }) => void names.push(name) });
    expect(names).toEqual([block]);
    await etcd.ctl(["del", block]);
  });
});

describe("a list of pools", () => {
  const GARBAGE = ["x", "", "7", "null", "[]", "{}", '{"metadata":null}'];

  async function listPools(): Promise<readonly unknown[]> {
    const [pools] = await datastore.read([{ type: "list", kind: "IPPool" }]);
    return pools.map(({ value: { metadata, spec }, revision, isUnreadable }) => {
      expect(metadata.resourceVersion).toBe(revision);
      return [metadata.name, spec, isUnreadable];
    });
  }

  test.each(GARBAGE)("has %p by the name that its key says, as unreadable, beside those that are pools", async (text) => {
    await etcd.ctl(["del", "--prefix", "/netplug/v3/ippools/"]);
    await etcd.ctl(["put", KEY, text]);
    await etcd.ctl(["put", "/netplug/v3/ippools/sound", JSON.stringify({ metadata: {}, spec: { cidr: "10.0.0.0/8" } })]);
    expect(await listPools()).toEqual([
      ["blue", {}, true],
      ["sound", { cidr: "10.0.0.0/8" }, undefined],
    ]);
  });

  test.each(["blue/more", "grün", "a%2fb", ""])("has nothing under the key %p, which no pool can have", async (place) => {
    await etcd.ctl(["del", "--prefix", "/netplug/v3/ippools/"]);
    for (const text of ["x", JSON.stringify({ metadata: {}, spec: { cidr: "10.0.0.0/8" } })]) {
      await etcd.ctl(["put", `/netplug/v3/ippools/${place}`, text]);
      expect(await listPools()).toEqual([]);
    }
  });

  test.each(GARBAGE)("leaves out %p for whoever looks for damage, and tells all of it", async (text) => {
    await etcd.ctl(["del", "--prefix", "/netplug/v3/ippools/"]);
    await etcd.ctl(["put", KEY, text]);
    for (const query of [
      { type: "list", kind: "IPPool" },
      { type: "get", ref: POOL },
    ] as const) {
      const damages: Damage[] = [];
      const [answer] = await datastore.read([query], { onDamage: (damage) => damages.push(damage) });
      expect(answer).toEqual(query.type === "list" ? [] : undefined);
      const [damage] = damages;
      expect(damage).toMatchObject({ kind: "IPPool", name: KEY, isAnswered: false, found: { ref: POOL, text } });
      const result = await datastore.commit([{ op: "expect", ref: POOL, revision: damage?.found?.revision }]);
      expect(result.committed).toBe(true);
    }
  });
});
