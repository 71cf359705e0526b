/** GC: removes what belongs to no valid attachment of this node and network from the kernel, the datastore and the delegate. */

import type { AllocationOwner, AttachmentId } from "../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { deleteEmptyBlocks, findStaleOwners } from "../../ipam/gc.ts";
import type { Attachment } from "../../ipam/request.ts";
import { type Call, hasOwnIpam, isMain } from "../call.ts";
import { delegateOf } from "../delegate/address-source.ts";
import { delegateDel, delegateGc } from "../delegate/mod.ts";
import { readHold } from "../attachment-state/hold-note.ts";
import { fromFileName } from "../attachment-state/listed-files.ts";
import { tolerate, folderOf, type NodeFile } from "../attachment-state/node-files.ts";
import { removeUnfinished, removeUnfinishedOfNode } from "../attachment-state/unfinished-files.ts";
import { type Settled, settle, throwFirstFailure } from "../failures.ts";
import type { Kernel } from "../link/kernel.ts";
import { type LinkOnHost, listLinksOf, listNamelessLinks, removeNamelessLinks } from "../link/leftover-links.ts";
import { beginRemoval } from "../link/remove.ts";
import { type PendingOfDel, preparePendingOfDel } from "../pending-release/while-deleting.ts";
import { attachmentOf, isOwnRecord } from "../withdraw/own-records.ts";
import { withdrawInBatches } from "../withdraw/withdraw-many.ts";
import { withdrawPods } from "./withdraw-pods.ts";
import { transactPortsOf } from "../transact-ports.ts";
import { SortedAttachments } from "./sorted-attachments.ts";

/** The keys of the valid attachments: that of the specification, and the one of its first version, which libcni sets as well. */
const KEYS_OF_VALID = ["cni.dev/valid-attachments", "cni.dev/attachments"] as const;

/** The kernel waits some 20 ms for each removal, but for all at the same time; each holds a socket and a waiting thread. */
const MAX_REMOVALS_AT_ONCE = 16;

/** What one collection works on. */
interface Collection {
  readonly call: Call;
  readonly attachments: SortedAttachments;
}

/** What the datastore has of attachments that are not kept. */
interface Found {
  readonly owners: readonly AllocationOwner[];
  readonly records: readonly WorkloadEndpoint[];
}

/**
 * Goes on after each failure, then throws the first with the others in its details. An attachment's record is removed last: through it the
 * next GC finds what this GC could not remove.
 */
export async function collectGarbage(call: Call): Promise<void> {
  const collection: Collection = { call, attachments: new SortedAttachments(call) };
  const steps: Settled[] = [];
  const pending = endStaleHolds(collection);
  removeStaleFiles(collection, "dns");
  removeUnfinished(call);
  removeUnfinishedOfNode(call);
  if (isMain(call.plugin)) {
    // Throws where the interfaces cannot be listed: without the list nobody knows which addresses are in use.
    steps.push(...(await removeStaleLinks(collection)));
    steps.push(await settle(() => removeNameless(collection)));
  }
  const found = await settle(() => findStale(collection));
  steps.push(found, ...(await collectAtDelegate(collection)));
  if (found.ok) steps.push(...(await withdrawFound(collection, found.value)));
  if (hasOwnIpam(call)) steps.push(await settle(() => deleteEmptyBlocks(transactPortsOf(call), call.node)));
  throwFirstFailure(steps);
  for (const { drop } of pending) drop();
}

/**
 * Ends the holds of stale attachments. Runs first, so that an ADD which hangs, or was stopped, fails and undoes its work when it goes on.
 *
 * @returns the pending releases that stand until all is released: what a GC leaves that fails, or is killed, the node's next DEL does
 */
function endStaleHolds(collection: Collection): readonly PendingOfDel[] {
  const { call } = collection;
  const all: PendingOfDel[] = [];
  removeStaleFiles(collection, "attached", (attachment) => {
    const pending = hasOwnIpam(call) ? preparePendingOfDel(call, attachment) : undefined;
    const hold = tolerate(call, () => readHold(call, attachment));
    if (pending === undefined || hold === undefined) return;
    pending.write(hold);
    all.push(pending);
  });
  return all;
}

/** Removes the node's files of stale attachments, but for those of pending releases. @param beforeEach must not throw */
function removeStaleFiles(
  { call, attachments }: Collection,
  kind: NodeFile,
  beforeEach: (attachment: AttachmentId) => void = () => {},
): void {
  const { files } = call.host;
  const folder = folderOf(call, kind);
  for (const name of tolerate(call, () => files.list(folder)) ?? []) {
    const attachment = fromFileName(call, name);
    if (attachment === undefined || attachments.lookAt(attachment) === "kept") continue;
    beforeEach(attachment);
    // One that cannot be removed must not stop the removal of the others.
    tolerate(call, () => files.remove(`${folder}/${name}`));
  }
}

