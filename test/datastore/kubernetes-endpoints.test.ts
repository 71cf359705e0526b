/** Endpoints as views of pods; what stands in a pod is asked of kubectl. */

import { beforeEach, describe, expect } from "bun:test";
import type { Resource } from "../../src/api/resource.ts";
import type { WorkloadEndpoint } from "../../src/api/workload-endpoint.ts";
import type { ResourceRef, Stored, WatchEvent } from "../../src/datastore/datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { annotationsOf } from "../support/servers/pod-records.ts";
import { makeBlock } from "./blocks.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask, commit, readEndpoint } from "./steps.ts";
import { startWatch, take, toText } from "./watch-events.ts";

const [test, world] = onApiServer(
  () => KubernetesWorld.start(),
  ({ server }) => server.kubectl(["create", "namespace", "shop"]),
);
const { server, admin: datastore } = world;
beforeEach(() => world.empty(["default", "shop"]));

interface PodOptions {
  readonly namespace?: string;
  readonly node?: string | null;
  readonly metadata?: object;
  readonly spec?: object;
}

/** Makes a pod that a node has taken, and that no kubelet knows. */
async function createPod(name: string, { namespace = "default", node = "n1", metadata = {}, spec = {} }: PodOptions = {}): Promise<string> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, ...metadata },
    spec: { ...(node !== null && { nodeName: node }), containers: [{ name: "main", image: "localhost/none:1" }], ...spec },
  };
  return await server.kubectl(["create", "-f", "-", "-o", "jsonpath={.metadata.uid}"], JSON.stringify(pod));
}

const deletePod = (name: string): Promise<string> => server.kubectl(["delete", "pod", name, "--grace-period=0", "--force", "--wait"]);

const ourAnnotations = (name: string): ReturnType<typeof annotationsOf> => annotationsOf(server, { namespace: "default", name });

function refOf(pod: string, ifName = "eth0", namespace = "default"): ResourceRef {
  return { kind: "WorkloadEndpoint", namespace, name: `n1-k8s-${pod.replaceAll("-", "--")}-${ifName}` };
}

const read = async (ref: ResourceRef): Promise<Stored<WorkloadEndpoint>> => await readEndpoint(datastore, ref);

/** The endpoint as an ADD of this container would record it. */
function withAddresses({ value }: Stored<WorkloadEndpoint>, containerID: string, ...ipNetworks: readonly string[]): Resource {
  return { ...value, spec: { ...value.spec, containerID, ipNetworks } };
}

