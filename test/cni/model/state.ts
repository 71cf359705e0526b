/** The model: who has which address, and what gives addresses. Plain data. */

import type { TestNetns } from "../../support/node/netns.ts";
import { type Family, haveCommon, isWithin, partsOf, addressesIn } from "./arithmetic.ts";
import type { BlockView, Owner } from "./oracle.ts";

export const NODES = ["node-a", "node-b"] as const;
export type NodeName = (typeof NODES)[number];

/** Labels of the nodes, for pools that select by them. */
export const RACKS: Readonly<Record<NodeName, string>> = { "node-a": "a", "node-b": "b" };

export const IF_NAMES = ["eth0", "eth1"] as const;

/**
 * A second interface is of another network, as with Multus. GC goes by network and node: in the one kernel that both nodes share here, each
 * has networks of its own.
 */
export function networkOf(node: NodeName, ifName: string): string {
  return `model-${node}-${ifName}`;
}

export interface PoolSpec {
  readonly cidr: string;
  readonly blockSize: number;
  readonly assignmentMode?: "Manual";
  readonly disabled?: true;
  readonly nodeSelector?: string;
}

/** What an ADD asks for. Absent keys are absent in the call. */
export interface AddressDemand {
  readonly families: readonly Family[];
  /** In the network config: names or CIDRs. */
  readonly pools?: { readonly ipv4?: readonly string[]; readonly ipv6?: readonly string[] };
  /** Exactly these, and by what they are asked for. */
  readonly explicit?: { readonly via: "IP" | "args" | "runtimeConfig"; readonly addresses: readonly string[] };
}

/** Annotations of ours on a pod, as lists. */
export interface PodAnnotations {
  readonly ipv4pools?: readonly string[];
  readonly ipv6pools?: readonly string[];
  readonly ipAddrs?: readonly string[];
  readonly ipAddrsNoIpam?: readonly string[];
}

/** One container, from its first ADD until everything of it is gone. */
export interface Sandbox {
  readonly slot: number;
  readonly id: string;
  readonly node: NodeName;
  readonly plugin: "netplug" | "netplug-ipam";
  /** undefined: none is named. */
  readonly pod: { readonly name: string; readonly uid: string | undefined; readonly annotations: PodAnnotations } | undefined;
  readonly netns: TestNetns;
  hasNetns: boolean;
  /** Its pod was deleted, and made anew for another sandbox. */
  isStale: boolean;
}

export interface Attachment {
  readonly sandbox: Sandbox;
  readonly ifName: string;
  readonly demand: AddressDemand;
  /** Those of its last ADD that succeeded. */
  addresses: readonly string[];
  /** Whether they were given without IPAM. */
  isWithoutIpam: boolean;
  /** The ADD's result, for CHECK and DEL. */
  result: object | undefined;
  /** A call of it was killed: anything may be there of it, or nothing. */
  isUncertain: boolean;
  /** A newer container of the same pod name has its interface's name. */
  isSuperseded: boolean;
  /** The nodes of such containers: on each there is one record for the pod. */
  readonly takenBy: Set<NodeName>;
}

/** What an attachment is asked for by. */
export type Asked = Pick<Attachment, "sandbox" | "ifName" | "demand">;

/** How long histories may go on; for ever while a counterexample is made shorter. */
export interface Limit {
  readonly isOver: () => boolean;
}

/** Everything that the model knows. */
export class State {
  readonly pools = new Map<string, PoolSpec>();
  readonly reservations = new Map<string, readonly string[]>();
  readonly settings = { strictAffinity: false, maxBlocksPerHost: 0, autoAllocateBlocks: true };
  isReady = true;
  readonly attachments = new Map<string, Attachment>();
  /** The current one of each slot. */
  readonly sandboxes = new Map<number, Sandbox>();
  /** Besides those: of pods that were made anew. */
  readonly stale = new Set<Sandbox>();
  /** Interfaces of the host whose other end's namespace was removed: the kernel takes its time. */
  readonly ending = new Set<string>();
  /** Attachments of which a GC may leave the record. */
  readonly lingering = new Set<string>();
  /** What happened, for whoever reads a failure. */
  readonly log: string[] = [];
  readonly limit: Limit;

  constructor(limit: Limit) {
    this.limit = limit;
  }

  static key({ id }: Pick<Sandbox, "id">, ifName: string): string {
    return `${id}/${ifName}`;
  }

  attachment(sandbox: Pick<Sandbox, "id">, ifName: string): Attachment | undefined {
    return this.attachments.get(State.key(sandbox, ifName));
  }

  get everySandbox(): readonly Sandbox[] {
    return [...this.sandboxes.values(), ...this.stale];
  }

  attachmentsOf(sandbox: Sandbox): readonly Attachment[] {
    return [...this.attachments.values()].filter((one) => one.sandbox === sandbox);
  }

  /** Whether an address is never given automatically. */
  isReserved(address: string): boolean {
    return [...this.reservations.values()]
      .flat()
      .some((cidr) => isWithin(address, cidr.includes("/") ? cidr : `${cidr}/${cidr.includes(":") ? 128 : 32}`));
  }

  /** The pool in which an address lies. */
  poolOf(address: string): readonly [name: string, spec: PoolSpec] | undefined {
    return [...this.pools].find(([, { cidr }]) => isWithin(address, cidr));
  }
}

/** Whether an owner of the datastore is this attachment. */
export function isOwner({ sandbox, ifName }: Pick<Attachment, "sandbox" | "ifName">, owner: Owner): boolean {
  const { id, node } = sandbox;
  return owner.containerID === id && owner.ifName === ifName && owner.node === node && owner.network === networkOf(node, ifName);
}

/** Where an automatic address may come from, best first: the first that is not empty must be used. */
export interface Supply {
  readonly own: readonly string[];
  readonly unclaimed: readonly string[];
  readonly emptied: readonly string[];
  readonly borrowed: readonly string[];
}

/**
 * What some pools have for a node.
 *
 * @param blocks as they are stored now
 */
export function supplyOf(state: State, node: NodeName, pools: readonly PoolSpec[], blocks: readonly BlockView[], family: Family): Supply {
  const { strictAffinity, maxBlocksPerHost, autoAllocateBlocks } = state.settings;
  const isOfFamily = ({ cidr }: BlockView): boolean => cidr.includes(":") === (family === 6);
  const owned = blocks.filter((block) => block.node === node && isOfFamily(block)).length;
  const mayClaim = autoAllocateBlocks && owned < (maxBlocksPerHost || 20);
  const free = (cidr: string, allocated?: BlockView["allocated"]): readonly string[] =>
    addressesIn(cidr).filter((address) => allocated?.has(address) !== true && !state.isReserved(address));
  const supply = { own: [] as string[], unclaimed: [] as string[], emptied: [] as string[], borrowed: [] as string[] };
  for (const pool of pools) {
    const claimed = blocks.filter(({ cidr }) => haveCommon(cidr, pool.cidr));
    for (const { cidr, node: holder, allocated } of claimed) {
      const left = free(cidr, allocated);
      if (holder === node) supply.own.push(...left);
      else if (allocated.size === 0 && mayClaim) supply.emptied.push(...left);
      else if (!strictAffinity) supply.borrowed.push(...left);
    }
    // of the first pool that has one
    if (!mayClaim || supply.unclaimed.length > 0) continue;
    const places = partsOf(pool.cidr, pool.blockSize).filter((place) => !claimed.some(({ cidr }) => haveCommon(cidr, place)));
    supply.unclaimed.push(...places.flatMap((place) => free(place)));
  }
  return supply;
}
