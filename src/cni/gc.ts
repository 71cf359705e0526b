/** GC: whatever of this node and network belongs to no valid attachment goes, in the kernel, in the datastore, at the delegate. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { ResourceRef } from "../datastore/datastore.ts";
import { delQueries, type DelRequest, planDel } from "../endpoint/plan-del.ts";
import { deleteEmptyBlocks, findStaleOwners } from "../ipam/gc.ts";
import { transact } from "../ipam/transact.ts";
import { type Call, delegateOf, hasOwnIpam, transactPortsOf } from "./call.ts";
import { delegateDel, delegateGc } from "./delegate/mod.ts";
import { attempt, fileOf, folderOf, fromFileName } from "./node-files.ts";
import { type Settled, settle, settleTogether, throwFirstFailure } from "./failures.ts";
import { listLinksOf, removeLink, removeNamelessLinks } from "./link/remove.ts";
import { withdrawPods } from "./withdraw-pods.ts";

/** Of this network. */
interface Attachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** What one collection works on. */
interface Collection {
  readonly call: Call;
  /** Those that stay: the valid ones, and those whose interface could not be taken away. */
  readonly kept: Map<string, Attachment>;
  /** Those that we found something of, and that go. */
  readonly stale: Map<string, Attachment>;
}

/** Of what attachments that go the datastore knows. */
interface Found {
  readonly owners: readonly AllocationOwner[];
  readonly records: readonly WorkloadEndpoint[];
}

/** Attachments that one commit withdraws: with two blocks and a record each they stay within what etcd takes at once. */
const ATTACHMENTS_PER_COMMIT = 12;

/**
 * Goes on after each failure, then throws the first with the others in its details. Of each attachment its record goes last: by it the
 * next GC finds what this one could not take away.
 */
export async function collectGarbage(call: Call): Promise<void> {
  const kept = new Map((call.config.validAttachments ?? []).map((attachment) => [keyOf(attachment), attachment]));
  const collection: Collection = { call, kept, stale: new Map() };
  const steps: Settled[] = [];
  attempt(call, () => endStaleHolds(collection));
  if (call.plugin === "netplug") {
    const listed = await settle(async () => void steps.push(...(await removeStaleLinks(collection))));
    // Without knowing which interfaces stand, nothing tells which addresses are in use.
    if (!listed.ok) throwFirstFailure([listed]);
    steps.push(await settle(() => removeNameless(call)));
  }
  let found: Found | undefined;
  steps.push(await settle(async () => void (found = await findStale(collection))), ...(await collectAtDelegate(collection)));
  if (found !== undefined) steps.push(...(await withdrawFound(collection, found)));
  if (hasOwnIpam(call)) steps.push(await settle(() => deleteEmptyBlocks(transactPortsOf(call), call.node)));
  throwFirstFailure(steps);
}

/**
 * Takes from the datastore what is left there of attachments that ended, but of none whose interface stands; some at a time, so that there
 * is less to do for whoever calls again.
 *
 * @param onCollected told of those that are done, before the next ones
 * @throws the first failure; whatever was to come after some that all failed is not tried
 */
export async function collectAttachments<T extends Attachment>(
  call: Call,
  ended: readonly T[],
  onCollected: (some: readonly T[]) => void = () => undefined,
): Promise<void> {
  const kept = new Map(listLinksOf(call.host.kernel, call.config.name).map((link) => [keyOf(link), link]));
  const collect = async (some: readonly T[]): Promise<void> => {
    const stale = new Map(some.filter((attachment) => !kept.has(keyOf(attachment))).map((attachment) => [keyOf(attachment), attachment]));
    await withdrawStale({ call, kept, stale }, []);
  };
  const steps: Settled[] = [];
  for (let from = 0; from < ended.length; from += ATTACHMENTS_PER_COMMIT) {
    const outcomes = await settleTogether(ended.slice(from, from + ATTACHMENTS_PER_COMMIT), collect);
    steps.push(...outcomes);
    onCollected(outcomes.flatMap(({ ok, item }) => (ok ? [item] : [])));
    if (outcomes.every(({ ok }) => !ok)) break;
  }
  throwFirstFailure(steps);
}

/** First: an ADD that is still under way for one of them then keeps nothing. */
function endStaleHolds({ call, kept }: Collection): void {
  for (const name of call.host.files.list(folderOf(call, "attached")) ?? []) {
    const attachment = fromFileName(call, name);
    if (attachment !== undefined && !kept.has(keyOf(attachment))) call.host.files.remove(fileOf(call, "attached", attachment));
  }
}

