import { describe, expect, test } from "bun:test";
import { BOUND_TO } from "../../../api/kubernetes-pod.ts";
import { endingAddresses, reportedAddresses } from "../../../api/reported-addresses.ts";
import type { Pod } from "../../../kube/core-types.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { type EndpointState, fromRevision, toRevision } from "./endpoint-state.ts";
import { toEndpoint, toEndpoints } from "./endpoint-view.ts";

const WEB: Pod = {
  metadata: { name: "web-0", namespace: "shop", uid: "uid-1" },
  spec: { nodeName: "n1", containers: [{ name: "main" }] },
};

/** With annotations of ours; the first interface's unless their names say otherwise. */
function recorded(own: Readonly<Record<string, string>>, others: Partial<Pod> = {}): Pod {
  const annotations = Object.fromEntries(Object.entries(own).map(([name, value]) => [`cni.netplug.io/${name}`, value]));
  return { ...WEB, ...others, metadata: { ...WEB.metadata, annotations } };
}

const NETWORKS = "10.65.0.7/32,fd65::7/128";
const C1 = { containerID: "c1", podIP: "10.65.0.7/32", podIPs: NETWORKS } as const;

describe("an endpoint", () => {
  test("is named, and its host interface too, after node, namespace, pod and interface", () => {
    const { value } = toEndpoint(WEB, "eth0", "n1") ?? {};
    expect(value?.metadata).toMatchObject({ name: "n1-k8s-web--0-eth0", namespace: "shop", uid: "uid-1" });
    expect(value?.spec).toMatchObject({ node: "n1", pod: "web-0", endpoint: "eth0", interfaceName: "npga4fc3c48bd8" }); // printf shop.web-0 | sha1sum
    const other = toEndpoint(WEB, "net1", "other")?.value;
    expect(other?.spec).toMatchObject({ node: "other", endpoint: "net1", interfaceName: "npg1c300f37c4c" }); // printf shop.web-0.net1 | sha1sum
  });

  test("says which node Kubernetes has bound the pod to, if that has another name here", () => {
    expect(toEndpoint(WEB, "eth0", "rack-7")?.value.metadata.annotations).toEqual({ [BOUND_TO]: "n1" });
    const unbound: Pod = { ...WEB, spec: {} };
    const plain = [toEndpoint(WEB, "eth0", "n1"), toEndpoint(unbound, "eth0", "n1")];
    expect(plain.map((one) => one?.value.metadata.annotations)).toEqual([undefined, undefined]);
  });

  test("of a pod in which nothing is recorded has no container and no fields that would be empty", () => {
    const { value } = toEndpoint(WEB, "eth0", "n1") ?? {};
    expect(value?.metadata).toEqual({
      name: "n1-k8s-web--0-eth0",
      namespace: "shop",
      uid: "uid-1",
      labels: { "netplug.io/namespace": "shop", "netplug.io/orchestrator": "k8s" },
      resourceVersion: "uid-1//",
    });
    expect(Object.keys(value?.spec ?? {}).sort()).toEqual(
      ["endpoint", "interfaceName", "ipNetworks", "node", "orchestrator", "pod", "profiles"].sort(),
    );
    expect(toEndpoint(recorded({ containerID: "" }), "eth0", "n1")?.value.spec).not.toHaveProperty("containerID");
  });

  test("has what is recorded, and what the pod asks for and offers", () => {
    const asked = { floatingIPs: '["192.0.2.9"]', allowedSourcePrefixes: '["198.51.100.0/24"]' };
    const spec = {
      serviceAccountName: "seller",
      containers: [{ name: "main", ports: [{ name: "http", containerPort: 80, protocol: "TCP" }] }],
    };
    const pod = recorded({ ...C1, ...asked }, { spec });
    const labelled: Pod = { ...pod, metadata: { ...pod.metadata, generateName: "web-", labels: { app: "web" } } };
    const { value } = toEndpoint(labelled, "eth0", "n1") ?? {};
    expect(value?.metadata).toMatchObject({ generateName: "web-", labels: { app: "web", "netplug.io/serviceaccount": "seller" } });
    expect(value?.spec).toMatchObject({
      containerID: "c1",
      ipNetworks: NETWORKS.split(","),
      ipNATs: [{ internalIP: "10.65.0.7", externalIP: "192.0.2.9" }],
      allowSpoofedSourcePrefixes: ["198.51.100.0/24"],
      serviceAccountName: "seller",
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    });
  });

  test.each<[what: string, pod: Pod, ifName: string, networks: readonly string[]]>([
    [
      "what is recorded, as far as it is addresses",
      recorded({ podIPs: "x,10.65.0.7/32,10.65.0.0/24,,fd65::/64" }),
      "eth0",
      ["10.65.0.7/32"],
    ],
    ["none after a DEL, whatever the kubelet reports", recorded({ podIPs: "" }, { status: { podIPs: [{ ip: "192.0.2.7" }] } }), "eth0", []],
    [
      "what the kubelet reports",
      { ...WEB, status: { podIPs: [{ ip: "192.0.2.7" }, { ip: "fd65::7" }] } },
      "eth0",
      ["192.0.2.7/32", "fd65::7/128"],
    ],
    ["nothing that the kubelet reports of another interface", { ...WEB, status: { podIPs: [{ ip: "192.0.2.7" }] } }, "net1", []],
    ["that of its own interface", recorded({ ...C1, "podIPs.net1": "10.66.0.7/32" }), "net1", ["10.66.0.7/32"]],
    ["none in a pod that succeeded", recorded(C1, { status: { phase: "Succeeded" } }), "eth0", []],
    ["none in a pod that failed", recorded(C1, { status: { phase: "Failed" } }), "eth0", []],
    ["all in one that runs", recorded(C1, { status: { phase: "Running" } }), "eth0", NETWORKS.split(",")],
  ])("has %s", (_what, pod, ifName, networks) => {
    expect(toEndpoint(pod, ifName, "n1")?.value.spec.ipNetworks).toEqual(networks);
  });

  test("shows what the kubelet reports where the record was cleared of a pod that has a sandbox and goes on", () => {
    const status = {
      podIPs: [{ ip: "10.65.0.7" }, { ip: "fd65::7" }],
      conditions: [{ type: "PodReadyToStartContainers", status: "True" }],
    };
    const cleared = recorded({ containerID: "c1", podIP: "", podIPs: "" }, { status });
    const shown = (pod: Pod, ifName = "eth0"): readonly string[] => {
      const { metadata } = toEndpoint(pod, ifName, "n1")?.value ?? {};
      return reportedAddresses({ metadata: metadata ?? { name: "" } }).map(toAddressText);
    };
    expect(shown(cleared)).toEqual(["10.65.0.7", "fd65::7"]);
    expect(toEndpoint(cleared, "eth0", "n1")?.value.spec.ipNetworks).toEqual([]);
    expect(shown(recorded(C1, { status }))).toEqual([]);
    expect(shown({ ...WEB, status })).toEqual([]); // no record: the status stands for it
    expect(shown(recorded({ "containerID.net1": "c1", "podIPs.net1": "" }, { status }), "net1")).toEqual([]);
    expect(shown({ ...cleared, status: { ...status, conditions: [] } })).toEqual([]);
    expect(shown({ ...cleared, status: { ...status, conditions: [], phase: "Succeeded" } })).toEqual([]);
    const ending = { ...cleared, metadata: { ...cleared.metadata, deletionTimestamp: "2026-01-02T03:04:05Z" } };
    expect(shown(ending)).toEqual([]);
    const { metadata } = toEndpoint(ending, "eth0", "n1")?.value ?? { metadata: { name: "" } };
    expect(endingAddresses({ metadata }).map(toAddressText)).toEqual(["10.65.0.7", "fd65::7"]);
  });

  test("of a pod that somebody called ended shows what it may still have: its kubelet does so only when the sandbox is gone", () => {
    const sandbox = (status: string) => ({ phase: "Failed", conditions: [{ type: "PodReadyToStartContainers", status }] });
    const shown = (pod: Pod, ifName = "eth0"): readonly string[] => {
      const { metadata, spec } = toEndpoint(pod, ifName, "n1")?.value ?? { metadata: { name: "" }, spec: undefined };
      expect([spec?.ipNetworks, reportedAddresses({ metadata })]).toEqual([[], []]);
      return endingAddresses({ metadata }).map(toAddressText);
    };
    const podIPs = [{ ip: "10.65.0.7" }, { ip: "fd65::7" }];
    const all = ["10.65.0.7", "fd65::7"];
    expect(shown(recorded(C1, { status: { ...sandbox("True"), podIPs } }))).toEqual(all);
    expect(shown(recorded({ ...C1, podIPs: "" }, { status: { ...sandbox("True"), podIPs } }))).toEqual(all);
    expect(shown({ ...WEB, status: { ...sandbox("True"), podIPs } })).toEqual(all);
    expect(shown(recorded({ "podIPs.net1": "10.66.0.7/32" }, { status: { ...sandbox("True"), podIPs } }), "net1")).toEqual(["10.66.0.7"]);
    expect(shown(recorded(C1, { status: { ...sandbox("False"), podIPs } }))).toEqual([]);
  });

  test("shows what the kubelet reports beside addresses that somebody wrote into the record", () => {
    const conditions = [{ type: "PodReadyToStartContainers", status: "True" }];
    const status = { podIPs: [{ ip: "10.65.0.7" }, { ip: "fd65::7" }], conditions };
    const { value } = toEndpoint(recorded({ ...C1, podIPs: "10.65.0.9/32,fd65::7/128" }, { status }), "eth0", "n1") ?? {};
    expect(value?.spec.ipNetworks).toEqual(["10.65.0.9/32", "fd65::7/128"]);
    expect(reportedAddresses({ metadata: value?.metadata ?? { name: "" } }).map(toAddressText)).toEqual(["10.65.0.7"]);
  });

  test("is none of a pod in the host's network", () => {
    const pod = { ...WEB, spec: { ...WEB.spec, hostNetwork: true } };
    expect([toEndpoint(pod, "eth0", "n1"), toEndpoints(pod)]).toEqual([undefined, []]);
    expect(toEndpoint({ ...WEB, spec: { ...WEB.spec, hostNetwork: false } }, "eth0", "n1")).toBeDefined();
  });

  test("belongs to each interface of a pod that has one, and to the first of one that a node has taken", () => {
    const names = (pod: Pod): readonly string[] => toEndpoints(pod).map(({ value }) => `${value.spec.node} ${value.spec.endpoint}`);
    const waiting = { spec: { containers: [] } };
    expect(names(WEB)).toEqual(["n1 eth0"]);
    expect(names(recorded({ ...C1, "containerID.net1": "c1", "podIPs.net2": "10.66.0.7/32" }))).toEqual(["n1 net1", "n1 eth0"]);
    expect(names({ ...WEB, ...waiting })).toEqual([]);
    expect(names(recorded({ podIPs: NETWORKS }, waiting))).toEqual([]);
    expect(names(recorded(C1, waiting))).toEqual([" eth0"]);
  });

  test("of the first interface is there once, also when somebody wrote an annotation with its name, which nobody reads", () => {
    const pod = recorded({ ...C1, "containerID.eth0": "c2", "podIPs.eth0": "10.65.0.9/32" });
    expect(toEndpoints(pod).map(({ value }) => value.spec)).toMatchObject([
      { endpoint: "eth0", containerID: "c1", ipNetworks: NETWORKS.split(",") },
    ]);
    expect(toEndpoints({ ...recorded({ "containerID.eth0": "c2" }), spec: {} })).toEqual([]);
  });
});

describe("a revision", () => {
  const revisionOf = (pod: Pod, ifName = "eth0"): EndpointState =>
    fromRevision(toEndpoint(pod, ifName, "n1")?.revision ?? toRevision(NONE));
  const NONE: EndpointState = { uid: "", containerID: undefined, podIPs: "", isAnnotated: false };

  test("holds the pod's UID, container and addresses, and whether it is annotated", () => {
    const state = { uid: "uid-1", containerID: undefined, podIPs: "" };
    expect(revisionOf(WEB)).toEqual({ ...state, isAnnotated: false });
    expect(revisionOf(recorded({}))).toEqual({ ...state, isAnnotated: true });
    expect(revisionOf(recorded({ containerID: "" }))).toEqual({ ...state, containerID: "", isAnnotated: true });
    expect(revisionOf(recorded(C1))).toEqual({ uid: "uid-1", containerID: "c1", podIPs: NETWORKS, isAnnotated: true });
    expect(revisionOf(recorded(C1), "net1")).toEqual({ ...state, isAnnotated: true });
  });
});
