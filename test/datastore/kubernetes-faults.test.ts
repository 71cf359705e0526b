/** Faults between us and the API server: what an ADD or DEL ends with, and that nothing leaks. */

import { beforeEach, describe, expect } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import { durationOf } from "../support/time/duration.ts";
import { untilAllowed } from "../support/servers/rights.ts";
import { add, del } from "./attachments.ts";
import { makeBlock } from "./blocks.ts";
import type { Fate, PassingRequest } from "../support/servers/fault-proxy.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { openKubernetes } from "./open-kubernetes.ts";
import { failureOf } from "../support/failure-of.ts";
import { ask } from "./steps.ts";
import { startWatch, take } from "./watch-events.ts";

const [test, world] = onApiServer(() => KubernetesWorld.start({ users: { nobody: {}, reader: {} } }));
const { server, proxy, admin, pods } = world;
beforeEach(async () => {
  await world.empty();
  await world.initialise({ a: { cidr: "10.65.0.0/24" } });
});

/** As one process of the plugin. */
async function through<T>(work: (datastore: Datastore) => Promise<T>): Promise<T> {
  const datastore = world.openThroughProxy();
  try {
    return await work(datastore);
  } finally {
    datastore.close();
  }
}

/** Of every allocation the container. */
async function allocated(): Promise<readonly string[]> {
  return (await ask(admin, { type: "all-blocks" })).flatMap(({ value }) => value.allocations.map(({ owner }) => owner.containerID));
}

/** Gives a fate to the first request that is meant, and lets all others pass. */
function once(isTarget: (request: PassingRequest) => boolean, fate: Fate, before?: () => Promise<unknown>): void {
  let isDone = false;
  proxy.decide = async (request) => {
    if (isDone || !isTarget(request)) return "pass";
    isDone = true;
    await before?.();
    return fate;
  };
}

/**
 * From request `failing` on, counted from 0, nothing works any more, as if the process were killed there. The server says that it is ready:
 * what one that starts denies is asked for again until there is no time left.
 */
function refuseFrom(failing: number): void {
  let count = 0;
  proxy.decide = ({ resource }) =>
    resource === "/readyz" || count++ < failing ? "pass" : { status: 403, reason: "Forbidden", message: "no more" };
}

const isClaim = ({ method, resource }: PassingRequest): boolean => method === "POST" && resource === "ipamblocks";
const isBlockUpdate = ({ method, resource }: PassingRequest): boolean => method === "PUT" && resource.startsWith("ipamblocks/");
const isStatus = ({ method, resource }: PassingRequest): boolean => method === "PATCH" && resource.endsWith("/status");

const CONFLICT = { status: 409, reason: "Conflict" } as const;
const FAULTS: readonly (readonly [name: string, fate: Fate])[] = [
  ["its reply is lost", "lose-reply"],
  ["the connection breaks", "lose-request"],
  ["it is answered 409", CONFLICT],
  ["it is answered 429", { status: 429, reason: "TooManyRequests", retryAfter: "0" }],
  ["it is answered 500", { status: 500, reason: "InternalError" }],
  ["it is answered 503", { status: 503, reason: "ServiceUnavailable", retryAfter: "0" }],
];

describe("an ADD gives one address and records it, when of", () => {
  for (const [name, fate] of FAULTS) {
    test(`the claim of a block ${name} (needs cluster)`, async () => {
      const web = await pods.create("web");
      once(isClaim, fate === CONFLICT ? { status: 409, reason: "AlreadyExists" } : fate);
      const [address] = await through((datastore) => add(datastore, web));
      expect(await allocated()).toEqual(["id-web"]);
      expect(await pods.addressesOf("web")).toBe(`${address}/32`);
    });

    test(`the block's update ${name} (needs cluster)`, async () => {
      await through(async (datastore) => add(datastore, await pods.create("first")));
      const web = await pods.create("web");
      once(isBlockUpdate, fate);
      const [address] = await through((datastore) => add(datastore, web));
      expect(await allocated()).toEqual(["id-first", "id-web"]);
      expect(await pods.addressesOf("web")).toBe(`${address}/32`);
    });

    test(`the pod's status ${name} (needs cluster)`, async () => {
      const web = await pods.create("web");
      once(isStatus, fate);
      const [address] = await through((datastore) => add(datastore, web));
      expect(await allocated()).toEqual(["id-web"]);
      expect(await pods.addressesOf("web")).toBe(`${address}/32`);
    });
  }
});

