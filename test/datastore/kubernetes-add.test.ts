/** What an ADD and a DEL ask of the API server, by its own audit log, and in which order they write. */

import { beforeEach, describe, expect } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openKubernetes as openDriver } from "../../src/datastore/kubernetes/open.ts";
import { typeOf } from "../../src/datastore/kubernetes/objects/resource-types.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { share } from "../support/share.ts";
import { add, type Container, del } from "./attachments.ts";
import { createAudit } from "./audit.ts";
import { makeBlock } from "./blocks.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { openKubernetes, realPorts } from "./open-kubernetes.ts";
import { ask, commit } from "./steps.ts";

const audit = share(() => createAudit());
const [test, world] = onApiServer(() => KubernetesWorld.start({ args: audit.args }));
const { server, admin, pods } = world;
beforeEach(async () => {
  await world.empty();
  await world.initialise({ a: { cidr: "10.65.0.0/16" } });
  rmSync(hintFile("n1"), { force: true });
});

const hintFile = (node: string): string => join(server.folder, `${node}.json`);

async function putPool(name: string, cidr: string, blockSize?: number): Promise<void> {
  await world.putPool(name, { cidr, ...(blockSize !== undefined && { blockSize }) });
}

/** A process of the plugin on a node: it ends with its call. */
async function call<T>(node: string, work: (datastore: Datastore) => Promise<T>): Promise<T> {
  const datastore = openKubernetes(server, { hints: { file: hintFile(node), node } });
  try {
    return await work(datastore);
  } finally {
    lastRounds = datastore.requests.roundTrips;
    datastore.close();
  }
}
let lastRounds = 0;

/** The only block is that of node n2, from which n1 has borrowed already. */
async function borrowFirst(): Promise<void> {
  await server.kubectl(["delete", "ippool", "a"]);
  await putPool("small", "10.66.0.0/29", 29);
  await call("n2", async (datastore) => add(datastore, await pods.create("other", "n2")));
  await call("n1", async (datastore) => add(datastore, await pods.create("first")));
}

