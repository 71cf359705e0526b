/** Who asks for an attachment, and what for. */

import fc from "fast-check";
import { TestNetns } from "../../support/netns.ts";
import { type Asked, type IF_NAMES, NODES, type NodeName, type PodWish, type Sandbox, type State, type Wish } from "./state.ts";
import { podWish, wish } from "./wishes.ts";
import type { World } from "./world.ts";

const SLOTS = 8;
/** Those with `netplug-ipam` alone, as under another main plugin. */
const IPAM_SLOTS = [6, 7];
/** On etcd the others' containers have no pod. */
const POD_SLOTS = [0, 1, 2];

const slot = fc.nat({ max: SLOTS - 1 });
export const ifName: fc.Arbitrary<(typeof IF_NAMES)[number]> = fc.constantFrom("eth0", "eth0", "eth0", "eth1");

/** Whose turn it is: the slot's sandbox, which may not be there yet. */
export interface Order {
  readonly slot: number;
  readonly ifName: string;
  readonly wish: Wish;
  /** For the pod, when it is made for this. */
  readonly podWish: PodWish;
}

export const order: fc.Arbitrary<Order> = fc.record({ slot, ifName, wish, podWish });

/** An address without IPAM is the pod's, not its second interface's; and who is called without a namespace is believed. */
export function canAdd({ sandboxes }: Pick<State, "sandboxes">, { slot: at, ifName: name, podWish: ofPod }: Order): boolean {
  const sandbox = sandboxes.get(at);
  const ofThere = sandbox === undefined ? ofPod : (sandbox.pod?.wish ?? {});
  if (name !== "eth0" && ofThere.ipAddrsNoIpam !== undefined) return false;
  return sandbox === undefined || sandbox.hasNetns || sandbox.plugin === "netplug";
}

/** The same attachment is asked for as it was at first. */
export async function ask(state: State, world: World, given: Order, node: NodeName = nodeOfSlot(given.slot)): Promise<Asked> {
  const { slot: at, ifName: name, wish: wanted, podWish: ofPod } = given;
  const sandbox = await requireSandbox(state, world, { at, node, podWish: ofPod });
  return state.attachment(sandbox, name) ?? { sandbox, ifName: name, wish: wanted };
}

function nodeOfSlot(slot: number): NodeName {
  return NODES[slot % NODES.length] ?? NODES[0];
}

/** The slot's sandbox; a new one with a namespace, and a pod where it needs one. */
async function requireSandbox(
  state: State,
  world: World,
  { at: slot, node, podWish }: { readonly at: number; readonly node: NodeName; readonly podWish: PodWish },
): Promise<Sandbox> {
  const there = state.sandboxes.get(slot);
  if (there !== undefined) return there;
  const plugin = IPAM_SLOTS.includes(slot) ? "netplug-ipam" : "netplug";
  const hasPod = plugin === "netplug" && (world.hasPods || POD_SLOTS.includes(slot));
  const name = `pod-${slot}`;
  const wish = world.hasPods ? podWish : {};
  const pod = hasPod ? { name, uid: await world.createPod(name, node, wish), wish } : undefined;
  const sandbox: Sandbox = { slot, id: world.newContainerID(), node, plugin, pod, netns: new TestNetns(), hasNetns: true, isStale: false };
  state.sandboxes.set(slot, sandbox);
  return sandbox;
}
