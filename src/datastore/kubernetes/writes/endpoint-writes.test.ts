import { describe, expect, test } from "bun:test";
import type { Resource } from "../../../api/resource.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeReason } from "../../../kube/kube-error.ts";
import { KubeError } from "../../../kube/kube-error.ts";
import type { ResourceRef, Revision } from "../../datastore.ts";
import { type EndpointState, toRevision } from "../objects/endpoint-state.ts";
import { clearEndpoint, writeEndpoint } from "./endpoint-writes.ts";

const REF: ResourceRef = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-web-eth0" };
const STATE: EndpointState = { uid: "uid-1", containerID: "c1", podIPs: "10.65.0.7/32", isAnnotated: true };
const RECORDED = toRevision(STATE);
const CLEARED = toRevision({ ...STATE, podIPs: "" });
const NOWHERE = toRevision({ uid: "", containerID: undefined, podIPs: "", isAnnotated: false });

/** The pod as its status stands; without a state: none. */
interface Server {
  readonly pod?: EndpointState;
  /** Why a patch fails. */
  readonly refusal?: KubeReason;
}

/** Ends an endpoint. @returns its new revision or the failure, and what was asked for that */
async function clear({ pod, refusal }: Server, revision?: Revision, ref = REF): Promise<readonly [unknown, readonly string[]]> {
  const asked: string[] = [];
  const client = {
    async get() {
      asked.push("get");
      if (pod === undefined) return undefined;
      const { uid, containerID, podIPs } = pod;
      const annotations = { "cni.netplug.io/containerID": containerID, "cni.netplug.io/podIPs": podIPs };
      return { metadata: { name: "web", namespace: "default", uid, annotations } };
    },
    async patch() {
      asked.push("patch");
      if (refusal !== undefined) throw new KubeError(refusal, refusal);
    },
  } as unknown as KubeClient; // nothing else of it is used
  const outcome = await clearEndpoint(ref, revision)(client, {}).catch((thrown: unknown) => thrown);
  return [outcome, asked];
}

describe("an endpoint that ends", () => {
  test("loses its addresses by one request", async () => {
    expect(await clear({ pod: STATE }, RECORDED)).toEqual([CLEARED, ["patch"]]);
  });

  test("without addresses costs none", async () => {
    expect(await clear({ pod: STATE }, CLEARED)).toEqual([CLEARED, []]);
  });

  test("whosever it is, is looked at first", async () => {
    expect(await clear({ pod: STATE })).toEqual([CLEARED, ["get", "patch"]]);
    expect(await clear({ pod: { ...STATE, podIPs: "" } })).toEqual([NOWHERE, ["get"]]);
    expect(await clear({})).toEqual([NOWHERE, ["get"]]);
  });

  test("of a pod that is gone is gone with it", async () => {
    expect(await clear({ refusal: "notFound" }, RECORDED)).toEqual([NOWHERE, ["patch"]]);
  });

  test.each<[what: string, server: Pick<Server, "pod">]>([
    ["another container's by now", { pod: { ...STATE, containerID: "c2" } }],
    ["another pod's by now", { pod: { ...STATE, uid: "uid-2" } }],
    ["of a pod that has gone meanwhile", {}],
  ])("that is %s is a conflict", async (_what, server) => {
    expect(await clear({ ...server, refusal: "invalid" }, RECORDED)).toEqual([undefined, ["patch", "get"]]);
  });

  test("that nothing but the cluster stands against is no conflict, which would be tried again and again", async () => {
    expect((await clear({ pod: STATE, refusal: "invalid" }, RECORDED))[0]).toMatchObject({ reason: "invalid" });
  });

  test("fails as its patch does", async () => {
    for (const refusal of ["forbidden", "lost"] as const)
      expect((await clear({ refusal }, RECORDED))[0]).toMatchObject({ reason: refusal });
  });

  test.each([
    ["of no pod", { ...REF, name: "n1-cni-c1-eth0" }],
    ["of no namespace", { kind: REF.kind, name: REF.name }],
  ])("%s was never there", async (_what, ref) => {
    expect(await clear({ pod: STATE }, RECORDED, ref)).toEqual([NOWHERE, []]);
  });
});

describe("an endpoint that can never be recorded", () => {
  const resource = (uid: string | undefined, spec: object = { orchestrator: "k8s" }): Resource => ({
    apiVersion: "netplug.io/v3",
    kind: "WorkloadEndpoint",
    metadata: { ...REF, ...(uid !== undefined && { uid }) },
    spec,
  });
  const noPod = "the Kubernetes datastore keeps endpoints of pods, and the runtime names no pod (K8S_POD_NAME)";

  test.each<[what: string, ref: ResourceRef, resource: Resource, revision: Revision | undefined, message: string]>([
    ["is of nobody's pod", REF, resource("uid-1", { orchestrator: "cni" }), RECORDED, noPod],
    ["is named after no pod", { ...REF, name: "n1-cni-c1-eth0" }, resource("uid-1"), RECORDED, noPod],
    ["is in no namespace", { kind: REF.kind, name: REF.name }, resource("uid-1"), RECORDED, noPod],
    [
      "has an interface that no annotation can name",
      { ...REF, name: "n1-k8s-web-a." },
      resource("uid-1"),
      RECORDED,
      'record interface "a."',
    ],
    ["is of another pod than was read", REF, resource("uid-2"), RECORDED, "it was deleted, or deleted and made anew"],
    ["is of a pod that nobody knows", REF, resource(undefined), undefined, "it was deleted, or deleted and made anew"],
  ])("%s", (_what, ref, given, revision, message) => {
    expect(() => writeEndpoint(ref, given, revision)).toThrow(message);
  });

  test("is not one whose UID only the datastore knows, or only its maker", () => {
    expect(writeEndpoint(REF, resource(undefined), RECORDED)).toBeFunction();
    expect(writeEndpoint(REF, resource("uid-1"), undefined)).toBeFunction();
  });
});
