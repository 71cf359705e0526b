/** What container runtimes and machines do: ADD, DEL, CHECK, GC, STATUS, processes that are killed, namespaces that are lost. */

import { expect } from "bun:test";
import fc from "fast-check";
import { add, check, del, end, expectRefusal, killed, removeNetns } from "./attach.ts";
import { anyIndex, type Command, command, pickFrom } from "./command.ts";
import type { Refusal } from "./forecast.ts";
import { nameOf } from "./invariants.ts";
import { ask, canAdd, ifName, type Order, order } from "./orders.ts";
import { type Asked, type Attachment, IF_NAMES, type NodeName, NODES, type State } from "./state.ts";
import type { World } from "./world.ts";

const node = fc.constantFrom(...NODES);

function addCommand(given: Order): Command {
  const text = `ADD ${JSON.stringify(given)}`;
  return command(
    text,
    async (state, world) => await add(state, world, await ask(state, world, given)),
    (state) => canAdd(state, given),
  );
}

/** Its pod is another's already: only Kubernetes tells. */
function addToStale(at: number): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const sandbox = pickFrom([...state.stale], at);
    if (sandbox === undefined || !world.hasPods) return;
    await add(state, world, { sandbox, ifName: "eth1", demand: { families: [4] } });
  };
  return command(`ADD to a stale sandbox ${at}`, play, ({ stale }) => stale.size > 0);
}

interface DelOrder {
  readonly at: number;
  readonly ifName: string;
  readonly hasPrevResult: boolean;
  readonly hasNetns: boolean;
  readonly isTwice: boolean;
  readonly isLast: boolean;
}

/** Of any sandbox and interface, whether it is there or not; mostly it is. */
function delCommand({ at, ifName: name, isTwice, isLast, ...options }: DelOrder): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const asked = pickForDel(state, at, name);
    if (asked === undefined) return;
    for (let i = isTwice ? 0 : 1; i < 2; i++) await del(state, world, asked, options);
    if (isLast) await end(state, world, asked.sandbox);
  };
  const text = `DEL ${JSON.stringify({ at, ifName: name, isTwice, isLast, ...options })}`;
  return command(text, play, ({ everySandbox }) => everySandbox.length > 0);
}

function pickForDel(state: State, at: number, name: string): Asked | undefined {
  const attachment = at % 4 === 0 ? undefined : pickFrom([...state.attachments.values()], at);
  const sandbox = pickFrom(state.everySandbox, at);
  if (attachment !== undefined || sandbox === undefined) return attachment;
  return state.attachment(sandbox, name) ?? { sandbox, ifName: name, demand: { families: [4] } };
}

function killCommand(verb: "ADD" | "DEL", given: Order, afterMs: number): Command {
  const play = async (state: State, world: World): Promise<void> =>
    await killed(state, world, verb, await ask(state, world, given), afterMs);
  const text = `${verb} ${JSON.stringify(given)}, killed after ${afterMs} ms`;
  return command(text, play, (state) => canAdd(state, given) && (verb === "ADD" || state.sandboxes.has(given.slot)));
}

function loseNetns(at: number): Command {
  const play = async (state: State): Promise<void> => {
    const sandbox = pickFrom(state.everySandbox, at);
    if (sandbox !== undefined) removeNetns(state, sandbox);
  };
  return command(`the namespace ${at} is lost`, play, ({ everySandbox }) => everySandbox.length > 0);
}

/** A pod of the same name with another UID, perhaps on the other node, before anybody called DEL for the old one. */
function recreatePod(at: number, given: Order, on: NodeName): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const old = pickFrom(
      [...state.sandboxes.values()].filter(({ pod }) => pod !== undefined),
      at,
    );
    if (old?.pod === undefined) return;
    old.isStale = true;
    state.stale.add(old);
    state.sandboxes.delete(old.slot);
    await world.deletePod(old.pod.name);
    state.log.push(`pod ${old.pod.name} is deleted and made anew on ${on}`);
    await add(state, world, await ask(state, world, { ...given, slot: old.slot }, on));
  };
  const canPlay = ({ sandboxes }: Readonly<State>): boolean =>
    [...sandboxes.values()].some(({ pod }) => pod !== undefined) && canAdd({ sandboxes: new Map() }, given);
  return command(`the pod ${at} made anew on ${on}, ADD ${JSON.stringify(given)}`, play, canPlay);
}

const checkAll: Command = command("CHECK of all", async (state, world) => {
  await Promise.all([...state.attachments.values()].map(async (attachment) => await checkOne(state, world, attachment)));
});

/** What a CHECK says of an attachment that a newer container has taken over, or whose namespace is gone. */
async function checkOne(state: State, world: World, attachment: Attachment): Promise<void> {
  const { sandbox, isUncertain, isSuperseded } = attachment;
  if (isUncertain || (sandbox.plugin === "netplug-ipam" && !sandbox.hasNetns)) return;
  if (sandbox.hasNetns && !isSuperseded && !(sandbox.isStale && world.hasPods)) return await check(state, world, attachment);
  const reply = await world.call("CHECK", attachment, { prevResult: attachment.result });
  if (reply === undefined) return;
  expectRefusal(`CHECK ${nameOf(attachment)}`, reply, forecastCheck(state, world, attachment));
}

