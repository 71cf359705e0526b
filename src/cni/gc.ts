/** GC: whatever of this node and network belongs to no valid attachment goes, in the kernel, in the datastore, at the delegate. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { ResourceRef } from "../datastore/datastore.ts";
import { toAlias } from "../endpoint/names.ts";
import { delQueries, type DelRequest, planDel } from "../endpoint/plan-del.ts";
import { deleteEmptyBlocks, findStaleOwners } from "../ipam/gc.ts";
import { transact } from "../ipam/transact.ts";
import { type Call, delegateOf, hasOwnIpam, transactPortsOf } from "./call.ts";
import { delegateDel, delegateGc } from "./delegate/mod.ts";
import { type Settled, settle, throwFirstFailure } from "./failures.ts";
import { listLinksOf, removeLink, removeNamelessLinks } from "./link/remove.ts";

/** Of this network. */
interface Attachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** What one collection works on. */
interface Collection {
  readonly call: Call;
  /** Those that stay: the valid ones, and those whose interface could not be deleted. */
  readonly kept: Map<string, Attachment>;
  /** Those that we found something of, and that go. */
  readonly stale: Map<string, Attachment>;
}

/** Attachments that one commit withdraws: with two blocks and a record each they stay within what etcd takes at once. */
const ATTACHMENTS_PER_COMMIT = 12;

/** Goes on after each failure, then throws the first with the others in its details. */
export async function collectGarbage(call: Call): Promise<void> {
  const kept = new Map((call.config.validAttachments ?? []).map((attachment) => [keyOf(attachment), attachment]));
  const collection: Collection = { call, kept, stale: new Map() };
  const steps: Settled[] = [];
  if (call.plugin === "netplug") {
    const listed = await settle(async () => void steps.push(...(await removeStaleLinks(collection))));
    // Without knowing which interfaces stand, nothing tells which addresses are in use.
    if (!listed.ok) throwFirstFailure([listed]);
    steps.push(await settle(() => removeNameless(call)));
  }
  steps.push(await settle(() => withdrawStale(collection)));
  if (hasOwnIpam(call)) steps.push(await settle(() => deleteEmptyBlocks(transactPortsOf(call), call.node)));
  steps.push(...(await collectAtDelegate(collection)));
  throwFirstFailure(steps);
}

async function removeStaleLinks({ call, kept, stale }: Collection): Promise<readonly Settled[]> {
  const { kernel } = call.host;
  const network = call.config.name;
  const steps: Settled[] = [];
  for (const link of listLinksOf(kernel, network)) {
    if (kept.has(keyOf(link))) continue;
    const names = { hostName: link.hostName, podName: link.ifName, alias: toAlias(network, link) };
    const removed = await settle(() => removeLink(kernel, names));
    steps.push(removed);
    // While the link stands, its addresses must not be given to anybody else.
    (removed.ok ? stale : kept).set(keyOf(link), link);
    if (removed.ok) call.log.info("removed interface without attachment", { interface: link.hostName, of: link.containerID });
  }
  return steps;
}

function removeNameless(call: Call): void {
  for (const name of removeNamelessLinks(call.host.kernel))
    call.log.info("removed interface that an ADD left unfinished", { interface: name });
}

/** Addresses and records, some attachments with each commit. Records of a delegate's addresses are found by listing: nothing else names them. */
async function withdrawStale({ call, kept, stale }: Collection): Promise<void> {
  const { config, node } = call;
  const isStale = (attachment: Attachment): boolean => !kept.has(keyOf(attachment));
  const records = call.plugin === "netplug" ? (await listRecords(call)).filter((record) => isStale(attachmentOf(record))) : [];
  const owners = await findStaleOwners(transactPortsOf(call), { node, network: config.name, valid: [...kept.values()] });
  const withdrawn = new Map<string, Attachment>();
  for (const attachment of [...owners, ...records.map(attachmentOf)]) withdrawn.set(keyOf(attachment), attachment);
  const keys = [...withdrawn.keys()];
  for (let from = 0; from < keys.length; from += ATTACHMENTS_PER_COMMIT) {
    const portion = new Set(keys.slice(from, from + ATTACHMENTS_PER_COMMIT));
    await withdraw(
      call,
      portion,
      records.filter((record) => portion.has(keyOf(attachmentOf(record)))),
    );
  }
  for (const [key, attachment] of withdrawn) stale.set(key, attachment);
}

async function withdraw(call: Call, portion: ReadonlySet<string>, records: readonly WorkloadEndpoint[]): Promise<void> {
  const { config, node } = call;
  const request: DelRequest = {
    node,
    isOwnerMeant: (owner) => owner.node === node && owner.network === config.name && portion.has(keyOf(owner)),
    isEndpointMeant: (record) => isOwn(call, record) && portion.has(keyOf(attachmentOf(record))),
    endpoints: records.map(toRef),
  };
  const released = await transact(transactPortsOf(call), delQueries(request), (facts, { now }) => {
    const plan = planDel(request, facts, now);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan.released };
  });
  for (const { owner } of released) call.log.info("released address without attachment", { of: owner.containerID });
}

/** A delegate that is too old for GC gets a DEL for each attachment that we found. */
async function collectAtDelegate({ call, stale }: Collection): Promise<readonly Settled[]> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return [];
  let hasGc = true;
  const collected = await settle(async () => {
    hasGc = await delegateGc(delegate.call, delegate.ports);
  });
  if (hasGc) return [collected];
  const steps: Settled[] = [];
  for (const { containerID, ifName } of stale.values()) {
    const environment = { ...delegate.call.environment, CNI_CONTAINERID: containerID, CNI_IFNAME: ifName };
    steps.push(await settle(() => delegateDel({ ...delegate.call, environment }, delegate.ports)));
  }
  return steps;
}

/** This node's and network's. */
async function listRecords(call: Call): Promise<readonly WorkloadEndpoint[]> {
  const { datastore, deadline } = call;
  const [records] = await deadline.wait("the datastore", (signal) =>
    datastore.read([{ type: "list", kind: "WorkloadEndpoint" }], { signal }),
  );
  // The datastore gives back the kind that was asked for.
  return records.map(({ value }) => value as WorkloadEndpoint).filter((record) => isOwn(call, record));
}

function isOwn({ node, config }: Call, { spec }: WorkloadEndpoint): boolean {
  return spec.node === node && spec.network === config.name;
}

function attachmentOf({ spec }: WorkloadEndpoint): Attachment {
  return { containerID: spec.containerID ?? "", ifName: spec.endpoint };
}

function toRef({ metadata: { name, namespace } }: WorkloadEndpoint): ResourceRef {
  return { kind: "WorkloadEndpoint", name, ...(namespace !== undefined && { namespace }) };
}

/** Neither part can hold a slash. */
function keyOf({ containerID, ifName }: Attachment): string {
  return `${containerID}/${ifName}`;
}
