/** Every operation, by our client and by another implementation, on a real API server: the same objects. */

import { describe, expect } from "bun:test";
import { CoreV1Api, CustomObjectsApi, KubernetesObjectApi, PatchStrategy } from "@kubernetes/client-node";
import { NAMESPACES, PODS } from "../../src/kube/core-types.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import { toPointerStep } from "../../src/kube/patch.ts";
import type { ResourceType } from "../../src/kube/resource-type.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { failureOf } from "../support/failure-of.ts";
import { CONFIG_MAPS, makePod, normalise, openClient, readWithOther, until, WIDGET_CRD, WIDGETS } from "./support/real-api.ts";

const ANOTHER_UID = "00000000-0000-4000-8000-000000000000";
const SERVICE_ACCOUNTS: ResourceType = { group: "", version: "v1", plural: "serviceaccounts", kind: "ServiceAccount", isNamespaced: true };

let core: CoreV1Api;
let custom: CustomObjectsApi;
let generic: KubernetesObjectApi;
const [test, api] = onApiServer(
  () => startApiServer({ users: { alice: {}, bob: {} } }),
  async (api) => {
    const other = readWithOther(api.kubeconfigFile);
    core = other.makeApiClient(CoreV1Api);
    custom = other.makeApiClient(CustomObjectsApi);
    generic = KubernetesObjectApi.makeApiClient(other);
    await api.kubectl(["apply", "-f", "-"], JSON.stringify(WIDGET_CRD));
    await until(
      "the CRD",
      async () => (await custom.listClusterCustomObject({ group: "test.netplug.io", version: "v3", plural: "widgets" })) as object,
    );
  },
);