async function removeStaleLinks({ call, attachments }: Collection): Promise<readonly Settled[]> {
  const { kernel } = call.host;
  const links = listLinksOf(kernel, call.config.name);
  const steps: Settled[] = [];
  for (let at = 0; at < links.length; at += MAX_REMOVALS_AT_ONCE) {
    const batch = links.slice(at, at + MAX_REMOVALS_AT_ONCE).filter((link) => attachments.lookAt(link) === "stale");
    const begun = batch.map((link) => ({ link, finish: beginStaleRemoval(kernel, link) }));
    for (const { link, finish } of begun) {
      const removed = await settle(finish);
      steps.push(removed);
      // As long as the link exists, its addresses must not be given to anybody else.
      if (!removed.ok) attachments.keep(link);
      else {
        attachments.addStale(link);
        call.log.info("removed interface without attachment", { interface: link.hostName, of: link.containerID });
      }
    }
  }
  return steps;
}

/** @returns waits for the removal, and throws why it failed */
function beginStaleRemoval(kernel: Kernel, { hostName, ifName, alias }: LinkOnHost): () => void {
  try {
    const removal = beginRemoval(kernel, { hostName, podName: ifName, alias });
    return () => void removal.finish();
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function removeNameless({ call, attachments }: Collection): void {
  const { log, host } = call;
  const links = listNamelessLinks(host.kernel);
  if (links.length === 0) return;
  // One of them may be of an ADD that has not named it yet, in whatever network.
  if (attachments.isAnyAddUnderWay()) return;
  removeNamelessLinks(host.kernel, links);
  for (const { name } of links) log.info("removed interface that an ADD left unfinished", { interface: name });
}

/**
 * Finds what the datastore has of stale attachments. A record with a delegate's addresses is found only by listing all records. Where records
 * are pods they are not listed: a cluster has very many, and a pod's record ends with the pod.
 */
async function findStale({ call, attachments }: Collection): Promise<Found> {
  const { config, node, datastore } = call;
  const all = isMain(call.plugin) && !datastore.traits.recordsArePods ? await listRecords(call) : [];
  const records = all.filter((record) => attachments.lookAt(attachmentOf(record)) === "stale");
  const found = await findStaleOwners(transactPortsOf(call), { node, network: config.name, valid: attachments.kept });
  const owners = found.filter((owner) => attachments.lookAt(owner) === "stale");
  for (const attachment of [...owners, ...records.map(attachmentOf)]) attachments.addStale(attachment);
  return { owners, records };
}

/**
 * Calls the delegate's GC, then its DEL for each stale attachment: a delegate may be too old for GC, fail, or succeed without doing anything,
 * as plugins of the CNI project do that list a version with GC but do not implement it.
 */
async function collectAtDelegate({ call, attachments }: Collection): Promise<readonly Settled[]> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return [];
  attachments.lookForNewcomers();
  // Not the list of the network config: an interface that could not be removed keeps its addresses at the delegate too.
  const valid = attachments.kept.map(({ containerID, ifName }) => ({ containerID, ifname: ifName }));
  const config = { ...delegate.config, ...Object.fromEntries(KEYS_OF_VALID.map((key) => [key, valid])) };
  const steps = [await settle(() => delegateGc({ ...delegate, config }))];
  for (const attachment of attachments.stale) {
    if (attachments.lookAt(attachment) === "kept") continue;
    const environment = { ...delegate.environment, CNI_CONTAINERID: attachment.containerID, CNI_IFNAME: attachment.ifName };
    const released = await settle(() => delegateDel({ ...delegate, environment }));
    steps.push(released);
    if (!released.ok) attachments.leaveToNextGc(attachment);
  }
  return steps;
}

async function withdrawFound({ call, attachments }: Collection, { owners, records }: Found): Promise<readonly Settled[]> {
  const isTarget = (attachment: Attachment): boolean => attachments.isStale(attachment) && attachments.lookAt(attachment) === "stale";
  if (call.datastore.traits.recordsArePods) return await withdrawPods(call, owners.filter(isTarget), isTarget);
  return [await settle(() => withdrawInBatches(call, attachments.stale, records, isTarget))];
}

/** The records of this node and network. */
async function listRecords(call: Call): Promise<readonly WorkloadEndpoint[]> {
  const { datastore, deadline } = call;
  const [records] = await deadline.wait("the datastore", (signal) =>
    datastore.read([{ type: "list", kind: "WorkloadEndpoint" }], { signal }),
  );
  return records.map(({ value }) => value).filter((record) => isOwnRecord(call, record));
}
