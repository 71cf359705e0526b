import { describe, expect, test } from "bun:test";
import { makeBlock } from "../../../../test/datastore/blocks.ts";
import type { Resource } from "../../../api/resource.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { KubeReason } from "../../../kube/kube-error.ts";
import { KubeError } from "../../../kube/kube-error.ts";
import type { KubeObject } from "../../../kube/kube-object.ts";
import type { Revision, Write } from "../../datastore.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";
import { refOf } from "../../resource-ref.ts";
import { toRevision } from "../objects/endpoint-state.ts";
import { toSteps } from "./steps.ts";

const REVISION = "7" as Revision;
const CIDR = "10.65.0.0/26";
const NAME = "010-065-000-000-26";
const BLOCK = makeBlock(CIDR, "n1", { 0: "n1" });
const PREVIOUS = { value: makeBlock(CIDR, "n1"), revision: REVISION };

function resource(kind: Resource["kind"], name: string, spec: object = {}, metadata: object = {}): Resource {
  return { apiVersion: "netplug.io/v3", kind, metadata: { name, ...metadata }, spec };
}

const POOL = resource("IPPool", "a", { cidr: "10.65.0.0/16" });
const NODE = resource("Node", "n1");
const ENDPOINT = resource(
  "WorkloadEndpoint",
  "n1-k8s-web-eth0",
  { orchestrator: "k8s", containerID: "c1", ipNetworks: ["10.65.0.7/32"] },
  { namespace: "default", uid: "uid-1" },
);
const OVER = { ...ENDPOINT, spec: { ...(ENDPOINT.spec as object), ipNetworks: [] } };
const SEEN = toRevision({ uid: "uid-1", containerID: undefined, podIPs: "", isAnnotated: true });
const RECORDED = toRevision({ uid: "uid-1", containerID: "c1", podIPs: "10.65.0.7/32", isAnnotated: true });

/** What one request was. */
type Request = readonly unknown[];

/** Makes the request of a write. @param answers what the requests give or fail with, in turn; then: objects of revision 8 */
async function run(
  write: Write,
  ...answers: readonly unknown[]
): Promise<{ readonly outcome: unknown; readonly requests: readonly Request[] }> {
  const requests: Request[] = [];
  const left = answers.values();
  const request =
    (verb: string) =>
    async (type: { readonly plural: string }, ...rest: readonly unknown[]): Promise<unknown> => {
      requests.push([verb, type.plural, ...rest]);
      const next = left.next();
      if (next.value instanceof Error) throw next.value;
      return next.done === true ? { metadata: { resourceVersion: "8" } } : next.value;
    };
  const verbs = ["create", "update", "patch", "delete", "get"];
  const client = Object.fromEntries(verbs.map((verb) => [verb, request(verb)])) as unknown as KubeClient;
  const [step] = toSteps([write]);
  const outcome = await step?.run(client, {}).catch((thrown: unknown) => thrown);
  return { outcome, requests };
}

const failed = (reason: KubeReason, options: { readonly isOutcomeUnknown?: boolean } = {}): KubeError =>
  new KubeError(reason, reason, options);