describe("a DEL releases the address, when of", () => {
  for (const [name, fate] of FAULTS) {
    test.each([
      ["the pod's status", isStatus],
      ["the block's update", isBlockUpdate],
    ])(`%s ${name} (needs cluster)`, async (_name, isTarget) => {
      const web = await pods.create("web");
      await through((datastore) => add(datastore, web));
      once(isTarget, fate);
      await through((datastore) => del(datastore, web));
      expect(await allocated()).toEqual([]);
      expect(await pods.addressesOf("web")).toBe("");
    });
  }
});

test("whichever request of an ADD fails for good, a DEL afterwards leaves nothing (needs cluster)", async () => {
  for (const claims of [true, false]) {
    if (!claims) await through(async (datastore) => add(datastore, await pods.create("first")));
    const web = await pods.create("web");
    for (let failing = 0, isDone = false; !isDone; failing++) {
      refuseFrom(failing);
      isDone = await through((datastore) => add(datastore, web)).then(
        () => true,
        (thrown: NetplugError) => {
          expect(thrown.code).toBe(108);
          return false;
        },
      );
      proxy.decide = () => "pass";
      await through((datastore) => del(datastore, web));
      expect(await allocated()).toEqual(claims ? [] : ["id-first"]);
      expect((await pods.addressesOf("web")) ?? "").toBe("");
    }
    await pods.delete("web");
  }
});

test("whichever request of a DEL fails for good, the pod never shows an address that is free, and a second DEL ends it (needs cluster)", async () => {
  const web = await pods.create("web");
  for (let failing = 0, isDone = false; !isDone; failing++) {
    await through((datastore) => add(datastore, web));
    refuseFrom(failing);
    isDone = await through((datastore) => del(datastore, web)).then(
      () => true,
      () => false,
    );
    proxy.decide = () => "pass";
    if ((await allocated()).length === 0) expect(await pods.addressesOf("web")).toBe("");
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual([]);
  }
});

describe("a pod that is deleted while its ADD is on its way (needs cluster)", () => {
  test("ends the ADD with code 106, and a DEL afterwards leaves nothing", async () => {
    const web = await pods.create("web");
    once(isStatus, "pass", () => pods.delete("web"));
    expect(await failureOf(through((datastore) => add(datastore, web)))).toMatchObject({ code: 106 });
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual([]);
  });

  test("and made anew is not stamped", async () => {
    const web = await pods.create("web");
    once(isStatus, "pass", async () => {
      await pods.delete("web");
      await pods.create("web");
    });
    expect(await failureOf(through((datastore) => add(datastore, web)))).toMatchObject({ code: 106 });
    expect(await pods.addressesOf("web")).toBeUndefined();
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual([]);
  });

  test("and made anew while a DEL is on its way keeps what it was given", async () => {
    const web = await pods.create("web");
    await through((datastore) => add(datastore, web));
    once(isStatus, "pass", async () => {
      await pods.delete("web");
      const next = await pods.create("web");
      const other = openKubernetes(server);
      await add(other, { ...next, id: "id-next" });
      other.close();
    });
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual(["id-next"]);
    expect(await pods.addressesOf("web")).toMatch(/^10\.65\.0\.\d+\/32$/);
  });
});