describe.each(["http1.1", "http2"] as const)("over %s", (protocol) => {
  const [, client] = onApiServer(() => openClient(api, { protocol }));
  const suffix = protocol === "http2" ? "h2" : "h1";

  test("what one creates, the other gets, and the reverse (needs cluster)", async () => {
    const [ours, theirs] = [`ours-${suffix}`, `theirs-${suffix}`];
    const created = await client.create(PODS, makePod(ours));
    expect(normalise(await core.readNamespacedPod({ namespace: "default", name: ours }))).toEqual(normalise(created));
    const made = await core.createNamespacedPod({ namespace: "default", body: makePod(theirs) as object });
    expect(normalise(await client.get(PODS, { namespace: "default", name: theirs }))).toEqual(normalise(made));
    expect(await failureOf(client.create(PODS, makePod(ours)))).toMatchObject({ reason: "alreadyExists", status: 409 });
  });

  test("both list the same, whole and in pages, by label and by field (needs cluster)", async () => {
    const namespace = `list-${suffix}`;
    await client.create(NAMESPACES, { metadata: { name: namespace } });
    const names = Array.from({ length: 7 }, (_, index) => `c${index}`);
    await Promise.all(
      names.map((name, index) =>
        client.create(CONFIG_MAPS, { metadata: { name, namespace, labels: { odd: String(index % 2) } }, data: { index: String(index) } }),
      ),
    );
    const theirs = await core.listNamespacedConfigMap({ namespace });
    // The other client, like the server, leaves type and version out of a list's items.
    expect(normalise((await client.list(CONFIG_MAPS, { namespace })).items)).toEqual(normalise(theirs.items));
    const paged = await client.list(CONFIG_MAPS, { namespace, pageSize: 3 });
    expect(normalise(paged.items)).toEqual(normalise(theirs.items));
    const odd = await client.list(CONFIG_MAPS, { namespace, labelSelector: "odd in (1)" });
    expect(odd.items.map(({ metadata }) => metadata.name)).toEqual(["c1", "c3", "c5"]);
    const one = await client.list(CONFIG_MAPS, { namespace, fieldSelector: "metadata.name=c2" });
    expect(one.items.map(({ data }) => data)).toEqual([{ index: "2" }]);
    expect((await client.list(CONFIG_MAPS)).items.length).toBeGreaterThanOrEqual(7);
  });

  test("an update is refused when another was first (needs cluster)", async () => {
    const name = `update-${suffix}`;
    const first = await client.create(CONFIG_MAPS, { metadata: { name, namespace: "default" }, data: { a: "1" } });
    const second = await client.update(CONFIG_MAPS, { ...first, data: { a: "2" } });
    expect(normalise(await core.readNamespacedConfigMap({ namespace: "default", name }))).toEqual(normalise(second));
    expect(await failureOf(client.update(CONFIG_MAPS, { ...first, data: { a: "3" } }))).toMatchObject({ reason: "conflict", status: 409 });
    const stranger = { ...first, metadata: { ...first.metadata, uid: ANOTHER_UID, resourceVersion: undefined } };
    expect(await failureOf(client.update(CONFIG_MAPS, JSON.parse(JSON.stringify(stranger)) as typeof first))).toMatchObject({
      reason: "otherObject",
    });
    expect(await failureOf(client.update(CONFIG_MAPS, { metadata: { name: "nowhere", namespace: "default" } }))).toMatchObject({
      reason: "notFound",
    });
  });

  test("merge, strategic and JSON patches do what the other client's do (needs cluster)", async () => {
    const [ours, theirs] = [`patch-ours-${suffix}`, `patch-theirs-${suffix}`];
    await client.create(PODS, makePod(ours));
    await client.create(PODS, makePod(theirs));
    const merge = { metadata: { labels: { a: "1", b: "2" } } };
    const strategic = {
      metadata: { annotations: { "cni.netplug.io/podIP": "10.0.0.1/32" } },
      spec: { containers: [{ name: "main", image: "localhost/other:2" }] },
    };
    const json = [
      { op: "test", path: "/metadata/labels/a", value: "1" },
      { op: "remove", path: "/metadata/labels/a" },
      { op: "add", path: `/metadata/annotations/${toPointerStep("cni.netplug.io/containerID")}`, value: "abc" },
    ] as const;
    const ref = { namespace: "default", name: ours };
    await client.patch(PODS, ref, { type: "merge", body: merge });
    await client.patch(PODS, ref, { type: "strategic", body: strategic });
    const result = await client.patch(PODS, ref, { type: "json", operations: json });
    const target = { kind: "Pod", apiVersion: "v1", metadata: { namespace: "default", name: theirs } };
    await generic.patch(
      { ...target, ...merge, metadata: { ...target.metadata, ...merge.metadata } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.MergePatch,
    );
    await generic.patch(
      { ...target, ...strategic, metadata: { ...target.metadata, ...strategic.metadata } },
      undefined,
      undefined,
      undefined,
      undefined,
      PatchStrategy.StrategicMergePatch,
    );
    const expected = await client.patch(PODS, { namespace: "default", name: theirs }, { type: "json", operations: json });
    expect(contentOf(result)).toEqual(contentOf(expected));
    expect(contentOf(normalise(await core.readNamespacedPod(ref)) as KubeObject)).toEqual(contentOf(normalise(result) as KubeObject));
  });

  test("a patch of the status with a UID leaves a pod of the same name that was made later alone (needs cluster)", async () => {
    const name = `stamp-${suffix}`;
    const pod = await client.create(PODS, makePod(name));
    const ref = { namespace: "default", name };
    const stamp = (uid: string | undefined): object => ({ metadata: { uid, annotations: { "cni.netplug.io/podIP": "10.0.0.9/32" } } });
    await client.patch(PODS, ref, { type: "strategic", body: stamp(pod.metadata.uid) }, { subresource: "status" });
    await core.deleteNamespacedPod({ ...ref, gracePeriodSeconds: 0 });
    await core.createNamespacedPod({ namespace: "default", body: makePod(name) as object });
    for (const type of ["strategic", "merge"] as const) {
      expect(await failureOf(client.patch(PODS, ref, { type, body: stamp(pod.metadata.uid) }, { subresource: "status" }))).toMatchObject({
        reason: "otherObject",
      });
    }
    const tested = [{ op: "test", path: "/metadata/uid", value: pod.metadata.uid }] as const;
    expect(await failureOf(client.patch(PODS, ref, { type: "json", operations: tested }, { subresource: "status" }))).toMatchObject({
      reason: "invalid",
      causes: [],
    });
    expect((await core.readNamespacedPod(ref)).metadata?.annotations).toBeUndefined();
  });

  test("server-side apply owns its fields, takes others only by force, and drops what it no longer has (needs cluster)", async () => {
    const name = `apply-${suffix}`;
    const object = (data: Record<string, string>): typeof CONFIG_MAPS.objectType & object => ({
      metadata: { name, namespace: "default" },
      data,
    });
    await client.apply(CONFIG_MAPS, object({ a: "1", b: "2" }), { fieldManager: "one" });
    const conflict = await failureOf(client.apply(CONFIG_MAPS, object({ a: "9" }), { fieldManager: "two" }), KubeError);
    expect(conflict).toMatchObject({ reason: "conflict", causes: [{ field: ".data.a", message: 'conflict with "one"' }] });
    await client.apply(CONFIG_MAPS, object({ a: "9" }), { fieldManager: "two", force: true });
    await client.apply(CONFIG_MAPS, { metadata: { name, namespace: "default" } }, { fieldManager: "one" });
    const stored = await core.readNamespacedConfigMap({ namespace: "default", name });
    expect(stored.data).toEqual({ a: "9" });
    expect(stored.metadata?.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual(["two Apply"]);
  });

  test("a delete hits the object that is meant only (needs cluster)", async () => {
    const name = `delete-${suffix}`;
    const made = await client.create(CONFIG_MAPS, { metadata: { name, namespace: "default" } });
    const ref = { namespace: "default", name };
    expect(await failureOf(client.delete(CONFIG_MAPS, ref, { uid: ANOTHER_UID }))).toMatchObject({ reason: "otherObject" });
    expect(await failureOf(client.delete(CONFIG_MAPS, ref, { resourceVersion: "1" }))).toMatchObject({ reason: "conflict" });
    const { uid, resourceVersion } = made.metadata;
    expect(
      await client.delete(CONFIG_MAPS, ref, {
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      }),
    ).toBe(true);
    expect(await client.delete(CONFIG_MAPS, ref)).toBe(false);
    expect(await client.get(CONFIG_MAPS, ref)).toBeUndefined();
  });

  test("custom resources get their defaults, and what is not valid is told field by field (needs cluster)", async () => {
    const name = `widget-${suffix}`;
    const made = await client.create(WIDGETS, { metadata: { name }, spec: {} });
    expect(made.spec).toEqual({ size: 5 });
    expect(normalise(await custom.getClusterCustomObject({ group: "test.netplug.io", version: "v3", plural: "widgets", name }))).toEqual(
      normalise(made),
    );
    const zero = await failureOf(client.create(WIDGETS, { metadata: { name: `${name}-0` }, spec: { size: 0 } }), KubeError);
    expect(zero).toMatchObject({ reason: "invalid", status: 422, causes: [{ field: "spec.size" }] });
    const changed = await failureOf(client.patch(WIDGETS, { name }, { type: "merge", body: { spec: { size: 6 } } }), KubeError);
    expect(changed.message).toContain("size must not change");
    expect(await failureOf(client.patch(WIDGETS, { name }, { type: "strategic", body: {} }))).toMatchObject({
      reason: "badRequest",
      status: 415,
    });
  });

  test("a subresource can be created: a token, which lets its service account in (needs cluster)", async () => {
    const name = `account-${suffix}`;
    await client.create(SERVICE_ACCOUNTS, { metadata: { name, namespace: "default" } });
    const asked = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name, namespace: "default" },
      spec: { expirationSeconds: 3600 },
    };
    const { status } = (await client.create(SERVICE_ACCOUNTS, asked, { subresource: "token" })) as {
      readonly status?: { readonly token?: string };
    };
    const as = openClient(api, { protocol, role: "netplug-cni" }, { token: status?.token });
    const refused = await failureOf(as.list(PODS), KubeError);
    expect(refused).toMatchObject({ code: 108, message: "list pods is not permitted; role netplug-cni" });
    expect(refused.details).toContain(`system:serviceaccount:default:${name}`);
  });
});