/** Whether addresses are given without IPAM only the pod tells, which is asked first: it may be another one by now, or gone. */
function forecastCheck(state: State, world: World, { sandbox, isWithoutIpam }: Attachment): Refusal {
  if (isWithoutIpam && sandbox.isStale && world.hasPods) {
    const { name = "", uid = "" } = sandbox.pod ?? {};
    const isMadeAnew = [...state.sandboxes.values()].some(({ pod }) => pod?.name === name);
    return { code: 106, names: isMadeAnew ? [name, uid] : [name] };
  }
  return sandbox.hasNetns ? { code: 113, names: [] } : { code: 8, names: [sandbox.netns.path] };
}

/** @param mask which attachments of the network stay */
function gcCommand(on: NodeName, name: string, mask: number): Command {
  const play = async (state: State, world: World): Promise<void> => {
    const all = [...state.attachments.values()].filter(({ sandbox, ifName }) => sandbox.node === on && ifName === name);
    const kept = all.filter((_, i) => (mask >> (i % 16)) % 2 === 1);
    await collect(state, world, on, name, kept);
  };
  return command(`GC of ${name} on ${on}, valid ${mask.toString(2)}`, play);
}

/** What is not valid goes, of this network and node alone. */
async function collect(state: State, world: World, on: NodeName, name: string, valid: readonly Attachment[]): Promise<void> {
  const reply = await world.callNode("GC", on, name, {
    "cni.dev/valid-attachments": valid.map(({ sandbox, ifName }) => ({ containerID: sandbox.id, ifname: ifName })),
  });
  state.log.push(`GC of ${name} on ${on}, valid: ${valid.map(nameOf).join(", ") || "nothing"}: ${reply.stdout}`);
  if (reply.status !== 0 || reply.stdout !== "") throw new Error(`GC: want success, got ${reply.stdout}${reply.stderr}`);
  for (const [key, attachment] of state.attachments) {
    if (attachment.sandbox.node !== on || attachment.ifName !== name || valid.includes(attachment)) continue;
    state.attachments.delete(key);
    // nothing tells GC the pod's name, which a cluster has very many of; the record goes with the pod, or with its next ADD
    if (attachment.isWithoutIpam && world.hasPods) state.lingering.add(key);
  }
}

/** All namespaces, interfaces and notes of the node are gone; its runtime begins with a GC. */
function bootCommand(on: NodeName): Command {
  return command(`${on} boots`, async (state, world) => {
    for (const sandbox of state.everySandbox) if (sandbox.node === on) removeNetns(state, sandbox);
    world.damageNotes(on, "lose");
    for (const name of IF_NAMES) await collect(state, world, on, name, []);
    for (const sandbox of state.everySandbox) if (sandbox.node === on) await end(state, world, sandbox);
  });
}

function damageCommand(on: NodeName, how: "lose" | "break"): Command {
  const text = `${on} ${how === "lose" ? "loses its notes" : "finds a part of a note"}`;
  return command(text, async (state, world) => {
    world.damageNotes(on, how);
    state.log.push(text);
  });
}

function statusCommand(on: NodeName): Command {
  return command(`STATUS on ${on}`, async (state, world) => {
    const reply = await world.callNode("STATUS", on, "eth0");
    if (state.isReady) expect([reply.status, reply.stdout]).toEqual([0, ""]);
    else expectRefusal("STATUS", reply, { code: 50, names: ["locked"] });
  });
}

/** Ends everything: all DELs succeed, and nothing is left. */
export async function endAll(state: State, world: World): Promise<void> {
  for (const { sandbox, ifName: name, demand: wanted } of state.attachments.values()) {
    await del(state, world, { sandbox, ifName: name, demand: wanted }, { hasPrevResult: true, hasNetns: true });
  }
  for (const sandbox of state.everySandbox) await end(state, world, sandbox);
}

const delOrder = fc.record({
  at: anyIndex,
  ifName,
  hasPrevResult: fc.boolean(),
  hasNetns: fc.constantFrom(true, true, false),
  isTwice: fc.constantFrom(false, false, true),
  isLast: fc.boolean(),
});
const killAfterMs = fc.integer({ min: 1, max: 120 });

/** With the weight of each. */
export const runtimeCommands: readonly fc.WeightedArbitrary<Command>[] = [
  { weight: 24, arbitrary: order.map(addCommand) },
  { weight: 12, arbitrary: delOrder.map(delCommand) },
  { weight: 2, arbitrary: fc.tuple(order, killAfterMs).map(([given, afterMs]) => killCommand("ADD", given, afterMs)) },
  { weight: 2, arbitrary: fc.tuple(order, killAfterMs).map(([given, afterMs]) => killCommand("DEL", given, afterMs)) },
  { weight: 2, arbitrary: anyIndex.map(loseNetns) },
  { weight: 5, arbitrary: fc.tuple(anyIndex, order, node).map((given) => recreatePod(...given)) },
  { weight: 1, arbitrary: anyIndex.map(addToStale) },
  { weight: 2, arbitrary: fc.constant(checkAll) },
  { weight: 3, arbitrary: fc.tuple(node, fc.constantFrom(...IF_NAMES), fc.nat({ max: 65_535 })).map((given) => gcCommand(...given)) },
  { weight: 1, arbitrary: node.map(bootCommand) },
  { weight: 1, arbitrary: fc.tuple(node, fc.constantFrom("lose", "break")).map((given) => damageCommand(...given)) },
  { weight: 1, arbitrary: node.map(statusCommand) },
];
