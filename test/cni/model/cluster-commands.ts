/** What administrators do, besides with pools: reservations, settings, the lock, single addresses; and what `netplugctl` tells. */

import { expect } from "bun:test";
import fc from "fast-check";
import { add, del } from "./attach.ts";
import { addressesIn, familyOf, haveCommon, isWithin, withoutLength } from "../../support/ip-arithmetic.ts";
import { anyIndex, type Command, command, isReady, pickFrom } from "./command.ts";
import { forecast } from "./forecast.ts";
import { nameOf } from "./invariants.ts";
import type { BlockView } from "./oracle.ts";
import type { Attachment, State } from "./state.ts";
import { RESERVATIONS } from "./demands.ts";
import type { World } from "./world.ts";

function reserve(at: number): Command {
  const name = `r${at % 2}`;
  const cidrs = pickFrom(RESERVATIONS, at) ?? [];
  const play = async (state: State, world: World): Promise<void> => {
    if (state.reservations.delete(name)) await world.mustCtl(["delete", "ipreservation", name]);
    else {
      expect((await world.apply("IPReservation", name, { reservedCIDRs: cidrs })).status).toBe(0);
      state.reservations.set(name, cidrs);
    }
    state.log.push(`reserved: ${[...state.reservations.values()].join(", ")}`);
  };
  return command(`reservation ${name} of ${cidrs.join(", ")} comes or goes`, play, isReady);
}

function configure(settings: State["settings"]): Command {
  const { strictAffinity, maxBlocksPerHost, autoAllocateBlocks } = settings;
  const flags = [
    `--strict-affinity=${strictAffinity}`,
    `--max-blocks-per-host=${maxBlocksPerHost}`,
    `--auto-allocate-blocks=${autoAllocateBlocks}`,
  ];
  const play = async (state: State, world: World): Promise<void> => {
    const { status, stderr } = await world.ctl(["ipam", "configure", ...flags]);
    // a node that may neither claim nor borrow has no address for anybody
    const isRefused = !autoAllocateBlocks && !strictAffinity;
    expect([status, stderr]).toEqual(isRefused ? [1, expect.stringContaining("spec.autoAllocateBlocks")] : [0, stderr]);
    if (!isRefused) Object.assign(state.settings, settings);
    state.log.push(`${flags.join(" ")}: ${status}`);
  };
  return command(`ipam configure ${flags.join(" ")}`, play, isReady);
}

/** Locks the datastore, or unlocks it. */
export async function setReady(state: State, world: World, isUnlocked: boolean): Promise<void> {
  await world.mustCtl(["patch", "clusterinformation", "default", "-p", JSON.stringify({ spec: { datastoreReady: isUnlocked } })]);
  state.isReady = isUnlocked;
  state.log.push(isUnlocked ? "unlocked" : "locked");
}

const lock: Command = command("lock", async (state, world) => await setReady(state, world, false), isReady);

const unlock: Command = command(
  "unlock",
  async (state, world) => await setReady(state, world, true),
  (state) => !state.isReady,
);

interface ShownPool {
  readonly name: string;
  readonly total: number;
  readonly inUse: number;
  readonly reserved: number;
  readonly free: number;
}

const show: Command = command("ipam show", async (state, world) => {
  const blocks = await world.blocks();
  const shown = JSON.parse(await world.mustCtl(["ipam", "show", "-o", "json"])) as {
    readonly pools: readonly ShownPool[];
    readonly blocks: readonly { readonly cidr: string }[];
  };
  const allocated = blocks.flatMap(({ allocated: addresses }) => [...addresses.keys()]);
  const wanted = [...state.pools].map(([name, { cidr }]) => {
    const all = addressesIn(cidr);
    const inUse = all.filter((address) => allocated.includes(address)).length;
    const reserved = all.filter((address) => state.isReserved(address) && !allocated.includes(address)).length;
    return { name, cidr, total: all.length, inUse, reserved, free: all.length - inUse - reserved };
  });
  const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);
  expect(shown.pools.toSorted(byName)).toEqual(wanted.toSorted(byName));
  expect(shown.blocks.map(({ cidr }) => cidr).toSorted()).toEqual(blocks.map(({ cidr }) => cidr).toSorted());
});

/** What `ipam check` has to say, as far as nobody was killed. */
function problemsOf(state: State, world: World, blocks: readonly BlockView[]): readonly string[] {
  const cidrs = [...state.pools.values()].map(({ cidr }) => cidr);
  const isInPool = (address: string): boolean => cidrs.some((cidr) => isWithin(address, cidr));
  const lost = [...state.attachments.values()].filter(
    (one) => !one.isWithoutIpam && (world.hasPods ? one.isSuperseded || one.sandbox.isStale : isRecordTaken(one)),
  );
  return [
    ...blocks.filter(({ cidr }) => !cidrs.some((pool) => haveCommon(pool, cidr))).map(({ cidr }) => `orphaned-block ${cidr}`),
    ...blocks.flatMap(({ allocated }) =>
      [...allocated.keys()].filter((address) => !isInPool(address)).map((address) => `outside-pool ${address}`),
    ),
    ...lost.flatMap(({ addresses }) => addresses.map((address) => `leaked-address ${address}`)),
  ];
}

