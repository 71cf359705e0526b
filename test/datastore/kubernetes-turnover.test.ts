/** Pods that come and go on several nodes at once: no address is given twice, none is shown that is free, none is left. */

import { expect } from "bun:test";
import { join } from "node:path";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { deleteEmptyBlocks } from "../../src/ipam/gc.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { startDeadline } from "../../src/lib/deadline.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import type { Family } from "../../src/lib/ip/address.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { addressAt } from "../../src/lib/ip/prefix.ts";
import type { Random } from "../../src/lib/ports.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { testSeed } from "../support/seed.ts";
import { add, type Container, del } from "./attachments.ts";
import type { Fate } from "../support/servers/fault-proxy.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { KubernetesWorld } from "./kubernetes-world.ts";
import { ask } from "./steps.ts";

/** One is no label as it is, for it is too long. */
const NODES = ["n1", "n2.example.com", `n3-${"x".repeat(100)}`] as const;
const ROUNDS = 3;

/** With hardly more blocks than nodes: they are lent, taken over and deleted. */
const [test, world] = onApiServer(
  () => KubernetesWorld.start(),
  (world) => world.initialise({ "small-4": { cidr: "10.65.0.0/27", blockSize: 30 }, "small-6": { cidr: "fd65::/120", blockSize: 126 } }),
);
const { server, proxy, admin, pods } = world;

/** A process of the plugin on a node; the proxy decides what becomes of its requests. */
async function call<T>(node: string, work: (datastore: Datastore) => Promise<T>): Promise<T> {
  const hints = { file: join(server.folder, `${node}.json`), node };
  const datastore = world.openThroughProxy({ hints });
  try {
    return await work(datastore);
  } finally {
    datastore.close();
  }
}

/** Whose an address is in the blocks: the containers. */
async function ownersOf(address: string): Promise<readonly string[]> {
  const blocks = await ask(admin, { type: "all-blocks" });
  const all = blocks.flatMap(({ value: { cidr, allocations } }) =>
    allocations.map(({ ordinal, owner }) => ({ address: toAddressText(addressAt(cidr, ordinal)), owner: owner.containerID })),
  );
  return all.filter((one) => one.address === address).map(({ owner }) => owner);
}

/** An ADD that succeeded: the pod shows what it was given, which is its own alone. */
async function expectOwn({ pod, id }: Container, addresses: readonly string[]): Promise<void> {
  expect(await pods.addressesOf(pod)).toBe(addresses.map((address) => `${address}/${address.includes(":") ? 128 : 32}`).join(","));
  for (const address of addresses) expect({ address, owners: await ownersOf(address) }).toEqual({ address, owners: [id] });
}

/** A DEL that succeeded: no address is the container's. */
async function expectNothing({ id }: Container): Promise<void> {
  const blocks = await ask(admin, { type: "all-blocks" });
  expect(blocks.flatMap(({ value }) => value.allocations).filter(({ owner }) => owner.containerID === id)).toEqual([]);
}

/** GC of a node, ten minutes later. */
async function collect(node: string): Promise<void> {
  const clock = { ...systemClock, now: () => systemClock.now() + 600_000 };
  const ports = { clock, random: systemRandom, deadline: startDeadline(systemClock, 20_000) };
  await call(node, (datastore) => deleteEmptyBlocks({ ...ports, datastore }, node));
}

/** One after the other, containers of pods that end in each of the ways in which pods end. */
async function work(number: number): Promise<void> {
  const node = NODES[number % NODES.length] ?? "n1";
  const name = `pod-${number}-${"y".repeat(number % 2 === 0 ? 240 : 1)}`;
  const families: readonly Family[] = number % 3 === 0 ? [4, 6] : [4];
  for (let round = 0; round < ROUNDS; round++) {
    const made = await pods.create(name, node);
    const container: Container = {
      ...made,
      id: `${number}-${round}`,
      ...(number % 2 === 0 && { lockFile: join(server.folder, `${node}.lock`) }),
    };
    const again = number % 4 === 0 ? 2 : 1;
    const given = await Promise.all(
      Array.from({ length: again }, () => call(node, (datastore) => add(datastore, container, { families }))),
    );
    const [addresses = []] = given;
    expect(given.at(-1)).toEqual(addresses);
    await expectOwn(container, addresses);
    if (round > 0) await pods.delete(name);
    if (round > 1) await pods.create(name, node);
    await call(node, (datastore) => del(datastore, container));
    await expectNothing(container);
    if (round !== 1) await pods.delete(name);
    await collect(node);
  }
}

test("twelve pods at a time on three nodes that share few blocks (needs cluster)", async () => {
  await Promise.all(Array.from({ length: 12 }, (_, number) => work(number)));
  const blocks = await ask(admin, { type: "all-blocks" });
  expect(blocks.flatMap(({ value }) => value.allocations)).toEqual([]);
});

const FATES: readonly Fate[] = [
  "lose-reply",
  "lose-request",
  { status: 403, reason: "Forbidden" },
  { status: 409, reason: "Conflict" },
  { status: 410, reason: "Expired" },
  { status: 422, reason: "Invalid" },
  { status: 429, reason: "TooManyRequests", retryAfter: "0" },
  { status: 500, reason: "InternalError" },
  { status: 503, reason: "ServiceUnavailable", retryAfter: "0" },
];

/** As a runtime does it: an ADD a few times, a DEL until it succeeds. */
async function workThroughFaults(number: number, random: Random): Promise<void> {
  const node = NODES[number % NODES.length] ?? "n1";
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const made = await pods.create(`unlucky-${number}-${round}`, node);
    const container: Container = { ...made, id: `u${number}-${round}`, lockFile: join(server.folder, `${node}.lock`) };
    let addresses: readonly string[] | undefined;
    for (let tries = 0; tries < 3 && addresses === undefined; tries++) {
      addresses = await call(node, (datastore) => add(datastore, container, { families: [4, 6] })).catch(expectKnown);
    }
    if (addresses !== undefined) await expectOwn(container, addresses);
    const isGone = random() < 0.3;
    if (isGone) await pods.delete(container.pod);
    while ((await call(node, (datastore) => del(datastore, container)).catch(expectKnown)) === undefined);
    await expectNothing(container);
    if (!isGone) expect((await pods.addressesOf(container.pod)) ?? "").toBe("");
  }
}

function expectKnown(thrown: NetplugError): undefined {
  expect([5, 11, 106, 108, 112]).toContain(thrown.code);
}

test("the same while one request in eight meets a fault: what a DEL leaves is nothing (needs cluster)", async () => {
  const random = seededRandom(testSeed());
  proxy.decide = () => (random() < 1 / 8 ? (FATES[Math.floor(random() * FATES.length)] ?? "pass") : "pass");
  await Promise.all(Array.from({ length: 9 }, (_, number) => workThroughFaults(number, random)));
  proxy.decide = () => "pass";
  const blocks = await ask(admin, { type: "all-blocks" });
  expect(blocks.flatMap(({ value }) => value.allocations)).toEqual([]);
});