describe("a write", () => {
  const strict = expect.objectContaining({ isStrict: true });
  const patchOf = (path: string): object =>
    expect.objectContaining({ type: "json", operations: expect.arrayContaining([expect.objectContaining({ path })]) });
  const requests: readonly [what: string, write: Write, request: Request][] = [
    ["of a new block", { op: "create-block", block: BLOCK }, ["create", "ipamblocks", named(NAME), strict]],
    ["of a block", { op: "update-block", block: BLOCK, previous: PREVIOUS }, ["update", "ipamblocks", named(NAME, "7"), strict]],
    ["that ends a block", { op: "delete-block", previous: PREVIOUS }, ["delete", "ipamblocks", { name: NAME }, { resourceVersion: "7" }]],
    ["of a new resource", { op: "create", resource: POOL }, ["create", "ippools", named("a"), strict]],
    ["of a resource", { op: "update", resource: POOL, revision: REVISION }, ["patch", "ippools", { name: "a" }, patchOf("/spec"), strict]],
    [
      "of a node",
      { op: "update", resource: NODE, revision: REVISION },
      ["patch", "nodes", { name: "n1" }, patchOf("/metadata/labels"), {}],
    ],
    [
      "that ends a resource",
      { op: "delete", ref: { kind: "IPPool", name: "a" }, revision: REVISION },
      ["delete", "ippools", { name: "a" }, { resourceVersion: "7" }],
    ],
    [
      "that ends an endpoint",
      { op: "delete", ref: refOf(ENDPOINT), revision: RECORDED },
      ["patch", "pods", { namespace: "default", name: "web" }, patchOf("/metadata/uid"), { subresource: "status" }],
    ],
    [
      "of an endpoint",
      { op: "update", resource: ENDPOINT, revision: SEEN },
      ["patch", "pods", { namespace: "default", name: "web" }, patchOf("/metadata/uid"), { subresource: "status" }],
    ],
  ];

  test.each(requests)("%s is one request", async (_what, write, request) => {
    expect((await run(write)).requests).toEqual([request]);
  });

  test.each<[what: string, write: Write, outcome: unknown, answer?: unknown]>([
    ["of a block gives its revision", { op: "create-block", block: BLOCK }, "8"],
    ["that ends a block gives none", { op: "delete-block", previous: PREVIOUS }, "", true],
    ["that ends a block that is gone is a conflict", { op: "delete-block", previous: PREVIOUS }, undefined, false],
    ["of a resource gives its revision", { op: "update", resource: POOL, revision: REVISION }, "8"],
    ["of a node gives its revision", { op: "update", resource: NODE, revision: REVISION }, "8"],
    ["that ends a resource gives none", { op: "delete", ref: { kind: "IPPool", name: "a" }, revision: REVISION }, "", true],
    [
      "that ends a resource that is gone is a conflict",
      { op: "delete", ref: { kind: "IPPool", name: "a" }, revision: REVISION },
      undefined,
      false,
    ],
    ["that ends whatever there is is done where there is nothing", { op: "delete", ref: { kind: "IPPool", name: "a" } }, "", false],
    ["of an endpoint gives its revision", { op: "update", resource: ENDPOINT, revision: SEEN }, RECORDED],
  ])("%s", async (_what, write, outcome, ...answers) => {
    expect((await run(write, ...answers)).outcome).toBe(outcome);
  });

  test.each<[write: Write]>([
    [{ op: "create-block", block: BLOCK }],
    [{ op: "create", resource: POOL }],
    [{ op: "update", resource: ENDPOINT, revision: SEEN }],
  ])("that somebody else was quicker with is a conflict; of what is not known that is said (%#)", async (write) => {
    for (const reason of ["conflict", "alreadyExists", "otherObject"] as const)
      expect((await run(write, failed(reason))).outcome).toBeUndefined();
    expect((await run(write, failed("conflict", { isOutcomeUnknown: true }))).outcome).toBeInstanceOf(OutcomeUnknown);
    expect((await run(write, failed("lost", { isOutcomeUnknown: true }))).outcome).toBeInstanceOf(OutcomeUnknown);
    expect((await run(write, failed("throttled"))).outcome).toMatchObject({ reason: "throttled" });
  });

  test("of what is not there any more is a conflict", async () => {
    expect((await run({ op: "update-block", block: BLOCK, previous: PREVIOUS }, failed("notFound"))).outcome).toBeUndefined();
    expect((await run({ op: "update", resource: POOL, revision: REVISION }, failed("notFound"))).outcome).toBeUndefined();
  });

  test("that is not valid is a fault of the CRD in a block, of people in a resource", async () => {
    const outcomeOf = async (write: Write): Promise<unknown> => (await run(write, failed("invalid"))).outcome;
    expect(await outcomeOf({ op: "create-block", block: BLOCK })).toMatchObject({ kind: "notInitialised" });
    expect(await outcomeOf({ op: "create", resource: POOL })).toMatchObject({ kind: "invalidConfig" });
  });

  test("that can never be done is told before anything is", () => {
    for (const op of ["create", "delete"] as const) {
      const write: Write = op === "create" ? { op, resource: NODE } : { op, ref: { kind: "Node", name: "n1" } };
      expect(() => toSteps([write])).toThrow(
        `${op} node "n1": on the Kubernetes datastore nodes are Kubernetes' own, which come and go with it`,
      );
    }
  });
});