/** Without what is the same in all of them. */
function shorten(requests: readonly string[]): readonly string[] {
  return requests.map((request) => request.replace(/\/apis?\/(?:netplug\.io\/)?v\d\//, "").replace(/\?fieldValidation=Strict$/, "")).sort();
}

const READS = [
  "get clusterinformations/default",
  "get ipamconfigurations/default",
  "get namespaces/default/pods/web",
  "get nodes/n1",
  "list ippools?limit=500&resourceVersion=0",
  "list ipreservations?limit=500&resourceVersion=0",
] as const;

describe("an ADD (needs cluster)", () => {
  test("of a node that has nothing yet lists by label only, writes its hint, claims its block, and records the endpoint", async () => {
    const web = await pods.create("web");
    await audit.take(server);
    const [address = ""] = await call("n1", (datastore) => add(datastore, web));
    const asked = shorten(await audit.take(server));
    const lists = asked.filter((request) => request.startsWith("list ipamblocks"));
    expect(lists[0]).toMatch(/^list ipamblocks\?labelSelector=holder\.netplug\.io\/n1$/);
    expect(lists[1]).toMatch(/^list ipamblocks\?labelSelector=netplug\.io\/cell in \(010-065-\d{3}-000\)&resourceVersion=0$/);
    expect(asked.filter((request) => !request.startsWith("list ipamblocks"))).toEqual(
      ["create ipamblocks", "get ippools/a", ...READS, "patch namespaces/default/pods/web/status"].sort(),
    );
    expect(lastRounds).toBe(4);
    const [block] = await ask(admin, { type: "blocks-of-node", node: "n1" });
    expect(JSON.parse(readFileSync(hintFile("n1"), "utf8"))).toMatchObject({ node: "n1", isComplete: true });
    expect(block?.value.allocations).toMatchObject([{ owner: { containerID: "id-web", pod: "web" } }]);
    expect(await pods.addressesOf("web")).toBe(`${address}/32`);
  });

  test("claims no block of a pool that was made anew with blocks of another size, though its list is old", async () => {
    const client = new KubeClient({ kubeconfig: server.kubeconfigFile }, realPorts, { qps: 0 });
    const list = client.list.bind(client);
    const old = await list(typeOf("IPPool"));
    await server.kubectl(["delete", "ippool", "a"]);
    await putPool("a", "10.65.0.0/16", 28);
    let lists = 0;
    client.list = async (type, options) => {
      const isOld = type.plural === "ippools" && options?.resourceVersion === "0" && ++lists <= 2;
      return isOld ? (old as never) : await list(type, options);
    };
    const datastore = openDriver({}, { ...realPorts, kubeClient: client });
    await add(datastore, await pods.create("web"));
    expect(lists).toBe(3);
    expect((await ask(admin, { type: "all-blocks" })).map(({ value }) => value.cidr.length)).toEqual([28]);
    datastore.close();
  });

  test("goes around a block whose labels somebody took away, and finds it where an address in it is asked for", async () => {
    await server.kubectl(["delete", "ippool", "a"]);
    await putPool("small", "10.66.0.0/28", 29);
    await call("n1", async (datastore) => add(datastore, await pods.create("first")));
    const name = await server.kubectl(["get", "ipamblocks", "-o", "jsonpath={.items[0].metadata.name}"]);
    await server.kubectl([
      "label",
      "ipamblocks",
      name,
      "netplug.io/cell-",
      "netplug.io/spare-",
      "holder.netplug.io/n1-",
      "netplug.io/node-",
    ]);
    await call("n2", async (datastore) => add(datastore, await pods.create("second", "n2")));
    const wanted = `10.66.0.${name.includes("-008-") ? 14 : 6}`;
    const third = await pods.create("third", "n2");
    expect(await call("n2", (datastore) => add(datastore, third, { addresses: [parseAddress(wanted)] }))).toEqual([wanted]);
    const blocks = await ask(admin, { type: "all-blocks" });
    expect(blocks.map(({ value }) => value.allocations.length).toSorted()).toEqual([1, 2]);
    expect(await ask(admin, { type: "count-blocks", within: parsePrefix("10.66.0.0/28") })).toBe(2);
  });

  test("of a node that has a block is three rounds, and lists no blocks and no pods", async () => {
    await call("n1", async (datastore) => add(datastore, await pods.create("first")));
    const web = await pods.create("web");
    await audit.take(server);
    await call("n1", (datastore) => add(datastore, web));
    const [block] = await ask(admin, { type: "blocks-of-node", node: "n1" });
    const name = await server.kubectl(["get", "ipamblocks", "-o", "jsonpath={.items[0].metadata.name}"]);
    const asked = (await audit.take(server)).filter((request) => !request.includes("holder.netplug.io"));
    expect(shorten(asked)).toEqual(
      [...READS, `get ipamblocks/${name}`, `update ipamblocks/${name}`, "patch namespaces/default/pods/web/status"].sort(),
    );
    expect(lastRounds).toBe(3);
    expect(block?.value.allocations).toHaveLength(2);
    const writes = asked.filter((request) => /^(?:update|patch)/.test(request));
    expect(writes.map((request) => request.split(" ")[0])).toEqual(["update", "patch"]);
  });

  test("ends the bookkeeping of the block's fields, which every update would pay for", async () => {
    const managers = () =>
      server.kubectl(["get", "ipamblocks", "--show-managed-fields", "-o", "jsonpath={.items[0].metadata.managedFields}"]);
    await call("n1", async (datastore) => add(datastore, await pods.create("first")));
    expect(await managers()).not.toBe("");
    for (const name of ["second", "third"]) {
      await call("n1", async (datastore) => add(datastore, await pods.create(name)));
      expect(await managers()).toBe("");
    }
  });

  test("of both families writes both blocks in one round", async () => {
    await putPool("b", "fd00:65::/64");
    const both = { families: [4, 6] } as const;
    await call("n1", async (datastore) => add(datastore, await pods.create("first"), both));
    const web = await pods.create("web");
    const addresses = await call("n1", (datastore) => add(datastore, web, both));
    expect(lastRounds).toBe(3);
    expect(await pods.addressesOf("web")).toBe(`${addresses[0]}/32,${addresses[1]}/128`);
  });

  test("that is repeated gives the same, and writes nothing", async () => {
    const web = await pods.create("web");
    const first = await call("n1", (datastore) => add(datastore, web));
    await audit.take(server);
    expect(await call("n1", (datastore) => add(datastore, web))).toEqual(first);
    const asked = await audit.take(server);
    expect(asked.filter((request) => !/^(?:get|list) /.test(request))).toEqual([]);
  });

  test("on a node that borrows looks for a block of its own first, in three rounds more, by label only", async () => {
    await borrowFirst();
    const web = await pods.create("web");
    await audit.take(server);
    await call("n1", (datastore) => add(datastore, web));
    const lists = (await audit.take(server)).filter((request) => /^list (?:ipamblocks|pods)/.test(request));
    expect(lists.filter((request) => !request.includes("labelSelector="))).toEqual([]);
    // reads · slots · empty blocks · spare blocks · block · pod status
    expect(lastRounds).toBe(6);
  });
});

test("a node with more blocks than requests may be made at once lists them by label, though it has a hint (needs cluster)", async () => {
  const blocks = Array.from({ length: 130 }, (_, i) => makeBlock(`10.65.${200 + (i >> 5)}.${(i & 31) * 8}/29`, "n1", { 0: "n1" }));
  await commit(admin, ...blocks.map((block) => ({ op: "create-block", block }) as const));
  const process = async (verb: typeof add | typeof del, container: Container): Promise<readonly string[]> => {
    // with the limits that nobody has set
    const datastore = openKubernetes(server, { qps: undefined, hints: { file: hintFile("n1"), node: "n1" } });
    try {
      return await verb(datastore, container);
    } finally {
      lastRounds = datastore.requests.roundTrips;
      datastore.close();
    }
  };
  await process(add, await pods.create("first"));
  const web = await pods.create("web");
  await audit.take(server);
  const given = await process(add, web);
  expect(lastRounds).toBe(3);
  const asked = shorten(await audit.take(server)).filter((request) => request.includes("ipamblocks"));
  expect(asked).toEqual([
    "list ipamblocks?labelSelector=holder.netplug.io/n1",
    expect.stringMatching(/^update ipamblocks\//) as unknown as string,
  ]);
  expect(await process(del, web)).toEqual(given);
});

test("an ADD that finds more pools full than requests may be made at once gets an address of the next one (needs cluster)", async () => {
  const cidrs = Array.from({ length: 130 }, (_, i) => `10.64.${i}.0/32`);
  // Before pool "a", which has space.
  for (const [i, cidr] of cidrs.entries()) await putPool(`0-${i}`, cidr, 32);
  await commit(admin, ...cidrs.map((cidr) => ({ op: "create-block", block: makeBlock(cidr, "n2", { 0: "n2" }) }) as const));
  const web = await pods.create("web");
  // with the limits that nobody has set
  const datastore = openKubernetes(server, { qps: undefined, hints: { file: hintFile("n1"), node: "n1" } });
  try {
    expect(await add(datastore, web)).toEqual([expect.stringMatching(/^10\.65\./)]);
  } finally {
    datastore.close();
  }
});

test("thirty ADDs at once on one node all get an address, and their DELs release all (needs cluster)", async () => {
  const made = await Promise.all(Array.from({ length: 30 }, (_, i) => pods.create(`p${i}`)));
  const containers = made.map((container) => ({ ...container, lockFile: join(server.folder, "turns.lock") }));
  const addresses = await Promise.all(containers.map((container) => call("n1", (datastore) => add(datastore, container))));
  expect(new Set(addresses.flat()).size).toBe(30);
  for (const [i, container] of containers.entries()) expect(await pods.addressesOf(container.pod)).toBe(`${addresses[i]?.[0]}/32`);
  await Promise.all(containers.map((container) => call("n1", (datastore) => del(datastore, container))));
  const blocks = await ask(admin, { type: "all-blocks" });
  expect(blocks.flatMap(({ value }) => value.allocations)).toEqual([]);
});

describe("a DEL (needs cluster)", () => {
  test("on a node that borrows is three rounds too", async () => {
    await borrowFirst();
    const web = await pods.create("web");
    await call("n1", (datastore) => add(datastore, web));
    // Whose block may lend is found by label; the hint gives the rest.
    const [block] = await ask(admin, { type: "blocks-of-node", node: "n2" });
    expect(block?.value.allocations.map(({ owner }) => owner.node)).toEqual(["n2", "n1", "n1"]);
    await audit.take(server);
    expect(await call("n1", (datastore) => del(datastore, web))).toHaveLength(1);
    expect(lastRounds).toBe(3);
    expect((await audit.take(server)).filter((request) => request.startsWith("list"))).toEqual([]);
  });

  test("is three rounds, without a list, and clears the pod before it frees the address", async () => {
    const web = await pods.create("web");
    const added = await call("n1", (datastore) => add(datastore, web));
    await audit.take(server);
    expect(await call("n1", (datastore) => del(datastore, web))).toEqual(added);
    expect(lastRounds).toBe(3);
    const asked = await audit.take(server);
    expect(asked.filter((request) => request.startsWith("list"))).toEqual([]);
    expect(asked.filter((request) => /^(?:update|patch)/.test(request)).map((request) => request.split(" ")[0])).toEqual([
      "patch",
      "update",
    ]);
    expect(await pods.addressesOf("web")).toBe("");
    const [block] = await ask(admin, { type: "blocks-of-node", node: "n1" });
    expect(block?.value.allocations).toEqual([]);
  });

  test("whose pod is gone releases the address, and again nothing", async () => {
    const web = await pods.create("web");
    const added = await call("n1", (datastore) => add(datastore, web));
    await pods.delete("web");
    expect(await call("n1", (datastore) => del(datastore, web))).toEqual(added);
    expect(await call("n1", (datastore) => del(datastore, web))).toEqual([]);
    expect(lastRounds).toBe(1);
  });
});

describe("the hint of a node's blocks (needs cluster)", () => {
  test("is written before a block is claimed", async () => {
    await call("n1", async (datastore) => void (await datastore.read([{ type: "blocks-of-node", node: "n1" }])));
    const name = "010-065-016-000-26";
    const datastore = openKubernetes(server, { hints: { file: hintFile("n1"), node: "n1" } });
    // Somebody else has it: the claim fails, and its name is there all the same.
    await commit(admin, { op: "create-block", block: makeBlock("10.65.16.0/26", "n2") });
    expect(await datastore.commit([{ op: "create-block", block: makeBlock("10.65.16.0/26", "n1") }])).toMatchObject({ committed: false });
    expect(Object.keys((JSON.parse(readFileSync(hintFile("n1"), "utf8")) as { blocks: object }).blocks)).toEqual(["10.65.16.0/26"]);
    await audit.take(server);
    expect(await ask(datastore, { type: "blocks-of-node", node: "n1" })).toEqual([]);
    expect(shorten(await audit.take(server))).toEqual([`get ipamblocks/${name}`]);
    datastore.close();
  });

  test("that is gone, damaged, another node's or another cluster's is made anew from one list by label", async () => {
    await call("n1", async (datastore) => add(datastore, await pods.create("web")));
    const sound = readFileSync(hintFile("n1"), "utf8");
    const damages: readonly (() => void)[] = [
      () => rmSync(hintFile("n1")),
      () => writeFileSync(hintFile("n1"), sound.slice(0, -2)),
      () => writeFileSync(hintFile("n1"), sound.replace('"n1"', '"n2"')),
      () =>
        writeFileSync(hintFile("n1"), sound.replace(/"cluster":"[^"]*"/, '"cluster":"other"').replace(/"blocks":{[^}]*}/, '"blocks":{}')),
    ];
    for (const damage of damages) {
      damage();
      await audit.take(server);
      const blocks = await call("n1", (datastore) => ask(datastore, { type: "blocks-of-node", node: "n1" }));
      expect(blocks).toHaveLength(1);
      expect(shorten(await audit.take(server)).filter((request) => request.startsWith("list"))).toEqual([
        "list ipamblocks?labelSelector=holder.netplug.io/n1",
      ]);
      expect(JSON.parse(readFileSync(hintFile("n1"), "utf8"))).toMatchObject({
        node: "n1",
        isComplete: true,
        blocks: { [Object.keys((JSON.parse(sound) as { blocks: object }).blocks)[0] ?? ""]: 0 },
      });
    }
  });

  test("holds for many processes that claim at once: none misses a block afterwards", async () => {
    await putPool("tiny", "10.67.0.0/24", 32);
    await server.kubectl(["delete", "ippool", "a"]);
    const containers = await Promise.all(Array.from({ length: 12 }, (_, i) => pods.create(`p${i}`)));
    await Promise.all(containers.map((container) => call("n1", (datastore) => add(datastore, container))));
    await audit.take(server);
    const known = await call("n1", (datastore) => ask(datastore, { type: "blocks-of-node", node: "n1" }));
    expect((await audit.take(server)).filter((request) => request.startsWith("list"))).toEqual([]);
    const all = await ask(admin, { type: "all-blocks" });
    expect(known).toEqual(all);
    expect(all).toHaveLength(12);
  });
});

test("work is done while the endpoint is on its way, when the blocks are written (needs cluster)", async () => {
  const web = await pods.create("web");
  await call("n1", (datastore) => add(datastore, web));
  const datastore = openKubernetes(server);
  const ref = { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-web-eth0" } as const;
  const [[block], endpoint] = await datastore.read([
    { type: "blocks-of-node", node: "n1" },
    { type: "get", ref },
  ]);
  if (block === undefined || endpoint === undefined) throw new Error("nothing was added");
  const spec = { ...(endpoint.value.spec as object), ipNetworks: ["10.65.0.1/32"] };
  const writes = [
    { op: "update-block", block: { ...block.value, node: "n1" }, previous: block },
    { op: "update", resource: { ...endpoint.value, spec }, revision: endpoint.revision },
  ] as const;
  await audit.take(server);
  let seen: readonly string[] = [];
  const failure = new Error("the kernel refused");
  const onBlocksWritten = (): void => {
    seen = [...seen, "called"];
    throw failure;
  };
  expect(await datastore.commit(writes, { onBlocksWritten }).catch((thrown: unknown) => thrown)).toBe(failure);
  expect(seen).toEqual(["called"]);
  expect((await audit.take(server)).map((request) => request.split(" ")[0])).toEqual(["update", "patch"]);
  datastore.close();
});