describe("a refusal", () => {
  test("names verb and resource, as the role must have them (needs cluster)", async () => {
    const alice = openClient(api, { role: "netplug-cni" }, { token: api.tokenOf("alice") });
    const ref = { namespace: "default", name: "x" };
    const refusals: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => alice.get(PODS, ref), "get pods"],
      [() => alice.list(NAMESPACES), "list namespaces"],
      [() => alice.create(CONFIG_MAPS, { metadata: ref }), "create configmaps"],
      [() => alice.update(WIDGETS, { metadata: { name: "x" } }), "update widgets.test.netplug.io"],
      [() => alice.patch(PODS, ref, { type: "merge", body: {} }, { subresource: "status" }), "patch pods/status"],
      [() => alice.apply(CONFIG_MAPS, { metadata: ref }, { fieldManager: "m" }), "patch configmaps"],
      [() => alice.delete(PODS, ref), "delete pods"],
    ];
    for (const [ask, action] of refusals) {
      expect(await failureOf(ask())).toMatchObject({ code: 108, message: `${action} is not permitted; role netplug-cni` });
    }
  });

  test("of a token says whose it is (needs cluster)", async () => {
    const nobody = openClient(api, {}, { token: "nobody-gave-this" });
    expect(await failureOf(nobody.list(PODS))).toMatchObject({
      code: 108,
      reason: "unauthorized",
      message: "list pods: the API server does not accept the token of the settings",
    });
  });

  test("for a resource that is not served is code 112 (needs cluster)", async () => {
    const client = openClient(api);
    for (const type of [
      { ...WIDGETS, plural: "gadgets" },
      { ...WIDGETS, version: "v9" },
      { ...WIDGETS, group: "nobody.netplug.io" },
    ]) {
      const asks = [() => client.get(type, { name: "x" }), () => client.list(type), () => client.create(type, { metadata: { name: "x" } })];
      for (const ask of asks) {
        expect(await failureOf(ask(), KubeError)).toMatchObject({ code: 112, reason: "notServed" });
      }
    }
  });

  test("to create in a namespace that does not exist is not found (needs cluster)", async () => {
    expect(await failureOf(openClient(api).create(PODS, makePod("x", "nowhere")))).toMatchObject({ reason: "notFound" });
  });
});

