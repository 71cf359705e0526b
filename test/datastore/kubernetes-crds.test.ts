/** CRDs that are missing, or of another version than ours: what an ADD says, that it stores nothing, and that a DEL ends. */

import { expect } from "bun:test";
import { initialise } from "../../src/datastore/initialise.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { applyCrds, CRDS, MANIFEST, untilServed } from "../crds/definitions.ts";
import { add, del } from "./attachments.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";
import { eventually } from "../support/time/eventually.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { openKubernetes } from "./open-kubernetes.ts";
import { podsOf } from "./pods.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask, commit } from "./steps.ts";

const [test, server] = onApiServer(() => startApiServer());
const [, datastore] = onApiServer(() => openKubernetes(server));
const pods = podsOf(server);

/** Brings the CRDs of this version, and a cluster that uses them. */
async function setUp(): Promise<void> {
  await applyCrds(server, MANIFEST);
  await untilServed(server, MANIFEST);
  await initialise(datastore, { clock: systemClock, random: systemRandom, version: "v3.31.0" });
  const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name: "a" }, spec: { cidr: "10.65.0.0/24" } } as const;
  await datastore.commit([{ op: "create", resource: pool }]);
}

/** Changes the schema of the CRD of blocks, and waits until the API server goes by it. */
async function changeBlocks(change: readonly object[], isThere: (schema: string) => boolean): Promise<void> {
  const { status, body } = await server.request("PATCH", `${CRDS}/ipamblocks.netplug.io`, change, "application/json-patch+json");
  if (status !== 200) throw new Error(body.message);
  for (;;) {
    const { body: openApi } = await server.request("GET", "/openapi/v3/apis/netplug.io/v3");
    const { schemas } = (openApi as { readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> } }).components ?? {};
    const block = Object.entries(schemas ?? {}).find(([name]) => name.endsWith(".IPAMBlock"));
    if (isThere(JSON.stringify(block?.[1] ?? ""))) return;
  }
}

const SPEC = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
const WITHOUT_ALLOCATIONS = [
  { op: "remove", path: `${SPEC}/properties/allocations` },
  { op: "replace", path: `${SPEC}/required`, value: ["cidr"] },
];

test("without CRDs an ADD is code 112 and names the command, a DEL does what there is to do (needs cluster)", async () => {
  const web = await pods.create("web");
  expect(await failureOf(add(datastore, web))).toMatchObject({
    code: 112,
    message: 'use datastore: it was never initialised; run "netplugctl init"',
  });
  expect(await del(datastore, web)).toEqual([]);
  expect(await failureOf(ask(datastore, { type: "list", kind: "IPPool" }))).toMatchObject({
    code: 112,
    message:
      'list ippools.netplug.io: the API server does not serve ippools.netplug.io in version netplug.io/v3: its CRD is missing; run "netplugctl init"',
  });
  const withHint = openKubernetes(server, { hints: { file: `${server.folder}/blocks.json`, node: "n1" } });
  expect(await failureOf(ask(withHint, { type: "blocks-of-node", node: "n1" }))).toMatchObject({ code: 112 });
  withHint.close();
  const absent = { op: "expect", ref: { kind: "IPPool", name: "a" }, revision: undefined } as const;
  expect(await failureOf(commit(datastore, absent))).toMatchObject({ code: 112 });
  const tier = { apiVersion: "netplug.io/v3", kind: "Tier", metadata: { name: "t" }, spec: {} } as const;
  expect(await failureOf(commit(datastore, { op: "create", resource: tier }))).toMatchObject({ code: 112 });
});

test("one that is missing among others is code 112 and named, and a DEL that does not need it works (needs cluster)", async () => {
  await setUp();
  const web = await pods.create("web-1");
  await add(datastore, web);
  await deleteCrds(server, ["ipreservations.netplug.io"]);
  const failure = await failureOf(add(datastore, await pods.create("web-2")));
  expect(failure.code).toBe(112);
  expect(failure.message).toContain("does not serve ipreservations.netplug.io");
  expect(failure.message).toEndWith('run "netplugctl init"');
  expect(await del(datastore, web)).toHaveLength(1);
  await applyCrds(server, MANIFEST);
  await untilServed(server, MANIFEST);
});

