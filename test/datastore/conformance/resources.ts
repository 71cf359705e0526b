/** What every datastore does with resources: created, changed and deleted only as their revisions allow. */

import { expect, test } from "bun:test";
import type { Resource } from "../../../src/api/resource.ts";
import type { Datastore, ResourceRef, Revision, Stored } from "../../../src/datastore/datastore.ts";
import { inFrontOf } from "../../../src/datastore/in-front-of.ts";
import { initialise } from "../../../src/datastore/initialise.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import type { Subject } from "./subject.ts";
import { makeEndpoint, makePool, poolRef } from "../resources.ts";
import { ask, commit } from "../steps.ts";

export function describeResources({ datastore, isPlain }: Pick<Subject, "datastore" | "isPlain">): void {
  if (isPlain) describePlainResources(datastore);

  test("what was created is read back with its revision, and again in a list", async () => {
    const pool = { ...makePool("a"), metadata: { name: "a", labels: { zone: "x" }, annotations: { note: "Zürich 東京" } } };
    const revision = await commit(datastore, { op: "create", resource: pool });
    const stored = { value: { ...pool, metadata: { ...pool.metadata, resourceVersion: revision } }, revision };
    expect(await ask(datastore, { type: "get", ref: poolRef("a") })).toMatchObject(stored);
    expect(await ask(datastore, { type: "list", kind: "IPPool" })).toMatchObject([stored]);
  });

  test("a resource version that was read is not stored when it is written back", async () => {
    const first = await commit(datastore, { op: "create", resource: makePool("a") });
    const read = await ask(datastore, { type: "get", ref: poolRef("a") });
    if (read === undefined) throw new Error("no pool");
    expect(read.value.metadata.resourceVersion).toBe(first);
    const marks = { labels: { x: "" }, annotations: { note: "y" } };
    const changed = { ...read.value, metadata: { ...read.value.metadata, ...marks } };
    const second = await commit(datastore, { op: "update", resource: changed, revision: read.revision });
    expect(second).not.toBe(first);
    const again = await ask(datastore, { type: "get", ref: poolRef("a") });
    expect(again?.value.metadata).toMatchObject({ ...marks, resourceVersion: second });
    await commit(datastore, { op: "update", resource: read.value, revision: second });
    const { labels = {}, annotations = {} } = (await ask(datastore, { type: "get", ref: poolRef("a") }))?.value.metadata ?? {};
    expect([labels, annotations]).toEqual([{}, {}]);
  });

  test("a list holds one kind, in the order of names", async () => {
    await commit(datastore, ...["b", "a-b", "a", "a.b"].map((name) => ({ op: "create", resource: makePool(name) }) as const));
    const pools = await ask(datastore, { type: "list", kind: "IPPool" });
    expect(pools.map(({ value }) => value.metadata.name)).toEqual(["a", "a-b", "a.b", "b"]);
    expect(await ask(datastore, { type: "list", kind: "Profile" })).toEqual([]);
    // of a kind without namespaces
    expect(await ask(datastore, { type: "list", kind: "IPPool", namespace: "shop" })).toEqual(pools);
  });

  test("a conflict answers what was asked for in its place, and where commits are atomic it writes nothing", async () => {
    const revision = await commit(datastore, { op: "create", resource: makePool("a") });
    const readOnConflict = [
      { type: "get", ref: poolRef("a") },
      { type: "list", kind: "IPPool" },
    ] as const;
    const result = await datastore.commit(
      [
        { op: "create", resource: makePool("b") },
        { op: "create", resource: makePool("a") },
      ],
      { readOnConflict },
    );
    if (result.committed) throw new Error("no conflict");
    const [pool, pools] = result.current;
    expect(pool?.revision).toBe(revision);
    expect(pools.map(({ value }) => value.metadata.name)).toEqual(isPlain ? ["a"] : ["a", "b"]);
  });

  test("update, delete and expect hold for the stored revision only", async () => {
    const old = await commit(datastore, { op: "create", resource: makePool("a") });
    const current = await commit(datastore, {
      op: "update",
      resource: { ...makePool("a"), metadata: { name: "a", labels: { x: "" } } },
      revision: old,
    });
    const ref = poolRef("a");
    for (const write of [
      { op: "update", resource: makePool("a"), revision: old },
      { op: "delete", ref, revision: old },
      { op: "expect", ref, revision: old },
      { op: "expect", ref, revision: undefined },
      { op: "expect", ref: poolRef("b"), revision: old },
      { op: "update", resource: makePool("b"), revision: old },
    ] as const) {
      expect({ write, ...(await datastore.commit([write])) }).toEqual({ write, committed: false, current: [] });
    }
    const [right, wrong] = [
      { op: "expect", ref, revision: current },
      { op: "expect", ref: poolRef("b"), revision: old },
    ] as const;
    for (const conditions of [
      [right, wrong],
      [wrong, right],
    ])
      expect(await datastore.commit(conditions)).toMatchObject({ committed: false });
    await commit(datastore, right, { op: "expect", ref: poolRef("b"), revision: undefined });
    expect((await ask(datastore, { type: "get", ref }))?.revision).toBe(current);
    await commit(datastore, { op: "delete", ref, revision: current });
    expect(await ask(datastore, { type: "get", ref })).toBeUndefined();
  });

  test("what was just written holds as a condition, without a look", async () => {
    const ref = poolRef("a");
    const holds = (revision: Revision | undefined) => commit(datastore, { op: "expect", ref, revision });
    const created = await commit(datastore, { op: "create", resource: makePool("a") });
    await holds(created);
    const resource = { ...makePool("a"), metadata: { name: "a", labels: { x: "" } } };
    const updated = await commit(datastore, { op: "update", resource, revision: created });
    await holds(updated);
    expect(await datastore.commit([{ op: "expect", ref, revision: created }])).toMatchObject({ committed: false });
    await commit(datastore, { op: "delete", ref, revision: updated });
    await holds(undefined);
    expect(await datastore.commit([{ op: "expect", ref, revision: updated }])).toMatchObject({ committed: false });
  });

  test("deleting what does not exist, without a revision, succeeds", async () => {
    await commit(datastore, { op: "delete", ref: poolRef("a") });
    expect(await ask(datastore, { type: "get", ref: poolRef("a") })).toBeUndefined();
  });

  test("initialising makes the cluster and its tiers once, also when many do it at once", async () => {
    const options = { clock: systemClock, random: seededRandom(1), version: "v3.31.0" };
    const made = await Promise.all(Array.from({ length: 8 }, () => initialise(datastore, options)));
    if (isPlain) expect(made.filter(Boolean)).toHaveLength(1);
    const [information, tiers] = await datastore.read([
      { type: "get", ref: { kind: "ClusterInformation", name: "default" } },
      { type: "list", kind: "Tier" },
    ]);
    expect(information?.value.spec).toMatchObject({
      clusterGUID: expect.stringMatching(/^[0-9a-f]{32}$/),
      clusterType: datastore.type === "kubernetes" ? "k8s" : "etcd",
      netplugVersion: "v3.31.0",
      datastoreReady: true,
    });
    expect(tiers.map(({ value }) => [value.metadata.name, value.spec])).toEqual([
      ["default", { order: 1_000_000, defaultAction: "Deny" }],
      ["kube-admin", { order: 1_000, defaultAction: "Pass" }],
      ["kube-baseline", { order: 10_000_000, defaultAction: "Pass" }],
    ]);
    await commit(datastore, { op: "delete", ref: { kind: "Tier", name: "kube-admin" } });
    expect(await initialise(datastore, options)).toBe(true);
    expect(await ask(datastore, { type: "get", ref: { kind: "ClusterInformation", name: "default" } })).toEqual(information);
  });

  test("initialising creates nothing where a migration froze the datastore in the meantime", async () => {
    const options = { clock: systemClock, random: seededRandom(1), version: "v3.31.0" };
    await initialise(datastore, options);
    await commit(datastore, { op: "delete", ref: { kind: "Tier", name: "kube-admin" } });
    const frozenAfterRead = freezeBeforeCommit(datastore);
    await expect(initialise(frozenAfterRead, options)).rejects.toMatchObject({ kind: "tryAgainLater" });
    expect(await ask(datastore, { type: "get", ref: { kind: "Tier", name: "kube-admin" } })).toBeUndefined();
  });
}

