/** The model: who has which address, what gives addresses, and what is learned of a call. */

import type { TestNetns } from "../../support/node/netns.ts";
import { type Family, isWithin, withLength } from "../../support/ip-arithmetic.ts";
import type { Owner } from "./oracle.ts";

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

  /** Learns of an ADD that succeeded: older containers of the same pod have lost the name to it. */
  give(asked: Asked, addresses: readonly string[], result: object | undefined): void {
    for (const other of this.#namesakesOf(asked)) {
      other.isSuperseded = true;
      other.takenBy.add(asked.sandbox.node);
    }
    this.attachments.set(State.key(asked.sandbox, asked.ifName), { ...newAttachment(asked), addresses, result });
  }

  /** Learns of a call that was killed: what it may have left is not known. An ADD of what is complete changes nothing. */
  doubt(verb: "ADD" | "DEL", asked: Asked): void {
    const before = this.attachment(asked.sandbox, asked.ifName);
    if (verb === "ADD" && before !== undefined && !before.isUncertain && !before.isSuperseded) return;
    if (verb === "DEL" && before === undefined) return;
    if (verb === "ADD") for (const other of this.#namesakesOf(asked)) other.isUncertain = true;
    const attachment = before ?? newAttachment(asked);
    attachment.isUncertain = true;
    this.attachments.set(State.key(asked.sandbox, asked.ifName), attachment);
  }

  /** Learns of a DEL that succeeded. */
  forget({ sandbox, ifName }: Pick<Asked, "sandbox" | "ifName">): void {
    this.attachments.delete(State.key(sandbox, ifName));
  }

  /** Attachments of older containers whose names a newer one of the same pod takes. */
  #namesakesOf({ sandbox, ifName }: Asked): readonly Attachment[] {
    if (sandbox.plugin !== "netplug" || sandbox.pod === undefined) return [];
    const { name } = sandbox.pod;
    return [...this.attachments.values()].filter(
      (other) => other.sandbox !== sandbox && other.sandbox.pod?.name === name && other.ifName === ifName,
    );
  }

  /** Whether an address is never given automatically. */
  isReserved(address: string): boolean {
    return [...this.reservations.values()].flat().some((reserved) => isWithin(address, withLength(reserved)));
  }

  /** The pool in which an address lies. */
  poolOf(address: string): readonly [name: string, spec: PoolSpec] | undefined {
    return [...this.pools].find(([, { cidr }]) => isWithin(address, cidr));
  }
}

function newAttachment({ sandbox, ifName, demand }: Asked): Attachment {
  return {
    sandbox,
    ifName,
    demand,
    addresses: [],
    isWithoutIpam: sandbox.pod?.annotations.ipAddrsNoIpam !== undefined,
    result: undefined,
    isUncertain: false,
    isSuperseded: false,
    takenBy: new Set(),
  };
}

/** Whether an owner of the datastore is this attachment. */
export function isOwner({ sandbox, ifName }: Pick<Attachment, "sandbox" | "ifName">, owner: Owner): boolean {
  const { id, node } = sandbox;
  return owner.containerID === id && owner.ifName === ifName && owner.node === node && owner.network === networkOf(node, ifName);
}
