import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../test/support/seed.ts";
import type { Resource } from "../../../api/resource.ts";
import { type EndpointState, fromRevision, toClearingPatch, toRecordingPatch, toRevision, toState } from "./endpoint-state.ts";

const NETWORKS = "10.65.0.7/32,fd65::7/128";

describe("a patch", () => {
  const write: EndpointState = { uid: "uid-1", containerID: "c1", podIPs: NETWORKS, isAnnotated: true };
  const before: EndpointState = { uid: "uid-1", containerID: undefined, podIPs: "", isAnnotated: true };
  const values = [
    { op: "add", path: "/metadata/annotations/cni.netplug.io~1containerID", value: "c1" },
    { op: "add", path: "/metadata/annotations/cni.netplug.io~1podIP", value: "10.65.0.7/32" },
    { op: "add", path: "/metadata/annotations/cni.netplug.io~1podIPs", value: NETWORKS },
  ] as const;
  const isSamePod = { op: "test", path: "/metadata/uid", value: "uid-1" } as const;
  const isContainer = (value: string | null): object => ({ op: "test", path: "/metadata/annotations/cni.netplug.io~1containerID", value });

  test("is made of what an endpoint says", () => {
    const resource = (spec: object): Resource => ({ apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata: { name: "x" }, spec });
    expect(toState("uid-1", resource({ containerID: "c1", ipNetworks: NETWORKS.split(",") }))).toEqual(write);
    expect(toState("uid-1", resource({}))).toEqual({ ...write, containerID: "", podIPs: "" });
  });

  test("that records replaces what was read, or nothing", () => {
    expect(toRecordingPatch(before, write, "eth0")).toEqual([isSamePod, isContainer(null), ...values] as never);
    expect(toRecordingPatch({ ...before, containerID: "c0" }, write, "eth0")).toEqual([isSamePod, isContainer("c0"), ...values] as never);
  });

  test("that records in a pod without annotations makes the place for ours, or nothing", () => {
    expect(toRecordingPatch({ ...before, isAnnotated: false }, write, "net1")).toEqual([
      isSamePod,
      { op: "test", path: "/metadata/annotations", value: null },
      {
        op: "add",
        path: "/metadata/annotations",
        value: {
          "cni.netplug.io/containerID.net1": "c1",
          "cni.netplug.io/podIP.net1": "10.65.0.7/32",
          "cni.netplug.io/podIPs.net1": NETWORKS,
        },
      },
    ]);
  });

  test("that clears leaves the container, and nothing else of ours", () => {
    expect(toClearingPatch(write, "eth0")).toEqual([
      isSamePod,
      isContainer("c1"),
      { ...values[1], value: "" },
      { ...values[2], value: "" },
    ] as never);
  });
});

test("a revision is another for every state, and reads as what it was made of", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("", "~", "=", "a/b", "%2F"));
  const state = fc
    .record({ uid: fc.uuid(), containerID: fc.option(text, { nil: undefined }), podIPs: text, isAnnotated: fc.boolean() })
    .map((one): EndpointState => ({ ...one, isAnnotated: one.isAnnotated || one.containerID !== undefined }));
  fc.assert(
    fc.property(state, (one) => expect(fromRevision(toRevision(one))).toEqual(one)),
    { seed: testSeed() },
  );
});
