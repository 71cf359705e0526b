import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../test/support/seed.ts";
import type { ContainerPort, Pod } from "../kube/core-types.ts";
import { toOwnLabels, toPodFields } from "./kubernetes-pod.ts";

const seed = testSeed();

function pod(metadata: Pod["metadata"] = {}, spec: Pod["spec"] = {}): Pod {
  return {
    metadata: { name: "web-0", namespace: "prod", uid: "u-1", ...metadata },
    spec: { serviceAccountName: "builder", containers: [], ...spec },
  };
}

describe("labels", () => {
  test("are the pod's and the system's", () => {
    expect(toPodFields(pod({ labels: { app: "web", "example.com/tier": "" } })).labels).toEqual({
      app: "web",
      "example.com/tier": "",
      "netplug.io/namespace": "prod",
      "netplug.io/orchestrator": "k8s",
      "netplug.io/serviceaccount": "builder",
    });
  });

  test("of the pod cannot pose as those of the system", () => {
    const claims = {
      "netplug.io/namespace": "kube-system",
      "netplug.io/orchestrator": "cni",
      "netplug.io/serviceaccount": "admin",
      "pcns.team": "ops",
      "pcsa.role": "admin",
      pcns: "kept",
    };
    const labels = toPodFields(pod({ labels: claims }, { serviceAccountName: "" })).labels;
    expect(labels).toEqual({ pcns: "kept", "netplug.io/namespace": "prod", "netplug.io/orchestrator": "k8s" });
  });

  test("of the pod itself are the same of the pod and of its endpoint", () => {
    const all = { app: "web", "pcns.team": "ops", "pcsa.role": "admin", "netplug.io/namespace": "kube-system", "example.com/tier": "" };
    const own = { app: "web", "example.com/tier": "" };
    expect([toOwnLabels(all), toOwnLabels(toPodFields(pod({ labels: all })).labels)]).toEqual([own, own]);
  });

  test("name no service account whose name is too long for a label's value", () => {
    const named = (length: number) => toPodFields(pod({}, { serviceAccountName: "a".repeat(length) })).labels["netplug.io/serviceaccount"];
    expect([named(63), named(64)]).toEqual(["a".repeat(63), undefined]);
  });

  test("of the pod, whatever they are, never replace those of the system", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("netplug.io/namespace", "pcns.a", "pcsa.b")), fc.string()),
        (labels) => {
          const made = toPodFields(pod({ labels })).labels;
          expect(made["netplug.io/namespace"]).toBe("prod");
          expect(Object.keys(made).some((key) => key.startsWith("pcns.") || key.startsWith("pcsa."))).toBe(false);
        },
      ),
      { seed, numRuns: 300 },
    );
  });
});

test("profiles are those of the namespace and of the service account", () => {
  expect(toPodFields(pod()).profiles).toEqual(["kns.prod", "ksa.prod.builder"]);
  expect(toPodFields(pod({}, { serviceAccountName: "" })).profiles).toEqual(["kns.prod"]);
});

test("the name that a pod is generated from, and its service account, are kept", () => {
  expect(toPodFields(pod({ generateName: "web-" }))).toMatchObject({ generateName: "web-", serviceAccountName: "builder" });
  expect(toPodFields(pod({ generateName: "" }, { serviceAccountName: "" }))).toMatchObject({
    generateName: undefined,
    serviceAccountName: undefined,
  });
});

describe("ports", () => {
  const portsOf = (...ports: ContainerPort[]) => toPodFields(pod({}, { containers: [{ ports }] })).ports;

  test("are those that have a name or are the host's", () => {
    expect(
      portsOf(
        { name: "http", containerPort: 80 },
        { containerPort: 8080 },
        { containerPort: 53, hostPort: 5353, hostIP: "192.0.2.1", protocol: "UDP" },
        { name: "sctp", containerPort: 9, protocol: "SCTP", hostIP: "", hostPort: 0 },
        { name: "", containerPort: 81, protocol: "" },
      ),
    ).toEqual([
      { name: "http", protocol: "TCP", port: 80 },
      { protocol: "UDP", port: 53, hostPort: 5353, hostIP: "192.0.2.1" },
      { name: "sctp", protocol: "SCTP", port: 9 },
    ]);
  });

  test("without a number, or of a protocol that policies do not know, are left out", () => {
    expect(portsOf({ name: "a", containerPort: 0 }, { name: "b", containerPort: 1, protocol: "QUIC" })).toEqual([]);
  });

  test("of init containers come after those of containers", () => {
    const named = (name: string) => ({ ports: [{ name, containerPort: 1 }] });
    const { ports } = toPodFields(pod({}, { containers: [named("a"), {}, named("b")], initContainers: [named("c")] }));
    expect(ports.map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });
});