test("one that somebody has deleted and that still waits for its objects is code 11, and says what to do then (needs cluster)", async () => {
  await setUp();
  const reservation = (name: string, finalizers: readonly string[] = []) => ({
    apiVersion: "netplug.io/v3" as const,
    kind: "IPReservation" as const,
    metadata: { name, finalizers },
    spec: { reservedCIDRs: ["10.65.0.7"] },
  });
  const crd = "crd/ipreservations.netplug.io";
  await server.kubectl(["create", "-f", "-"], JSON.stringify(reservation("held", ["example.com/held"])));
  await server.kubectl(["delete", crd, "--wait=false"]);
  await server.kubectl(["wait", "--for=condition=Terminating", "--timeout=30s", crd]);
  // what serves its objects may hear of it a moment later
  const create = () => datastore.commit([{ op: "create", resource: reservation(crypto.randomUUID()) }]);
  expect(await eventually(() => failureOf(create()))).toMatchObject({
    code: 11,
    message: expect.stringMatching(/; run "netplugctl init" when it is gone$/),
  });
  await server.kubectl(["patch", "ipreservation", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
  await server.kubectl(["wait", "--for=delete", "--timeout=30s", crd]);
  await applyCrds(server, MANIFEST);
  await untilServed(server, MANIFEST);
});

test("one that lacks a field is code 112, and nothing is stored without it (needs cluster)", async () => {
  await setUp();
  await server.kubectl(["delete", "ipamblocks", "--all"]);
  await changeBlocks(WITHOUT_ALLOCATIONS, (schema) => schema !== "" && !schema.includes("allocations"));
  const failure = await failureOf(add(datastore, await pods.create("web-3")));
  expect(failure.code).toBe(112);
  expect(failure.message).toContain("of another version");
  expect(failure.message).toEndWith('run "netplugctl init"');
  expect(await server.kubectl(["get", "ipamblocks", "-o", "name"])).toBe("");
  await applyCrds(server, MANIFEST);
});

test("one that hides what blocks hold is code 112 for ADD and DEL, and nothing is lost (needs cluster)", async () => {
  await setUp();
  const web = await pods.create("web-5");
  await add(datastore, web);
  const read = async (): Promise<unknown> =>
    (
      JSON.parse(await server.kubectl(["get", "ipamblocks", "-o", "json"])) as { readonly items: readonly { readonly spec: unknown }[] }
    ).items.map(({ spec }) => spec);
  const before = await read();
  await changeBlocks(WITHOUT_ALLOCATIONS, (schema) => schema !== "" && !schema.includes("allocations"));
  while (JSON.stringify(await read()).includes("allocations"));
  const other = await pods.create("web-6");
  for (const attempt of [() => add(datastore, other), () => del(datastore, web)]) {
    const failure = await failureOf(attempt());
    expect(failure.code).toBe(112);
    expect(failure.message).toEndWith('it comes without its allocations; the CRD of blocks is of another version: run "netplugctl init"');
  }
  await applyCrds(server, MANIFEST);
  while (JSON.stringify(await read()) !== JSON.stringify(before));
  // kubectl's list comes from etcd; the plugin's, from the server's cache, may show the older definition a moment longer: a runtime repeats
  // its DEL
  expect(await eventually(() => del(datastore, web))).toHaveLength(1);
});

test("one that wants what we do not write is code 112 (needs cluster)", async () => {
  await setUp();
  await server.kubectl(["delete", "ipamblocks", "--all"]);
  const require = [
    { op: "add", path: `${SPEC}/properties/older`, value: { type: "string" } },
    { op: "add", path: `${SPEC}/required/-`, value: "older" },
  ];
  await changeBlocks(require, (schema) => schema.includes("older"));
  const failure = await failureOf(add(datastore, await pods.create("web-4")));
  expect(failure.code).toBe(112);
  expect(failure.message).toContain("spec.older: Required value");
  expect(failure.message).toEndWith('the CRD of blocks is of another version: run "netplugctl init"');
});