describe("an endpoint", () => {
  const web = (annotations?: Readonly<Record<string, string>>, uid = "uid-1"): KubeObject => ({
    metadata: { name: "web", namespace: "default", uid, ...(annotations !== undefined && { annotations }) },
  });
  const record: Write = { op: "update", resource: ENDPOINT, revision: SEEN };
  const over: Write = { op: "update", resource: OVER, revision: SEEN };
  const forbidden = { kind: "accessDenied", message: expect.stringContaining("something in the cluster forbids to record addresses") };
  const gone = { kind: "podMismatch" };
  const another = { "cni.netplug.io/containerID": "c2" };

  test.each<[what: string, write: Write, answers: readonly unknown[], outcome: unknown]>([
    ["of which the pod is gone", record, [failed("notFound")], gone],
    ["of which the pod is another", record, [failed("invalid"), web({}, "uid-2")], gone],
    ["of which the pod is gone at the second look", record, [failed("invalid"), undefined], gone],
    ["that is another container's now", record, [failed("invalid"), web(another)], undefined],
    ["of a pod that has lost all annotations", record, [failed("invalid"), web()], undefined],
    ["that nothing but the cluster stands against", record, [failed("invalid"), web({})], forbidden],
    ["that may not be written", record, [failed("forbidden")], { reason: "forbidden" }],
    ["that is over, and the pod is gone", over, [failed("notFound")], undefined],
    ["that is over, in another pod", over, [failed("invalid"), web({}, "uid-2")], undefined],
    ["that is over, and another container's now", over, [failed("invalid"), web(another)], undefined],
    ["that is over, and nothing but the cluster stands against it", over, [failed("invalid"), web({})], SEEN],
    ["that is over, and may not be written", over, [failed("forbidden")], SEEN],
    ["that is over, while the server is away", over, [failed("unreachable")], { reason: "unreachable" }],
  ])("%s", async (_what, write, answers, outcome) => {
    const result = (await run(write, ...answers)).outcome;
    if (outcome === undefined || typeof outcome === "string") expect(result).toBe(outcome);
    else expect(result).toMatchObject(outcome as object);
  });

  test("that stands already is written with no request", async () => {
    expect(await run({ op: "update", resource: ENDPOINT, revision: RECORDED })).toEqual({ outcome: RECORDED, requests: [] });
  });

  test("of a pod that nobody has read is read first", async () => {
    const { outcome, requests } = await run({ op: "create", resource: ENDPOINT }, web({}));
    expect([outcome, requests.map(([verb]) => verb)]).toEqual([RECORDED, ["get", "patch"]]);
    expect((await run({ op: "create", resource: ENDPOINT }, web({}, "uid-2"))).outcome).toMatchObject(gone);
  });
});

describe("steps", () => {
  const shownOf = (writes: readonly Write[]): readonly unknown[] =>
    toSteps(writes).map(({ phase, ref, claims }) => [phase, ref?.name, claims]);

  test("have the phase in which each beginning is safe, and name the resource that they change, or the block that they claim", () => {
    const writes: readonly Write[] = [
      { op: "expect", ref: { kind: "IPPool", name: "x" }, revision: undefined },
      { op: "create-block", block: BLOCK },
      {
        op: "update-block",
        block: makeBlock("10.65.0.64/26", "n1"),
        previous: { value: makeBlock("10.65.0.64/26", "n1"), revision: REVISION },
      },
      { op: "delete-block", previous: { value: makeBlock("10.65.1.0/26", "n1"), revision: REVISION } },
      { op: "create", resource: POOL },
      { op: "update", resource: NODE, revision: REVISION },
      { op: "delete", ref: { kind: "IPPool", name: "b" } },
      { op: "create", resource: ENDPOINT },
      { op: "update", resource: { ...OVER, metadata: { ...OVER.metadata, name: "n1-k8s-web-net1" } }, revision: SEEN },
      { op: "delete", ref: { ...refOf(ENDPOINT), name: "n1-k8s-db-eth0" } },
    ];
    expect(shownOf(writes)).toEqual([
      ["write", undefined, BLOCK.cidr],
      ["write", undefined, undefined],
      ["write", undefined, undefined],
      ["write", "a", undefined],
      ["write", "n1", undefined],
      ["delete", "b", undefined],
      ["record-endpoints", undefined, undefined],
      ["end-endpoints", undefined, undefined],
      ["end-endpoints", undefined, undefined],
    ]);
  });
});

function named(name: string, resourceVersion?: string): object {
  const metadata = resourceVersion === undefined ? { name } : { name, resourceVersion };
  return expect.objectContaining({ metadata: expect.objectContaining(metadata) });
}
