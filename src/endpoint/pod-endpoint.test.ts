import { describe, expect, test } from "bun:test";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { workloadEndpointSpec } from "../api/schema/workload-endpoint.ts";
import * as v from "valibot";
import type { NetplugError } from "../lib/errors.ts";
import { parseAddress } from "../lib/ip/address.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { toPodFields } from "../api/kubernetes-pod.ts";
import { toPodEndpoint } from "./pod-endpoint.ts";
import { toWorkloadEndpoint } from "./record.ts";

const FIELDS = toPodFields({
  metadata: { name: "web-0", namespace: "prod", uid: "u-1", generateName: "web-", labels: { app: "web" } },
  spec: { serviceAccountName: "builder", containers: [{ ports: [{ name: "http", containerPort: 80 }] }] },
});

function endpointWith(...addresses: readonly string[]): WorkloadEndpoint {
  const workload = { containerID: "c1", ifName: "eth0", pod: { namespace: "prod", name: "web-0" } };
  return toWorkloadEndpoint({ node: "node-1", network: "pods", workload, labels: {} }, "02:00:5e:10:00:01", addresses.map(parseAddress));
}

const NOTHING = { floatingIPs: [], allowedSourcePrefixes: [] };

test("the record has what the pod has, and keeps what every attachment has", () => {
  const plain = endpointWith("10.65.0.7");
  const endpoint = toPodEndpoint(plain, FIELDS, NOTHING);
  expect(endpoint).toEqual({
    ...plain,
    metadata: { ...plain.metadata, labels: FIELDS.labels, generateName: "web-" },
    spec: {
      ...plain.spec,
      serviceAccountName: "builder",
      profiles: ["kns.prod", "ksa.prod.builder"],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
    },
  });
});

test("a bare pod adds no empty fields", () => {
  const bare = toPodFields({ metadata: { name: "web-0", namespace: "prod", uid: "u" }, spec: { containers: [] } });
  const endpoint = toPodEndpoint(endpointWith("10.65.0.7"), bare, NOTHING);
  expect(Object.keys(endpoint.spec).sort()).toEqual(Object.keys(endpointWith("10.65.0.7").spec).sort());
  expect(endpoint.metadata).not.toHaveProperty("generateName");
});

describe("floating addresses", () => {
  test("lead to the pod's address of their family", () => {
    const request = { ...NOTHING, floatingIPs: ["192.0.2.1", "fd00::1", "192.0.2.2"].map(parseAddress) };
    expect(toPodEndpoint(endpointWith("10.65.0.7", "fd00:65::7"), FIELDS, request).spec.ipNATs).toEqual([
      { internalIP: "10.65.0.7", externalIP: "192.0.2.1" },
      { internalIP: "fd00:65::7", externalIP: "fd00::1" },
      { internalIP: "10.65.0.7", externalIP: "192.0.2.2" },
    ]);
  });

  test("of a family that the pod lacks are code 104", () => {
    try {
      toPodEndpoint(endpointWith("10.65.0.7"), FIELDS, { ...NOTHING, floatingIPs: [parseAddress("fd00::1")] });
      expect.unreachable();
    } catch (thrown) {
      expect((thrown as NetplugError).code).toBe(104);
      expect((thrown as NetplugError).message).toBe(
        'use annotation "cni.netplug.io/floatingIPs" of pod "prod/web-0": got "fd00::1", and the pod has no IPv6 address for it; want addresses of the pod\'s families',
      );
    }
  });
});

test("the record is one that the schema of its kind takes", () => {
  const request = { floatingIPs: [parseAddress("192.0.2.1")], allowedSourcePrefixes: [parsePrefix("10.0.0.0/8")] };
  const { spec } = toPodEndpoint(endpointWith("10.65.0.7"), FIELDS, request);
  expect(v.parse(workloadEndpointSpec, spec)).toEqual(spec as never);
  expect(spec.allowSpoofedSourcePrefixes).toEqual(["10.0.0.0/8"]);
});
