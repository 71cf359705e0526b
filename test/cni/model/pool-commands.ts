/** Pools that come, change and go, also half: only what runtimes do goes on while the datastore is locked. */

import { expect } from "bun:test";
import fc from "fast-check";
import { haveCommon } from "../../support/ip-arithmetic.ts";
import { anyIndex, type Command, command, isReady, pickFrom } from "./command.ts";
import type { BlockView } from "./oracle.ts";
import type { PoolSpec, State } from "./state.ts";
import { POOLS } from "./demands.ts";
import type { World } from "./world.ts";

/** Makes a pool; refused where it overlaps another, or blocks of another size in which somebody has an address. Empty ones go. */
export async function createPool(state: State, world: World, name: string, spec: PoolSpec): Promise<void> {
  const ofAnotherSize = async (): Promise<readonly BlockView[]> =>
    (await world.blocks()).filter(({ cidr }) => haveCommon(cidr, spec.cidr) && !cidr.endsWith(`/${spec.blockSize}`));
  const isRefused =
    [...state.pools.values()].some(({ cidr }) => haveCommon(cidr, spec.cidr)) ||
    (await ofAnotherSize()).some(({ allocated }) => allocated.size > 0);
  const { status, stderr } = await world.apply("IPPool", name, spec);
  state.log.push(`pool ${name} ${JSON.stringify(spec)}: ${status} ${stderr.trim()}`);
  expect([status, stderr]).toEqual(isRefused ? [1, expect.stringContaining(name)] : [0, stderr]);
  if (isRefused) return;
  expect(await ofAnotherSize()).toEqual([]);
  state.pools.set(name, spec);
}

function poolCommand(at: number): Command {
  const [name, spec] = pickFrom(POOLS, at) ?? ["", { cidr: "", blockSize: 0 }];
  const play = async (state: State, world: World): Promise<void> => await createPool(state, world, name, spec);
  return command(`pool ${name} ${JSON.stringify(spec)}`, play, (state) => state.isReady && !state.pools.has(name));
}

type Change = Pick<PoolSpec, "disabled" | "nodeSelector" | "assignmentMode">;

function changePool(at: number, change: Change): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const [name = "", spec] = pickFrom([...state.pools], at) ?? [];
    if (spec === undefined) return;
    const changed = { cidr: spec.cidr, blockSize: spec.blockSize, ...change };
    const { status, stderr } = await world.apply("IPPool", name, changed);
    expect([status, stderr]).toEqual([0, stderr]);
    state.pools.set(name, changed);
    state.log.push(`pool ${name} becomes ${JSON.stringify(changed)}`);
  };
  return command(`pool ${at} becomes ${JSON.stringify(change)}`, play, (state) => state.isReady && state.pools.size > 0);
}

export async function deletePool(state: State, world: World, at: number): Promise<void> {
  const [name] = pickFrom([...state.pools], at) ?? [];
  if (name === undefined) return;
  await world.mustCtl(["delete", "ippool", name]);
  state.pools.delete(name);
  state.log.push(`pool ${name} is deleted`);
}

function deleteCommand(at: number): Command {
  return command(`pool ${at} is deleted`, async (state, world) => await deletePool(state, world, at), isReady);
}

/** Somebody presses Ctrl-C, or the machine goes down: the pool stands, is disabled, or is gone. */
function killedDelete(at: number, afterMs: number): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const [name, spec] = pickFrom([...state.pools], at) ?? [];
    if (name === undefined || spec === undefined) return;
    await world.killedCtl(["delete", "ippool", name], afterMs);
    const isDisabled = (await world.stored()).pools.get(name);
    if (isDisabled === undefined) state.pools.delete(name);
    else if (isDisabled) state.pools.set(name, { ...spec, disabled: true });
    state.log.push(
      `pool ${name} is deleted, but its command killed after ${afterMs} ms: ${isDisabled === undefined ? "gone" : `disabled ${isDisabled}`}`,
    );
  };
  return command(`pool ${at} is deleted, but the command killed after ${afterMs} ms`, play, isReady);
}

const change: fc.Arbitrary<Change> = fc.constantFrom<Change>(
  {},
  {},
  { disabled: true },
  { disabled: true },
  { nodeSelector: 'rack == "a"' },
  { nodeSelector: 'rack == "b"' },
  { assignmentMode: "Manual" },
);

/** With the weight of each. */
export const poolCommands: readonly fc.WeightedArbitrary<Command>[] = [
  { weight: 4, arbitrary: anyIndex.map(poolCommand) },
  { weight: 4, arbitrary: fc.tuple(anyIndex, change).map(([which, what]) => changePool(which, what)) },
  { weight: 1, arbitrary: anyIndex.map(deleteCommand) },
  { weight: 1, arbitrary: fc.tuple(anyIndex, fc.integer({ min: 20, max: 200 })).map((given) => killedDelete(...given)) },
];