/** A datastore that a migration freezes between a reader's look and its commit. */
function freezeBeforeCommit(datastore: Datastore): Datastore {
  const ref = { kind: "ClusterInformation", name: "default" } as const;
  return inFrontOf(datastore, {
    async commit(writes, options) {
      const stored = await ask(datastore, { type: "get", ref });
      if (stored === undefined) throw new Error("never initialised");
      const { value, revision } = stored;
      const spec = { ...(value.spec as object), datastoreFrozen: true };
      await commit(datastore, { op: "update", resource: { ...value, spec }, revision });
      return await datastore.commit(writes, options);
    },
  });
}

/** Of a datastore that takes whatever it is given. */
function describePlainResources(datastore: Datastore): void {
  test("what was created is read back without a difference", async () => {
    const endpoint = makeEndpoint("default", "web-1");
    const revision = await commit(datastore, { op: "create", resource: endpoint });
    const ref: ResourceRef = { kind: "WorkloadEndpoint", namespace: "default", name: "web-1" };
    const stored = { value: { ...endpoint, metadata: { ...endpoint.metadata, resourceVersion: revision } }, revision };
    expect(await ask(datastore, { type: "get", ref })).toEqual(stored);
    expect<readonly Stored<Resource>[]>(await ask(datastore, { type: "list", kind: "WorkloadEndpoint" })).toEqual([stored]);
  });

  test("a list holds one kind, or one namespace of it, in the order of names", async () => {
    const resources = [makeEndpoint("b", "x"), makeEndpoint("a", "y"), makeEndpoint("a", "x"), makeEndpoint("ab", "x"), makePool("x")];
    await commit(datastore, ...resources.map((resource) => ({ op: "create", resource }) as const));
    const namesOf = (list: readonly Stored<Resource>[]) => list.map(({ value }) => `${value.metadata.namespace}/${value.metadata.name}`);
    expect(namesOf(await ask(datastore, { type: "list", kind: "WorkloadEndpoint" }))).toEqual(["a/x", "a/y", "ab/x", "b/x"]);
    expect(namesOf(await ask(datastore, { type: "list", kind: "WorkloadEndpoint", namespace: "a" }))).toEqual(["a/x", "a/y"]);
    expect(await ask(datastore, { type: "list", kind: "Node" })).toEqual([]);
  });

  test.each(["blocks", "a.b", "…", "a b", "%62locks", "x@y"])("a resource may be called %p", async (name) => {
    await commit(datastore, { op: "create", resource: makeEndpoint(name, name) });
    expect(
      (await ask(datastore, { type: "list", kind: "WorkloadEndpoint", namespace: name })).map(({ value }) => value.metadata.name),
    ).toEqual([name]);
    const ref: ResourceRef = { kind: "WorkloadEndpoint", namespace: name, name };
    await commit(datastore, { op: "delete", ref });
    expect(await ask(datastore, { type: "get", ref })).toBeUndefined();
  });
}