describe("a permission that is missing is code 108 (needs cluster)", () => {
  const openAs = (user: string, role?: string): Datastore =>
    openKubernetes(server, { kubeconfig: undefined, apiRoot: server.url, caFile: server.caFile, token: server.tokenOf(user), role });

  test("and names verb, resource and role", async () => {
    const nobody = openAs("nobody");
    expect(await failureOf(nobody.read([{ type: "get", ref: { kind: "IPPool", name: "a" } }]))).toMatchObject({
      code: 108,
      message: "get ippools.netplug.io is not permitted; role netplug-cni",
    });
    expect(await failureOf(nobody.read([{ type: "blocks-of-node", node: "n1" }]))).toMatchObject({
      message: "list ipamblocks.netplug.io is not permitted; role netplug-cni",
    });
    nobody.close();
    const other = openAs("nobody", "netplug-agent");
    expect(await failureOf(take(startWatch(other, ["Node"], new AbortController().signal), 2))).toMatchObject({
      code: 108,
      message: "list nodes is not permitted; role netplug-agent",
    });
    other.close();
  });

  test("also for the subresource of a pod", async () => {
    const rules = ["--verb=get,list,create,update,patch,delete", "--resource=*.netplug.io,nodes,pods"];
    await server.kubectl(["create", "clusterrole", "no-status", ...rules]);
    await server.kubectl(["create", "clusterrolebinding", "reader", "--clusterrole=no-status", "--user=reader"]);
    await untilAllowed(server, "reader", "get", "ippools.netplug.io");
    const reader = openAs("reader");
    const web = await pods.create("web");
    expect(await failureOf(add(reader, web))).toMatchObject({ code: 108, message: "patch pods/status is not permitted; role netplug-cni" });
    reader.close();
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual([]);
  });

  test("so is an admission policy that forbids to record addresses, in its own words", async () => {
    const web = await pods.create("web");
    once(isStatus, { status: 422, reason: "Invalid", message: 'ValidatingAdmissionPolicy "p" denied request: hands off' });
    expect(await failureOf(through((datastore) => add(datastore, web)))).toMatchObject({
      code: 108,
      message: expect.stringContaining(
        'patch pods/status "default/web": not valid: ValidatingAdmissionPolicy "p" denied request: hands off',
      ),
    });
    await through((datastore) => del(datastore, web));
    expect(await allocated()).toEqual([]);
  });

  test.each([
    ["policy", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hands off"],
    ["webhook", 'admission webhook "w.example" denied the request: hands off'],
  ])("and an admission %s that forbids a block: no other CRD would help", async (_what, message) => {
    const isBlock = ({ method, resource }: PassingRequest): boolean => method === "POST" && resource === "ipamblocks";
    const web = await pods.create("web");
    once(isBlock, { status: 422, reason: "Invalid", message });
    expect(await failureOf(through((datastore) => add(datastore, web)))).toMatchObject({
      code: 108,
      message: expect.stringMatching(/^create ipamblocks.netplug.io .*hands off; an admission rule of the cluster forbids this block$/),
    });
    expect(await allocated()).toEqual([]);
  });
});

test.each([
  [1_600_000, "request is too large"],
  [2_200_000, "larger than max"],
])("a block of %i bytes is refused for good, not sent again and again (needs cluster)", async (size, reason) => {
  const block = makeBlock("10.65.0.0/26", "n1", { 0: "n1" });
  const [first] = block.allocations;
  if (first === undefined) throw new Error("no allocation");
  const long = { ...block, allocations: [{ ...first, owner: { ...first.owner, pod: "x".repeat(size) } }] };
  const before = proxy.seen.length;
  const failure = await failureOf(through((datastore) => datastore.commit([{ op: "create-block", block: long }])));
  expect(failure).toMatchObject({ kind: "internal", message: expect.stringMatching(new RegExp(`${reason}.*; .* longer blockSize$`)) });
  expect(proxy.seen.slice(before).filter((request) => request === "POST ipamblocks")).toHaveLength(1);
});

describe("an API server (needs cluster)", () => {
  test("that is away is code 11 within a second, and works again when it is back", async () => {
    const web = await pods.create("web");
    const datastore = openKubernetes(server);
    await add(datastore, web);
    await server.server.stop();
    const beRefused = async (): Promise<void> =>
      expect(await failureOf(datastore.read([{ type: "blocks-of-node", node: "n1" }]))).toMatchObject({ code: 11, retriable: true });
    expect(await durationOf(beRefused)).toBeLessThan(2_000);
    await server.server.start();
    expect(await del(datastore, web)).toHaveLength(1);
    datastore.close();
  });

  test("that has just started and has no cache yet lists pools at once", async () => {
    await server.server.stop();
    await server.server.start();
    const datastore = openKubernetes(server);
    const lists = [
      { type: "list", kind: "IPPool" },
      { type: "list", kind: "IPReservation" },
    ] as const;
    expect((await datastore.read(lists, { mayLag: true })).map((found) => found.length)).toEqual([1, 0]);
    expect(datastore.requests.retries).toBe(0);
    datastore.close();
  });

  test("whose etcd is away is code 11 within the limit of a request, and works again when it is back", async () => {
    const web = await pods.create("web");
    const datastore = openKubernetes(server);
    await add(datastore, web);
    await server.etcd.stop();
    const block = { type: "block", ref: { cidr: { family: 4, base: 0n, length: 26 }, node: "n1" } } as const;
    const fail = async (): Promise<void> => expect(await failureOf(datastore.read([block]))).toMatchObject({ code: 11 });
    expect(await durationOf(fail)).toBeLessThan(6_500);
    await server.etcd.start();
    for (let isBack = false; !isBack;)
      isBack = await del(datastore, web).then(
        (released) => released.length === 1,
        () => false,
      );
    expect(await allocated()).toEqual([]);
    datastore.close();
  });
});