/** Whether a newer container of the pod has taken the record, which there is once for each node. */
function isRecordTaken({ isSuperseded, takenBy, sandbox }: Attachment): boolean {
  return isSuperseded && takenBy.has(sandbox.node);
}

/** @param more what is wrong besides */
export async function expectProblems(state: State, world: World, more: readonly string[] = []): Promise<void> {
  if ([...state.attachments.values()].some(({ isUncertain }) => isUncertain)) return;
  const wanted = [...problemsOf(state, world, await world.blocks()), ...more];
  const { status, stdout } = await world.ctl(["ipam", "check", "-o", "json"]);
  const { problems } = JSON.parse(stdout) as {
    readonly problems: readonly { readonly class: string; readonly object: string; readonly detail: string }[];
  };
  const found = problems.map(({ class: kind, object }) => `${kind} ${kind.endsWith("-block") ? object : withoutLength(object)}`);
  if (JSON.stringify(found.toSorted()) !== JSON.stringify(wanted.toSorted()))
    throw new Error(`ipam check: want [${wanted.join(", ")}], got ${JSON.stringify(problems)}`);
  expect(status).toBe(wanted.length === 0 ? 0 : 1);
}

/** Somebody takes an address away from a living pod; then it is set right by a DEL, or an ADD. */
function releaseCommand(at: number, isAddedAgain: boolean): Command {
  const canPlay = (state: Readonly<State>): boolean => state.isReady && victimsOf(state).length > 0;
  const play = async (state: State, world: World): Promise<void> => {
    const attachment = pickFrom(victimsOf(state), at);
    const [address = ""] = attachment?.addresses ?? [];
    if (attachment === undefined) return;
    await world.mustCtl(["ipam", "release", `--ip=${address}`]);
    state.log.push(`ipam release ${address} of ${nameOf(attachment)}`);
    expect((await world.ctl(["ipam", "release", `--ip=${address}`])).status).toBe(1);
    const isMain = attachment.sandbox.plugin === "netplug";
    const isInPool = state.poolOf(address) !== undefined;
    // without a pool of its family it may be of other address management
    const hasPools = [...state.pools.values()].some(({ cidr }) => familyOf(cidr) === familyOf(address));
    const problem = isInPool ? [`unallocated-in-use ${address}`] : hasPools ? [`outside-pool ${address}`] : [];
    await expectProblems(state, world, isMain ? problem : []);
    // under another main plugin nothing but its pool says that an address was ours
    if (isMain || isInPool) expect((await world.call("CHECK", attachment, { prevResult: attachment.result }))?.json?.code).toBe(113);
    const blocks = await world.blocks();
    if (isAddedAgain && "judge" in forecast(state, attachment, blocks)) return await add(state, world, attachment);
    await del(state, world, attachment, { hasPrevResult: true, hasNetns: true });
  };
  return command(`ipam release ${at}, then ${isAddedAgain ? "ADD" : "DEL"}`, play, canPlay);
}

function victimsOf({ attachments }: Readonly<State>): readonly Attachment[] {
  return [...attachments.values()].filter(
    ({ sandbox, isUncertain, isSuperseded, isWithoutIpam }) =>
      !isUncertain && !isSuperseded && !isWithoutIpam && sandbox.hasNetns && !sandbox.isStale,
  );
}

const checkCommand: Command = command("ipam check", async (state, world) => await expectProblems(state, world));

/** What `ipam show --ip` says of an address. */
function showAddress(at: number): Command {
  return command(`ipam show --ip ${at}`, async (state, world) => {
    const address = pickFrom(
      [...state.pools.values()].flatMap(({ cidr }) => addressesIn(cidr)),
      at,
    );
    if (address === undefined) return;
    const owner = (await world.blocks()).map(({ allocated }) => allocated.get(address)).find((one) => one !== undefined);
    const shown = JSON.parse(await world.mustCtl(["ipam", "show", `--ip=${address}`, "-o", "json"])) as object;
    const { containerID, ifName, network, node } = owner ?? {};
    expect(shown).toMatchObject(
      owner === undefined ? { ip: address, inUse: false } : { ip: address, inUse: true, containerID, ifName, network, node },
    );
  });
}

const settings = fc.record({
  strictAffinity: fc.boolean(),
  maxBlocksPerHost: fc.constantFrom(0, 0, 1, 2),
  autoAllocateBlocks: fc.constantFrom(true, true, true, false),
});

/** With the weight of each. */
export const clusterCommands: readonly fc.WeightedArbitrary<Command>[] = [
  { weight: 2, arbitrary: anyIndex.map(reserve) },
  { weight: 2, arbitrary: settings.map(configure) },
  { weight: 1, arbitrary: fc.constant(lock) },
  { weight: 5, arbitrary: fc.constant(unlock) },
  { weight: 1, arbitrary: fc.constant(show) },
  { weight: 1, arbitrary: anyIndex.map(showAddress) },
  { weight: 2, arbitrary: fc.constant(checkCommand) },
  { weight: 2, arbitrary: fc.tuple(anyIndex, fc.boolean()).map(([which, isAgain]) => releaseCommand(which, isAgain)) },
];
