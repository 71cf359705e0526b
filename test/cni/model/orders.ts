/** Who asks for an attachment, and what for. */

import fc from "fast-check";
import { TestNetns } from "../../support/node/netns.ts";
import { demand, podAnnotations } from "./demands.ts";
import {
  type AddressDemand,
  type Asked,
  type IF_NAMES,
  NODES,
  type NodeName,
  type PodAnnotations,
  type Sandbox,
  type State,
} from "./state.ts";
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
  readonly demand: AddressDemand;
  /** For the pod, when it is made for this. */
  readonly podAnnotations: PodAnnotations;
}

export const order: fc.Arbitrary<Order> = fc.record({ slot, ifName, demand, podAnnotations });

/** An address without IPAM is the pod's, not its second interface's; and who is called without a namespace is believed. */
export function canAdd({ sandboxes }: Pick<State, "sandboxes">, { slot: at, ifName: name, podAnnotations: ofPod }: Order): boolean {
  const sandbox = sandboxes.get(at);
  const ofThere = sandbox === undefined ? ofPod : (sandbox.pod?.annotations ?? {});
  if (name !== "eth0" && ofThere.ipAddrsNoIpam !== undefined) return false;
  return sandbox === undefined || sandbox.hasNetns || sandbox.plugin === "netplug";
}

/** The same attachment is asked for as it was at first. */
export async function ask(state: State, world: World, given: Order, node: NodeName = nodeOfSlot(given.slot)): Promise<Asked> {
  const { slot: at, ifName: name, demand: wanted, podAnnotations: ofPod } = given;
  const sandbox = await requireSandbox(state, world, { at, node, podAnnotations: ofPod });
  return state.attachment(sandbox, name) ?? { sandbox, ifName: name, demand: wanted };
}

function nodeOfSlot(slot: number): NodeName {
  return NODES[slot % NODES.length] ?? NODES[0];
}

/** The slot's sandbox; a new one with a namespace, and a pod where it needs one. */
async function requireSandbox(
  state: State,
  world: World,
  { at: slot, node, podAnnotations }: { readonly at: number; readonly node: NodeName; readonly podAnnotations: PodAnnotations },
): Promise<Sandbox> {
  const there = state.sandboxes.get(slot);
  if (there !== undefined) return there;
  const plugin = IPAM_SLOTS.includes(slot) ? "netplug-ipam" : "netplug";
  const hasPod = plugin === "netplug" && (world.hasPods || POD_SLOTS.includes(slot));
  const name = `pod-${slot}`;
  const annotations = world.hasPods ? podAnnotations : {};
  const pod = hasPod ? { name, uid: await world.createPod(name, node, annotations), annotations } : undefined;
  const sandbox: Sandbox = { slot, id: world.newContainerID(), node, plugin, pod, netns: new TestNetns(), hasNetns: true, isStale: false };
  state.sandboxes.set(slot, sandbox);
  return sandbox;
}