async function removeStaleLinks({ call, kept, stale }: Collection): Promise<readonly Settled[]> {
  const { kernel } = call.host;
  const network = call.config.name;
  const steps: Settled[] = [];
  for (const link of listLinksOf(kernel, network)) {
    if (kept.has(keyOf(link))) continue;
    const names = { hostName: link.hostName, podName: link.ifName, alias: link.alias };
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

/**
 * What the datastore knows of. Records of a delegate's addresses are found by listing: nothing else names them. On Kubernetes they are
 * pods, of which a cluster has very many, and which end by themselves.
 */
async function findStale({ call, kept, stale }: Collection): Promise<Found> {
  const { config, node, datastore } = call;
  const all = call.plugin === "netplug" && datastore.type !== "kubernetes" ? await listRecords(call) : [];
  const records = all.filter((record) => !kept.has(keyOf(attachmentOf(record))));
  const owners = await findStaleOwners(transactPortsOf(call), { node, network: config.name, valid: [...kept.values()] });
  for (const { containerID, ifName } of [...owners, ...records.map(attachmentOf)]) {
    stale.set(keyOf({ containerID, ifName }), { containerID, ifName });
  }
  return { owners, records };
}

/** A delegate that is too old for GC, or fails at it, gets a DEL for each attachment that we found. */
async function collectAtDelegate({ call, stale }: Collection): Promise<readonly Settled[]> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return [];
  let isDone = false;
  const collected = await settle(async () => {
    isDone = await delegateGc(delegate.call, delegate.ports);
  });
  const steps = [collected];
  for (const [key, attachment] of isDone ? [] : [...stale]) {
    const environment = { ...delegate.call.environment, CNI_CONTAINERID: attachment.containerID, CNI_IFNAME: attachment.ifName };
    const released = await settle(() => delegateDel({ ...delegate.call, environment }, delegate.ports));
    steps.push(released);
    if (released.ok) continue;
    stale.delete(key);
  }
  return steps;
}

async function withdrawFound(collection: Collection, { owners, records }: Found): Promise<readonly Settled[]> {
  const { call, stale } = collection;
  if (call.datastore.type !== "kubernetes") return [await settle(() => withdrawStale(collection, records))];
  const isStale = (one: Attachment): boolean => stale.has(keyOf(one));
  return await withdrawPods(call, owners.filter(isStale), {
    isRecordMeant: (record) => isOwn(call, record) && isStale(attachmentOf(record)),
    async release(some) {
      const portion = new Set(some.map(keyOf));
      while (portion.size > 0 && !(await withdraw(call, portion, "none")));
    },
    async withdraw(some) {
      const portion = new Set(some.map(keyOf));
      while (!(await withdraw(call, portion, [])));
    },
  });
}

/** Addresses and records, those of some attachments with each commit; again for those whose addresses lie in very many blocks. */
async function withdrawStale({ call, stale }: Collection, records: readonly WorkloadEndpoint[]): Promise<void> {
  const keys = [...stale.keys()];
  for (let from = 0; from < keys.length; from += ATTACHMENTS_PER_COMMIT) {
    const portion = new Set(keys.slice(from, from + ATTACHMENTS_PER_COMMIT));
    const meant = records.filter((record) => portion.has(keyOf(attachmentOf(record))));
    while (!(await withdraw(call, portion, meant)));
  }
}

/** @param records to look at besides those that allocations name; "none": they have ended @returns whether that was all */
async function withdraw(call: Call, portion: ReadonlySet<string>, records: readonly WorkloadEndpoint[] | "none"): Promise<boolean> {
  const { config, node } = call;
  const request: DelRequest = {
    node,
    isOwnerMeant: (owner) => owner.node === node && owner.network === config.name && portion.has(keyOf(owner)),
    isEndpointMeant: (record) => isOwn(call, record) && portion.has(keyOf(attachmentOf(record))),
    endpoints: records === "none" ? records : records.map(toRef),
  };
  const { released, isAll } = await transact(transactPortsOf(call), delQueries(request), (facts, { now }) => {
    const plan = planDel(request, facts, now);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan };
  });
  for (const { owner } of released) call.log.info("released address without attachment", { of: owner.containerID });
  return isAll;
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

/** A record that is a view of a pod does not know its network. */
function isOwn({ node, config }: Call, { spec }: WorkloadEndpoint): boolean {
  return spec.node === node && (spec.network ?? config.name) === config.name;
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