test("impersonation acts as another user with a group (needs cluster)", async () => {
  const path = `${api.folder}/as.kubeconfig`;
  const text = await Bun.file(api.kubeconfigFile).text();
  await Bun.write(path, text.replace("  user:\n", "  user:\n    as: carol\n    as-groups: [readers]\n"));
  const refused = await failureOf(openClient(api, {}, { kubeconfig: path }).list(PODS), KubeError);
  expect(refused.details).toContain('User "carol" cannot list');
});

test("impersonation by one who may not is told at once (needs cluster)", async () => {
  const path = `${api.folder}/alice-as.kubeconfig`;
  const text = await Bun.file(api.issue("alice").kubeconfigFile).text();
  await Bun.write(path, text.replace("  user:\n", "  user:\n    as: carol\n"));
  const client = openClient(api, {}, { kubeconfig: path });
  const { message } = await failureOf(client.list(PODS), KubeError);
  expect(message).toMatch(/^impersonate\S* \S+ is not permitted; "as" of the kubeconfig asks to impersonate: /);
  expect(client.requester.counts).toEqual({ requests: 1, retries: 0 });
});

/** Without what must differ between two objects. */
function contentOf(object: KubeObject): unknown {
  const { labels, annotations } = object.metadata;
  return { ...object, metadata: { labels, annotations } };
}
