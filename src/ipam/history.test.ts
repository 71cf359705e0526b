import { expect, test } from "bun:test";
import { playHistories } from "../../test/support/ipam/ipam-model.ts";
import { createIpamWorld, requestFor } from "../../test/support/ipam/ipam.ts";
import { releaseAttachment } from "../../test/support/ipam/ipam-operations.ts";
import { testSeed } from "../../test/support/seed.ts";
import { startDeadline } from "../lib/deadline.ts";
import { toAddressText } from "../lib/ip/address.ts";
import type { Clock } from "../lib/ports.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { allocate } from "./allocate.ts";
import type { TransactPorts } from "./transact/transact.ts";

const seed = testSeed();

test("whatever happens: no address twice, none that is reserved or cools down, a released one last, 101 only when nothing is left", async () => {
  await playHistories(seed, 150);
}, 120_000);

/** Time in which waiting costs nothing but turns of the event loop. */
const hasty: Clock = {
  now: () => 1_700_000_000_000,
  monotonic: () => 0,
  sleep: async (ms, signal) =>
    await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      let turns = ms > 1000 ? Infinity : Math.ceil(ms);
      const turn = (): void => (turns-- > 0 ? queueMicrotask(turn) : resolve());
      if (turns !== Infinity) turn();
    }),
};

test.each([
  ["in a large pool", "10.65.0.0/16", 26, 10],
  ["in a pool that is just large enough", "10.65.0.0/25", 28, 12],
  ["in a pool with a block for every other node", "10.65.0.0/27", 30, 3],
])("ten nodes that allocate and release at once never share an address: %s", async (_, cidr, blockSize, each) => {
  const world = await createIpamWorld();
  await world.putPool("a", cidr, { blockSize });
  const random = seededRandom(seed);
  const ports: TransactPorts = { datastore: world.datastore, clock: hasty, random, deadline: startDeadline(hasty, 60_000) };
  const allocated = new Map<string, string>();
  const work = async (node: string): Promise<void> => {
    for (let i = 0; i < each; i++) {
      const name = `${node}-${i}`;
      const [given] = await allocate(ports, requestFor(name, node));
      const address = toAddressText(given?.address ?? { family: 4, value: 0n });
      expect(allocated.get(address)).toBeUndefined();
      allocated.set(address, name);
      if (random() >= 0.3) continue;
      allocated.delete(address);
      await releaseAttachment(ports, requestFor(name, node).owner, node);
    }
  };
  await Promise.all(Array.from({ length: 10 }, async (__, i) => await work(`n${i}`)));
  const [blocks] = await world.datastore.read([{ type: "all-blocks" }]);
  expect(blocks.reduce((sum, { value }) => sum + value.allocations.length, 0)).toBe(allocated.size);
});

test("ADDs of one attachment at once get the same address", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24", { blockSize: 30 });
  const random = seededRandom(seed);
  const ports: TransactPorts = { datastore: world.datastore, clock: hasty, random, deadline: startDeadline(hasty, 60_000) };
  const others = Array.from({ length: 6 }, async (_, i) => await allocate(ports, requestFor(`other-${i}`, "n1")));
  const same = Array.from({ length: 6 }, async () => await allocate(ports, requestFor("same", "n1")));
  await Promise.all(others);
  const given = (await Promise.all(same)).map(([first]) => toAddressText(first?.address ?? { family: 4, value: 0n }));
  expect(new Set(given).size).toBe(1);
  const [blocks] = await world.datastore.read([{ type: "blocks-of-node", node: "n1" }]);
  expect(blocks.flatMap(({ value }) => value.allocations).filter(({ owner }) => owner.containerID === "same")).toHaveLength(1);
});
