import { expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { createIpamWorld, idOf, NETWORK, requestFor } from "../../test/support/ipam/ipam.ts";
import { allocateAll, releaseAttachment, releaseStale } from "../../test/support/ipam/ipam-operations.ts";
import { testSeed } from "../../test/support/seed.ts";
import type { Datastore } from "../datastore/datastore.ts";
import { inFrontOf } from "../datastore/in-front-of.ts";
import { MemoryDatastore } from "../datastore/memory/memory-datastore.ts";
import { OutcomeUnknown } from "../datastore/outcome-unknown.ts";
import { systemClock } from "../lib/clock.ts";
import { startDeadline } from "../lib/deadline.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Family } from "../lib/ip/address.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { addressAt, toPrefixText } from "../lib/ip/prefix.ts";
import type { Clock } from "../lib/ports.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { checkConsistency } from "./admin/check/check.ts";
import { deleteEmptyBlocks } from "./gc.ts";
import type { TransactPorts } from "./transact/transact.ts";

const seed = testSeed();

const NODES = ["n1", "n2", "n3"];

/** What one node does, one after the other. */
type Step =
  | { readonly do: "add"; readonly containers: readonly string[]; readonly families: readonly Family[] }
  | { readonly do: "del"; readonly container: string }
  | { readonly do: "collect"; readonly kept: readonly string[] };

const container = fc.constantFrom("c0", "c1", "c2", "c3");
const families = fc.constantFrom<readonly Family[]>([4], [6], [4, 6], [6, 4]);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("add"), containers: fc.uniqueArray(container, { minLength: 1, maxLength: 3 }), families }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("del"), container }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("collect"), kept: fc.subarray(["c0", "c1", "c2", "c3"]) }) },
);
const programs = fc.tuple(...NODES.map(() => fc.array(step, { maxLength: 8 })));
/** What happens to each commit, in the order in which they reach the datastore; then all goes well. */
const faults = fc.array(fc.constantFrom("none", "none", "applied, reply lost", "not applied, reply lost"), { maxLength: 12 });

/** Every address that is given, with its owner; fails when one is given twice. */
async function ownersIn(datastore: Datastore): Promise<ReadonlyMap<string, string>> {
  const owners = new Map<string, string>();
  const [blocks] = await datastore.read([{ type: "all-blocks" }]);
  for (const { value } of blocks) {
    for (const { ordinal, owner } of value.allocations) {
      const text = toAddressText(addressAt(value.cidr, ordinal));
      expect(owners.get(text)).toBeUndefined();
      expect(ipaddr.parse(text).match(ipaddr.parseCIDR(toPrefixText(value.cidr)))).toBe(true);
      owners.set(text, `${owner.containerID} on ${owner.node}`);
    }
  }
  return owners;
}

/** Lets the scheduler decide when each request arrives and when its answer does. */
function interleaved(inner: Datastore, scheduler: fc.Scheduler, script: readonly string[]): Datastore {
  let commits = 0;
  return inFrontOf(inner, {
    async read(queries, options) {
      await scheduler.schedule(Promise.resolve(), "read arrives");
      const answers = await inner.read(queries, options);
      await scheduler.schedule(Promise.resolve(), "read answered");
      return answers;
    },
    async commit(writes, options) {
      await scheduler.schedule(Promise.resolve(), "commit arrives");
      const fault = script[commits++];
      if (fault === "not applied, reply lost") throw new OutcomeUnknown("commit: the reply never came");
      const result = await inner.commit(writes, options);
      await ownersIn(inner);
      await scheduler.schedule(Promise.resolve(), "commit answered");
      if (fault === "applied, reply lost") throw new OutcomeUnknown("commit: the reply never came");
      return result;
    },
  });
}

test("in any order of requests and answers, lost ones among them: no address twice, both families or none, each node has what it asked for", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), programs, faults, async (scheduler, todo, script) => {
      const inner = new MemoryDatastore();
      const world = await createIpamWorld(inner);
      await world.putPool("four", "10.65.0.0/29", { blockSize: 31 });
      await world.putPool("six", "fd00:65::/126", { blockSize: 127 });
      const datastore = interleaved(inner, scheduler, script);
      const clock: Clock = {
        now: () => 1_700_000_000_000,
        monotonic: () => 0,
        // Deadlines never come; what waits for its next try is woken whenever the scheduler likes.
        sleep: (ms) => (ms > 10_000 ? new Promise(() => {}) : scheduler.schedule(Promise.resolve(), "wakes")),
      };
      const ports: TransactPorts = { datastore, clock, random: seededRandom(1), deadline: startDeadline(clock, 60_000) };
      const allocated = new Map<string, ReadonlySet<Family>>();
      const work = async (node: string, steps: readonly Step[]): Promise<void> => {
        for (const next of steps) {
          if (next.do === "add") {
            const requests = next.containers.map((name) => requestFor(name, node, { families: next.families }));
            for (const [i, outcome] of (await allocateAll(ports, requests)).entries()) {
              const name = `${next.containers[i]} on ${node}`;
              if ("error" in outcome) expect(outcome.error).toMatchObject({ kind: "noAddressLeft" });
              else allocated.set(name, new Set([...(allocated.get(name) ?? []), ...next.families]));
            }
          } else if (next.do === "del") {
            await releaseAttachment(ports, idOf(next.container), node);
            allocated.delete(`${next.container} on ${node}`);
          } else {
            await releaseStale(ports, { node, network: NETWORK, valid: next.kept.map((containerID) => ({ containerID, ifName: "eth0" })) });
            for (const name of allocated.keys())
              if (name.endsWith(` on ${node}`) && !next.kept.includes(name.split(" ")[0] ?? "")) allocated.delete(name);
            await deleteEmptyBlocks(ports, node);
          }
        }
      };
      await scheduler.waitFor(Promise.all(NODES.map(async (node, i) => await work(node, todo[i] ?? []))));
      const found = new Map<string, Family[]>();
      for (const [address, owner] of await ownersIn(inner)) found.set(owner, [...(found.get(owner) ?? []), address.includes(":") ? 6 : 4]);
      const sorted = (map: ReadonlyMap<string, Iterable<Family>>): unknown =>
        [...map].map(([owner, some]) => `${owner}: ${[...some].sort().join(" ")}`).sort();
      expect(sorted(found)).toEqual(sorted(allocated));
      expect((await checkConsistency(inner, systemClock)).problems).toEqual([]);
    }),
    { seed, numRuns: 200 },
  );
}, 60_000);

test("an error of the caller's making is not taken for an outcome", async () => {
  const world = await createIpamWorld();
  const [outcome] = await allocateAll(world.ports, [requestFor("c", "n1", { pools: { 4: ["nope"] } })]);
  expect(outcome).toMatchObject({ error: expect.any(NetplugError) });
});
