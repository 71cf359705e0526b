/** What holds after every command: blocks, kernel and model say the same. */

import { hostInterfaceName } from "../../support/programs/cni.ts";
import { allocatedTo } from "./forecast.ts";
import { type BlockView, type KernelView, readKernel, type RecordView } from "./oracle.ts";
import { type Attachment, isOwner, type Sandbox, State } from "./state.ts";
import type { World } from "./world.ts";

/** @throws Error with everything that does not hold */
export async function verify(state: State, world: World): Promise<void> {
  const { blocks, records } = await world.stored();
  const sandboxes = [...state.everySandbox];
  const [host, ...pods] = await Promise.all([
    readKernel(),
    ...sandboxes.map(async (sandbox) => (sandbox.hasNetns ? await readKernel(sandbox.netns.netns) : undefined)),
  ]);
  const inPods = new Map(sandboxes.map((sandbox, i) => [sandbox, pods[i]]));
  const faults = [
    ...findBlockFaults(state, blocks),
    ...findRecordFaults(state, records, world.hasPods),
    ...sandboxes.flatMap((sandbox) => findPodFaults(state, sandbox, inPods.get(sandbox), blocks)),
    ...findHostFaults(state, host),
    ...findShared([...inPods].flatMap(([{ id }, view]) => (view?.links ?? []).map(({ addresses }) => [id, addresses] as const))),
  ];
  if (faults.length > 0) throw new Error(`invariants: ${faults.join("\n  ")}`);
}

function findBlockFaults(state: State, blocks: readonly BlockView[]): readonly string[] {
  const faults: string[] = [];
  const attachments = [...state.attachments.values()];
  for (const { cidr, allocated } of blocks) {
    for (const [address, owner] of allocated) {
      if (!attachments.some((one) => isOwner(one, owner)))
        faults.push(
          `leak: ${address} of block ${cidr} is allocated to ${owner.containerID} ${owner.ifName} on ${owner.node}, which has ended`,
        );
    }
  }
  faults.push(...findShared(blocks.map(({ cidr, allocated }) => [cidr, [...allocated.keys()]])));
  for (const attachment of attachments) {
    if (attachment.isUncertain) continue;
    const allocated = allocatedTo(attachment, blocks);
    const wanted = attachment.isWithoutIpam ? [] : attachment.addresses;
    if (!isSame(allocated, wanted))
      faults.push(`${nameOf(attachment)}: blocks hold [${allocated.join(", ")}] for it, want [${wanted.join(", ")}]`);
  }
  return faults;
}

/** On Kubernetes records are parts of pods, and go with them. */
function findRecordFaults(state: State, records: readonly RecordView[], arePods: boolean): readonly string[] {
  const faults: string[] = [];
  const attachments = [...state.attachments.values()].filter(({ sandbox }) => sandbox.plugin === "netplug");
  const isOf = ({ sandbox, ifName }: Attachment, record: RecordView): boolean =>
    record.containerID === sandbox.id && record.ifName === ifName;
  for (const attachment of attachments) {
    if (attachment.isUncertain || attachment.isSuperseded || (arePods && attachment.sandbox.isStale)) continue;
    const [record, second] = records.filter((one) => isOf(attachment, one));
    if (second !== undefined || !isSame(record?.addresses ?? [], attachment.addresses))
      faults.push(
        `${nameOf(attachment)}: its record has [${record?.addresses.join(", ") ?? "nothing"}], want [${attachment.addresses.join(", ")}]`,
      );
  }
  const isKnown = (record: RecordView): boolean =>
    attachments.some((one) => isOf(one, record)) || state.lingering.has(State.key({ id: record.containerID }, record.ifName));
  const ended = records.filter((record) => !isKnown(record));
  return [...faults, ...ended.map(({ containerID, ifName }) => `a record is left of ${ifName} of container ${containerID}`)];
}

