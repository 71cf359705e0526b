import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../test/support/seed.ts";
import { validateResource } from "../api/validate.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { checkSelector } from "../policy/selector/check.ts";
import type { Workload } from "./names.ts";
import { type EndpointSubject, toNetworkProfile, toWorkloadEndpoint } from "./record.ts";

const seed = testSeed();
const container: Workload = { containerID: "c1", ifName: "eth0", pod: undefined };
const pod: Workload = { ...container, pod: { namespace: "shop", name: "web-0" } };
const subject = { node: "node-1", network: "net", labels: {} };

function record(change: Partial<EndpointSubject> & Pick<EndpointSubject, "workload">): WorkloadEndpoint {
  return toWorkloadEndpoint({ ...subject, ...change }, "02:00:00:00:00:01", [parseAddress("10.65.0.7")]);
}

/** What the resource's own schema says of it. */
function problemsOf(resource: unknown): string {
  try {
    validateResource(resource, { checkSelector });
    return "";
  } catch (thrown) {
    return (thrown as Error).message;
  }
}

describe("toWorkloadEndpoint()", () => {
  test("of a pod is named by node, pod and interface, in the pod's namespace, with the system's labels", () => {
    expect(record({ workload: pod, labels: { app: "web", "netplug.io/namespace": "other" } })).toEqual({
      apiVersion: "netplug.io/v3",
      kind: "WorkloadEndpoint",
      metadata: {
        name: "node--1-k8s-web--0-eth0",
        namespace: "shop",
        labels: { app: "web", "netplug.io/namespace": "shop", "netplug.io/orchestrator": "k8s" },
      },
      spec: {
        orchestrator: "k8s",
        node: "node-1",
        network: "net",
        containerID: "c1",
        pod: "web-0",
        endpoint: "eth0",
        // sha1sum of "shop.web-0"
        interfaceName: "npga4fc3c48bd8",
        mac: "02:00:00:00:00:01",
        ipNetworks: ["10.65.0.7/32"],
        profiles: ["net"],
      },
    });
  });

  test.each([
    [{}, "default"],
    [{ "netplug.io/namespace": "team" }, "team"],
  ])("of a container with the labels %j is in namespace %p", (labels, namespace) => {
    const { metadata } = record({ workload: container, labels });
    expect([metadata.namespace, metadata.labels?.["netplug.io/namespace"]]).toEqual([namespace, namespace]);
  });
});

describe("toNetworkProfile()", () => {
  test("of a container lets in its own network, of a pod everybody, and lets all out", () => {
    expect(toNetworkProfile("net", container).spec).toEqual({
      ingress: [{ action: "Allow", source: { selector: "has(net)" } }],
      egress: [{ action: "Allow" }],
      labelsToApply: { net: "" },
    });
    expect(toNetworkProfile("net", pod).spec.ingress).toEqual([{ action: "Allow" }]);
  });

  test.each(["My_Net.1-", "n".repeat(64), "n".repeat(220)])("of a network whose name cannot be a label has one that can: %p", (network) => {
    const profile = toNetworkProfile(network, container);
    expect([profile.metadata.name, problemsOf(profile)]).toEqual([network, ""]);
    expect(Object.keys(profile.spec.labelsToApply ?? {})).toEqual([expect.stringMatching(/^network-[0-9a-f]{40}$/)]);
  });
});

test("whatever CNI lets a runtime call things, the records are what their schemas want", () => {
  const cniName = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$/);
  const ifName = fc.stringMatching(/^[A-Za-z0-9_.-]{1,15}$/).filter((name) => name !== "." && name !== "..");
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
  fc.assert(
    fc.property(
      cniName,
      cniName,
      ifName,
      fc.option(fc.record({ namespace: label, name: label }), { nil: undefined }),
      (network, containerID, name, identity) => {
        const workload: Workload = { containerID, ifName: name, pod: identity };
        expect(problemsOf(record({ network, workload }))).toBe("");
        expect(problemsOf(toNetworkProfile(network, workload))).toBe("");
      },
    ),
    { seed, numRuns: 500 },
  );
});
