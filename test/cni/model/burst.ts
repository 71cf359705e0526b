/** Several calls at once: who gets what is open, but not whether it is right. */

import fc from "fast-check";
import type { CniReply } from "../../support/programs/cni.ts";
import { check, expectRefusal, noteAdd } from "./attach.ts";
import { canonical, type Family, familyOf, isWithin } from "../../support/ip-arithmetic.ts";
import { setReady } from "./cluster-commands.ts";
import { type Command, command } from "./command.ts";
import { allocatedTo, allowedPools, explicitOf, type Forecast, forecast } from "./forecast.ts";
import { nameOf } from "./invariants.ts";
import type { BlockView } from "./oracle.ts";
import { deletePool } from "./pool-commands.ts";
import { ask, canAdd, type Order, order } from "./orders.ts";
import { type Asked, State } from "./state.ts";
import { supplyOf } from "./supply.ts";
import type { World } from "./world.ts";

/** How one of several calls is made. */
interface Item extends Order {
  /** `twice` as well, by a runtime that does not wait. */
  readonly how: "once" | "twice" | "killed";
  readonly killAfterMs: number;
}

/** What an administrator does at the same time. GC is for a moment at which no ADD and no DEL is under way: so CNI wants it. */
type Meanwhile = "nothing" | "deletes a pool" | "locks and unlocks";

/** Of what is there already, DEL; of the rest, ADD. */
async function playBurst(state: State, world: World, items: readonly Item[], meanwhile: Meanwhile): Promise<void> {
  const asked = new Map<string, { readonly one: Asked; readonly item: Item }>();
  for (const item of items) {
    if (!canAdd(state, item)) continue;
    const one = await ask(state, world, item);
    asked.set(State.key(one.sandbox, one.ifName), { one, item });
  }
  const ends = [...asked].filter(([key]) => state.attachments.get(key)?.isUncertain === false);
  const begins = [...asked].filter(([key]) => !state.attachments.has(key)).map(([, begin]) => begin);
  const blocks = await world.blocks();
  const expected = begins.map(({ one }) => forecast(state, one, blocks));
  const call = async (verb: "ADD" | "DEL", { one, item }: Pick<Call, "one" | "item">): Promise<Call> => {
    const replies = await Promise.all(
      Array.from({ length: item.how === "twice" && one.sandbox.plugin === "netplug" ? 2 : 1 }, async () =>
        world.call(verb, one, item.how === "killed" ? { killAfterMs: item.killAfterMs } : {}),
      ),
    );
    return { one, item, replies };
  };
  const poolsBefore = new Map(state.pools);
  const [added, deleted] = await Promise.all([
    Promise.all(begins.map(async (begin) => await call("ADD", begin))),
    Promise.all(ends.map(async ([, end]) => await call("DEL", end))),
    administer(state, world, meanwhile),
  ]);
  if (items.some(({ how }) => how === "killed")) await world.settle();
  for (const deletion of deleted) settleDel(state, deletion);
  const scene: Scene = { state, poolsBefore, blocks, begins: begins.map(({ one }) => one), isStill: meanwhile === "nothing" };
  for (const [i, { one, replies }] of added.entries()) {
    const forecasted = expected[i];
    if (forecasted === undefined) continue;
    if (replies.includes(undefined)) state.doubt("ADD", one);
    for (const reply of replies) if (reply !== undefined) settle(scene, one, reply, forecasted);
  }
  for (const { one } of begins) if (state.attachment(one.sandbox, one.ifName)?.isUncertain === false) await check(state, world, one);
}

/** A call that was made, perhaps twice; a reply is undefined when it was killed. */
interface Call {
  readonly one: Asked;
  readonly item: Item;
  readonly replies: readonly (CniReply | undefined)[];
}

async function administer(state: State, world: World, what: Meanwhile): Promise<void> {
  if (what === "nothing" || !state.isReady) return;
  if (what === "deletes a pool") return await deletePool(state, world, 0);
  await setReady(state, world, false);
  await setReady(state, world, true);
}

function settleDel(state: State, { one, replies }: Call): void {
  for (const reply of replies) {
    state.log.push(`at once: DEL ${nameOf(one)}: ${reply === undefined ? "killed" : reply.stdout}`);
    if (reply === undefined) return state.doubt("DEL", one);
    if (reply.status !== 0) throw new Error(`DEL ${nameOf(one)} at once: ${reply.stdout}${reply.stderr}`);
  }
  state.forget(one);
}