function findPodFaults(state: State, sandbox: Sandbox, view: KernelView | undefined, blocks: readonly BlockView[]): readonly string[] {
  if (view === undefined) return [];
  const faults: string[] = [];
  const attachments = [...state.attachments.values()].filter((one) => one.sandbox === sandbox);
  for (const attachment of attachments) {
    const link = view.links.find(({ name }) => name === attachment.ifName);
    if (attachment.isUncertain) {
      const allocated = allocatedTo(attachment, blocks);
      const loose = (link?.addresses ?? []).filter((address) => !allocated.includes(address));
      if (loose.length > 0 && !attachment.isWithoutIpam)
        faults.push(`${nameOf(attachment)}: ${loose.join(", ")} on its interface, but not in a block`);
      continue;
    }
    const hasLink = sandbox.plugin === "netplug" && !attachment.isSuperseded;
    if (!hasLink && link !== undefined) faults.push(`${nameOf(attachment)}: has an interface with ${link.addresses.join(", ")}, want none`);
    if (hasLink && !isSame(link?.addresses ?? [], attachment.addresses))
      faults.push(
        `${nameOf(attachment)}: interface ${link === undefined ? "is missing" : `has ${link.addresses.join(", ")}`}, want ${attachment.addresses.join(", ")}`,
      );
  }
  const known = attachments.map(({ ifName }) => ifName);
  const strange = view.links.filter(({ name }) => !known.includes(name));
  return [
    ...faults,
    ...strange.map(({ name, addresses }) => `sandbox ${sandbox.id}: interface ${name} with ${addresses.join(", ")} of no attachment`),
  ];
}

function findHostFaults(state: State, view: KernelView | undefined): readonly string[] {
  const faults: string[] = [];
  const { links = [], routes = new Map<string, string>() } = view ?? {};
  const attachments = [...state.attachments.values()].filter(({ sandbox }) => sandbox.plugin === "netplug");
  const live = attachments.filter((one) => !one.isUncertain && !one.isSuperseded && one.sandbox.hasNetns);
  for (const attachment of live) {
    const name = hostSideOf(attachment);
    const link = links.find((one) => one.name === name);
    if (link?.alias?.includes(attachment.sandbox.id) !== true)
      faults.push(`${nameOf(attachment)}: host side ${name} has alias ${link?.alias ?? "(it is missing)"}`);
    for (const address of attachment.addresses) {
      if (routes.get(address) !== name)
        faults.push(`${nameOf(attachment)}: the host's route to ${address} is by ${routes.get(address) ?? "nothing"}, want ${name}`);
    }
  }
  // of a namespace that is gone the kernel takes the host side away a little later
  const names = new Set(attachments.map(hostSideOf));
  const addresses = new Set(live.flatMap((one) => one.addresses));
  const doubtful = new Set(attachments.filter((one) => !live.includes(one)).map(hostSideOf));
  for (const { name } of links)
    if (!names.has(name) && !state.ending.has(name)) faults.push(`the host has interface ${name} of no attachment`);
  for (const [address, dev] of routes) {
    if (!addresses.has(address) && !doubtful.has(dev) && !state.ending.has(dev))
      faults.push(`the host has a route to ${address} by ${dev}, which nobody has`);
  }
  return faults;
}

/** Of an attachment whose pod is named, by the pod's name. */
export function hostSideOf({ sandbox, ifName }: Pick<Attachment, "sandbox" | "ifName">): string {
  const { pod, id } = sandbox;
  return hostInterfaceName(pod === undefined ? { containerID: id } : { namespace: "default", pod: pod.name }, ifName);
}

/** For messages. */
export function nameOf({ sandbox, ifName }: Pick<Attachment, "sandbox" | "ifName">): string {
  return `${ifName} of container ${sandbox.id.slice(0, 8)} (slot ${sandbox.slot}, ${sandbox.node})`;
}

function findShared(all: readonly (readonly [who: string, addresses: readonly string[]])[]): readonly string[] {
  const users = new Map<string, string[]>();
  for (const [who, addresses] of all) for (const address of addresses) users.set(address, [...(users.get(address) ?? []), who]);
  return [...users].filter(([, who]) => who.length > 1).map(([address, who]) => `${address} is there twice: ${who.join(" and ")}`);
}

function isSame(some: readonly string[], others: readonly string[]): boolean {
  return JSON.stringify(some.toSorted()) === JSON.stringify(others.toSorted());
}