describe("an endpoint (needs cluster)", () => {
  test("is a view of its pod, with what policy goes by", async () => {
    const uid = await createPod("web-0", {
      namespace: "shop",
      metadata: { labels: { app: "web", "netplug.io/orchestrator": "cni" }, generateName: "web-" },
      spec: {
        serviceAccountName: "seller",
        containers: [{ name: "main", image: "localhost/none:1", ports: [{ name: "http", containerPort: 80 }] }],
      },
    });
    const { value, revision } = await read(refOf("web-0", "eth0", "shop"));
    expect(value).toMatchObject({
      apiVersion: "netplug.io/v3",
      kind: "WorkloadEndpoint",
      metadata: {
        name: "n1-k8s-web--0-eth0",
        namespace: "shop",
        uid,
        resourceVersion: revision,
        labels: {
          app: "web",
          "netplug.io/namespace": "shop",
          "netplug.io/orchestrator": "k8s",
          "netplug.io/serviceaccount": "seller",
        },
      },
      spec: {
        orchestrator: "k8s",
        node: "n1",
        pod: "web-0",
        serviceAccountName: "seller",
        endpoint: "eth0",
        interfaceName: "npga4fc3c48bd8", // printf shop.web-0 | sha1sum
        ipNetworks: [],
        profiles: ["kns.shop", "ksa.shop.seller"],
        ports: [{ name: "http", protocol: "TCP", port: 80 }],
      },
    });
    expect(value.spec.containerID).toBeUndefined();
  });

  test("is recorded by three annotations on the pod, and read back from them", async () => {
    await createPod("web", { metadata: { annotations: { "example.com/other": "kept" } } });
    const stored = await read(refOf("web"));
    const revision = await commit(datastore, {
      op: "update",
      resource: withAddresses(stored, "c1", "10.65.0.7/32", "fd00:65::7/128"),
      revision: stored.revision,
    });
    expect(await ourAnnotations("web")).toEqual({
      "cni.netplug.io/containerID": "c1",
      "cni.netplug.io/podIP": "10.65.0.7/32",
      "cni.netplug.io/podIPs": "10.65.0.7/32,fd00:65::7/128",
    });
    expect(await server.kubectl(["get", "pod", "web", "-o", "jsonpath={.metadata.annotations.example\\.com/other}"])).toBe("kept");
    const again = await read(refOf("web"));
    expect(again.revision).toBe(revision);
    expect(again.value.spec).toMatchObject({ containerID: "c1", ipNetworks: ["10.65.0.7/32", "fd00:65::7/128"] });
  });

  test("of a pod without any annotation is recorded too, and writing the same again writes nothing", async () => {
    await createPod("web");
    const stored = await read(refOf("web"));
    const resource = withAddresses(stored, "c1", "10.65.0.7/32");
    const revision = await commit(datastore, { op: "update", resource, revision: stored.revision });
    const version = await server.kubectl(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"]);
    await commit(datastore, { op: "update", resource, revision });
    expect(await server.kubectl(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"])).toBe(version);
  });

  test("is not hindered by a kubelet that changes the pod meanwhile", async () => {
    await createPod("web");
    const stored = await read(refOf("web"));
    await server.kubectl(["patch", "pod", "web", "--subresource=status", "-p", '{"status":{"phase":"Pending","reason":"busy"}}']);
    await commit(datastore, { op: "update", resource: withAddresses(stored, "c1", "10.65.0.7/32"), revision: stored.revision });
    const recorded = await read(refOf("web"));
    await server.kubectl(["annotate", "pod", "web", "example.com/x=y"]);
    await commit(datastore, { op: "delete", ref: refOf("web"), revision: recorded.revision });
    expect(await ourAnnotations("web")).toMatchObject({ "cni.netplug.io/podIPs": "" });
  });

  test("of a pod that was deleted, or deleted and made anew, is code 106 and stamps nobody", async () => {
    await createPod("web");
    const stored = await read(refOf("web"));
    const update = { op: "update", resource: withAddresses(stored, "c1", "10.65.0.7/32"), revision: stored.revision } as const;
    await deletePod("web");
    const message = 'record endpoint of pod "default/web": it was deleted, or deleted and made anew';
    expect(await failureOf(datastore.commit([update]))).toMatchObject({ code: 106, message });
    await createPod("web");
    expect(await failureOf(datastore.commit([update]))).toMatchObject({ code: 106, message });
    expect(await ourAnnotations("web")).toEqual({});
    const create = { op: "create", resource: { ...update.resource, metadata: { name: refOf("web").name, namespace: "default" } } } as const;
    expect(await failureOf(datastore.commit([create]))).toMatchObject({ code: 106 });
  });

  test("is bound to the pod that its maker looked at, also when the datastore has seen a newer one", async () => {
    const old = await createPod("web");
    await deletePod("web");
    await createPod("web");
    const stored = await read(refOf("web"));
    const resource = withAddresses(stored, "c1", "10.65.0.7/32");
    const ofOld = { ...resource, metadata: { ...resource.metadata, uid: old } };
    const failure = await failureOf((async () => datastore.commit([{ op: "update", resource: ofOld, revision: stored.revision }]))());
    expect(failure).toMatchObject({ code: 106 });
    expect(await ourAnnotations("web")).toEqual({});
  });

  test("ends without addresses, keeps its container, and ends again without a request", async () => {
    await createPod("web");
    const first = await read(refOf("web"));
    await commit(datastore, { op: "update", resource: withAddresses(first, "c1", "10.65.0.7/32"), revision: first.revision });
    const recorded = await read(refOf("web"));
    await commit(datastore, { op: "delete", ref: refOf("web"), revision: recorded.revision });
    expect(await ourAnnotations("web")).toEqual({
      "cni.netplug.io/containerID": "c1",
      "cni.netplug.io/podIP": "",
      "cni.netplug.io/podIPs": "",
    });
    const ended = await read(refOf("web"));
    expect(ended.value.spec.ipNetworks).toEqual([]);
    const version = await server.kubectl(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"]);
    await commit(datastore, { op: "delete", ref: refOf("web"), revision: ended.revision });
    await commit(datastore, { op: "delete", ref: refOf("web") });
    expect(await server.kubectl(["get", "pod", "web", "-o", "jsonpath={.metadata.resourceVersion}"])).toBe(version);
  });

  test("of another container, or of a pod made anew, is not ended: that is a conflict", async () => {
    await createPod("web");
    const first = await read(refOf("web"));
    await commit(datastore, { op: "update", resource: withAddresses(first, "c1", "10.65.0.7/32"), revision: first.revision });
    const ofOld = await read(refOf("web"));
    await commit(datastore, { op: "update", resource: withAddresses(ofOld, "c2", "10.65.0.8/32"), revision: ofOld.revision });
    const end = [{ op: "delete", ref: refOf("web"), revision: ofOld.revision }] as const;
    const result = await datastore.commit(end, { readOnConflict: [{ type: "get", ref: refOf("web") }] });
    expect(result).toMatchObject({ committed: false, current: [{ value: { spec: { containerID: "c2" } } }] });
    await deletePod("web");
    expect(await datastore.commit(end)).toMatchObject({ committed: true });
    await createPod("web", { metadata: { annotations: { "cni.netplug.io/containerID": "c1", "cni.netplug.io/podIPs": "10.65.0.9/32" } } });
    expect(await datastore.commit(end)).toMatchObject({ committed: false });
    expect(await ourAnnotations("web")).toMatchObject({ "cni.netplug.io/podIPs": "10.65.0.9/32" });
  });

  test("is not recorded when its block turns out to be another's", async () => {
    await createPod("web");
    await commit(datastore, { op: "create-block", block: makeBlock("10.65.0.0/26", "n2") });
    const stored = await read(refOf("web"));
    const writes = [
      { op: "create-block", block: makeBlock("10.65.0.0/26", "n1", { 7: "n1" }) },
      { op: "update", resource: withAddresses(stored, "c1", "10.65.0.7/32"), revision: stored.revision },
    ] as const;
    expect(await datastore.commit(writes)).toMatchObject({ committed: false });
    expect(await ourAnnotations("web")).toEqual({});
  });

  test("of a second interface has annotations of its own", async () => {
    await createPod("web");
    for (const [ifName, address] of [
      ["eth0", "10.65.0.7/32"],
      ["net1", "10.66.0.7/32"],
    ] as const) {
      const stored = await read(refOf("web", ifName));
      await commit(datastore, { op: "update", resource: withAddresses(stored, "c1", address), revision: stored.revision });
    }
    expect(await ourAnnotations("web")).toEqual({
      "cni.netplug.io/containerID": "c1",
      "cni.netplug.io/podIP": "10.65.0.7/32",
      "cni.netplug.io/podIPs": "10.65.0.7/32",
      "cni.netplug.io/containerID.net1": "c1",
      "cni.netplug.io/podIP.net1": "10.66.0.7/32",
      "cni.netplug.io/podIPs.net1": "10.66.0.7/32",
    });
    const net1 = await read(refOf("web", "net1"));
    await commit(datastore, { op: "delete", ref: refOf("web", "net1"), revision: net1.revision });
    expect((await read(refOf("web"))).value.spec.ipNetworks).toEqual(["10.65.0.7/32"]);
    const all = await ask(datastore, { type: "list", kind: "WorkloadEndpoint" });
    expect(all.map(({ value }) => value.metadata.name)).toEqual(["n1-k8s-web-eth0", "n1-k8s-web-net1"]);
  });

  test("that is no pod's is code 106 before anything is written", async () => {
    const resource: Resource = {
      apiVersion: "netplug.io/v3",
      kind: "WorkloadEndpoint",
      metadata: { namespace: "default", name: "n1-cni-c1-eth0" },
      spec: { orchestrator: "cni", node: "n1", containerID: "c1", endpoint: "eth0" },
    };
    const writes = [
      { op: "create-block", block: makeBlock("10.65.0.0/26", "n1", { 0: "n1" }) },
      { op: "create", resource },
    ] as const;
    expect(await failureOf(datastore.commit(writes))).toMatchObject({
      code: 106,
      message:
        'record endpoint "n1-cni-c1-eth0": the Kubernetes datastore keeps endpoints of pods, and the runtime names no pod (K8S_POD_NAME)',
    });
    expect(await ask(datastore, { type: "all-blocks" })).toEqual([]);
    const ref: ResourceRef = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-cni-c1-eth0" };
    expect(await ask(datastore, { type: "get", ref })).toBeUndefined();
    await commit(datastore, { op: "delete", ref });
  });

  test("is none for pods of the host's network; a pod that no node has taken has one when somebody gave it addresses", async () => {
    await createPod("host", { spec: { hostNetwork: true } });
    await createPod("waiting", { node: null });
    expect(await ask(datastore, { type: "get", ref: refOf("host") })).toBeUndefined();
    expect(await ask(datastore, { type: "list", kind: "WorkloadEndpoint" })).toEqual([]);
    const waiting = await read(refOf("waiting"));
    await commit(datastore, { op: "update", resource: withAddresses(waiting, "c1", "10.65.0.7/32"), revision: waiting.revision });
    const [listed] = await ask(datastore, { type: "list", kind: "WorkloadEndpoint" });
    expect(listed?.value.spec).toMatchObject({ ipNetworks: ["10.65.0.7/32"], node: "" });
  });

  test("takes the addresses that the kubelet reports where nobody wrote any, and none of a pod that has ended", async () => {
    await createPod("foreign");
    const status = { phase: "Running", podIP: "192.0.2.7", podIPs: [{ ip: "192.0.2.7" }, { ip: "2001:db8::7" }] };
    await server.kubectl(["patch", "pod", "foreign", "--subresource=status", "-p", JSON.stringify({ status })]);
    expect((await read(refOf("foreign"))).value.spec.ipNetworks).toEqual(["192.0.2.7/32", "2001:db8::7/128"]);
    await server.kubectl(["patch", "pod", "foreign", "--subresource=status", "-p", '{"status":{"phase":"Succeeded"}}']);
    expect((await read(refOf("foreign"))).value.spec.ipNetworks).toEqual([]);
  });

  test("has those addresses that can be read, when somebody writes its annotation by hand, and is recorded all the same", async () => {
    await createPod("web");
    const wrong = "x,10.65.0.7/32,10.65.0.0/24,,fd00:65::/64";
    await server.kubectl(["annotate", "pod", "web", "cni.netplug.io/containerID=c1", `cni.netplug.io/podIPs=${wrong}`]);
    const stored = await read(refOf("web"));
    expect(stored.value.spec.ipNetworks).toEqual(["10.65.0.7/32"]);
    await commit(datastore, { op: "update", resource: withAddresses(stored, "c1", "10.65.0.8/32"), revision: stored.revision });
    expect((await ourAnnotations("web"))["cni.netplug.io/podIPs"]).toBe("10.65.0.8/32");
    await server.kubectl(["annotate", "--overwrite", "pod", "web", `cni.netplug.io/podIPs=${wrong}`]);
    await commit(datastore, { op: "delete", ref: refOf("web"), revision: (await read(refOf("web"))).revision });
    expect((await ourAnnotations("web"))["cni.netplug.io/podIPs"]).toBe("");
  });

  test("is read with namesakes, and listed with those of one namespace or of all", async () => {
    await createPod("b", { namespace: "shop" });
    await createPod("a", { namespace: "shop", node: "n2" });
    await createPod("a-1");
    const names = async (namespace?: string) => {
      const within = namespace === undefined ? {} : { namespace };
      const listed = await ask(datastore, { type: "list", kind: "WorkloadEndpoint", ...within });
      return listed.map(({ value }) => `${value.metadata.namespace}/${value.metadata.name}`);
    };
    expect(await names()).toEqual(["default/n1-k8s-a--1-eth0", "shop/n1-k8s-b-eth0", "shop/n2-k8s-a-eth0"]);
    expect(await names("shop")).toEqual(["shop/n1-k8s-b-eth0", "shop/n2-k8s-a-eth0"]);
    await createPod("b");
    const namespaces = ["default", "shop"];
    const gotten = await datastore.read(namespaces.map((namespace) => ({ type: "get", ref: refOf("b", "eth0", namespace) }) as const));
    expect(gotten.map((stored) => stored?.value.metadata.namespace)).toEqual(namespaces);
    const lists = await datastore.read(namespaces.map((namespace) => ({ type: "list", kind: "WorkloadEndpoint", namespace }) as const));
    expect(lists.map((list) => list.map(({ value }) => value.metadata.namespace))).toEqual([
      ["default", "default"],
      ["shop", "shop"],
    ]);
  });

  test("is watched: what a kubelet changes of its pod is told only where it shows", async () => {
    await createPod("web");
    const ending = new AbortController();
    const events = startWatch(datastore, ["WorkloadEndpoint"], ending.signal);
    expect((await take(events, 3)).map(toText)).toEqual(["reset", "put n1-k8s-web-eth0", "in-sync"]);
    await server.kubectl(["patch", "pod", "web", "--subresource=status", "-p", '{"status":{"reason":"busy"}}']);
    const stored = await read(refOf("web"));
    await commit(datastore, { op: "update", resource: withAddresses(stored, "c1", "10.65.0.7/32"), revision: stored.revision });
    const [put] = await take(events, 1);
    expect(put).toMatchObject({ type: "put", stored: { value: { spec: { ipNetworks: ["10.65.0.7/32"] } } } });
    const inShop = startWatch(datastore, ["WorkloadEndpoint", "Node", "Tier"], ending.signal, "shop");
    const isEndpoint = (event: WatchEvent): boolean => toText(event).includes("-k8s-");
    const untilInSync: WatchEvent[] = [];
    while (untilInSync.at(-1)?.type !== "in-sync") untilInSync.push(...(await take(inShop, 1)));
    expect(untilInSync.filter(isEndpoint)).toEqual([]);
    await createPod("web", { namespace: "shop" });
    expect(await take(inShop, 1)).toMatchObject([{ type: "put", stored: { value: { metadata: { namespace: "shop" } } } }]);
    expect(await take(events, 1)).toMatchObject([{ type: "put", stored: { value: { metadata: { namespace: "shop" } } } }]);
    await deletePod("web");
    expect(await take(events, 1)).toEqual([{ type: "delete", ref: refOf("web") }]);
    await server.kubectl(["delete", "pod", "web", "-n", "shop", "--grace-period=0", "--force", "--wait"]);
    expect(await take(events, 1)).toEqual([{ type: "delete", ref: refOf("web", "eth0", "shop") }]);
    ending.abort();
  });
});