interface Scene {
  readonly state: State;
  readonly poolsBefore: State["pools"];
  /** Whether pools and lock stay as they are. */
  readonly isStill: boolean;
  /** As they were before. */
  readonly blocks: readonly BlockView[];
  /** All that ask at once. */
  readonly begins: readonly Asked[];
}

function settle(scene: Scene, one: Asked, reply: CniReply, expected: Forecast): void {
  const { state, isStill } = scene;
  const { what, given } = noteAdd(state, one, reply, " at once");
  // others may take the last IPv4 address before its turn comes
  if ("code" in expected && expected.code === 100 && reply.json?.code === 101) return;
  // nothing that others do at the same time changes these
  if (!isStill && [11, 100, 101, 103].includes(reply.json?.code ?? 0)) return;
  if ("code" in expected && ![101, 102, 103].includes(expected.code)) return expectRefusal(what, reply, expected);
  const fault = reply.status === 0 ? findFault(scene, one, given) : findWhyNotRefused(scene, one, reply.json?.code ?? 0);
  if (fault !== undefined) throw new Error(`${what}: ${fault}: ${reply.stdout}`);
  if (reply.status !== 0) return;
  const other = state.attachment(one.sandbox, one.ifName);
  if (other !== undefined && JSON.stringify(other.addresses) !== JSON.stringify(given))
    throw new Error(`${what}: two ADDs give ${other.addresses.join(", ")} and ${given.join(", ")}`);
  state.give(one, given, reply.json);
}

/** What is wrong with the addresses of an ADD. */
function findFault({ state, blocks, poolsBefore }: Scene, one: Asked, given: readonly string[]): string | undefined {
  const wanted = (one.sandbox.pod?.annotations.ipAddrsNoIpam ?? explicitOf(one))?.map(canonical);
  if (wanted !== undefined) return JSON.stringify(wanted) === JSON.stringify(given) ? undefined : `want ${wanted.join(", ")}`;
  if (given.length !== one.demand.families.length) return `want ${one.demand.families.length} addresses`;
  const allocated = allocatedTo(one, blocks);
  for (const address of given) {
    if (allocated.includes(address)) continue;
    const pools = allowedPools({ pools: poolsBefore }, one, familyOf(address));
    if ("code" in pools || !pools.specs.some(({ cidr }) => isWithin(address, cidr))) return `${address} is of no pool that it may use`;
    if (state.isReserved(address)) return `${address} is reserved`;
  }
  return undefined;
}

/** Why an ADD that was refused had not to be. */
function findWhyNotRefused(scene: Scene, one: Asked, code: number): string | undefined {
  const { state, begins } = scene;
  const { strictAffinity, maxBlocksPerHost, autoAllocateBlocks } = state.settings;
  if (explicitOf(one) !== undefined) return code === 102 || code === 103 ? undefined : "want 102 or 103";
  if (code !== 101) return "want 101";
  // then another's block may be full of places that nobody may use
  if (strictAffinity || maxBlocksPerHost > 0 || !autoAllocateBlocks) return undefined;
  const isEnough = (family: Family): boolean => {
    const pools = allowedPools(state, one, family);
    if ("code" in pools) return true;
    const { own, unclaimed, emptied, borrowed } = supplyOf(state, one.sandbox.node, pools.specs, scene.blocks, family);
    return own.length + unclaimed.length + emptied.length + borrowed.length >= begins.length;
  };
  return one.demand.families.every(isEnough) ? `there was enough for all of the ${begins.length}` : undefined;
}

const item: fc.Arbitrary<Item> = fc
  .tuple(order, fc.constantFrom("once", "once", "once", "twice", "killed"), fc.integer({ min: 1, max: 120 }))
  .map(([one, how, killAfterMs]) => ({ ...one, how, killAfterMs }));

const meanwhile = fc.constantFrom<Meanwhile>("nothing", "nothing", "nothing", "deletes a pool", "locks and unlocks");

export const burstCommands: readonly fc.WeightedArbitrary<Command>[] = [
  {
    weight: 5,
    arbitrary: fc.tuple(fc.array(item, { minLength: 2, maxLength: 6, size: "max" }), meanwhile).map(([items, what]) => {
      const text = `at once, while somebody ${what.replace("nothing", "does nothing")}: ${JSON.stringify(items)}`;
      return command(text, async (state, world) => await playBurst(state, world, items, what));
    }),
  },
];
