/** Removes addresses and records of several attachments of this node and network from the datastore. */

import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { DelRequest } from "../../endpoint/plan-del.ts";
import { toRecordQuery } from "../../endpoint/record.ts";
import { type Attachment, attachmentKeyOf } from "../../ipam/request.ts";
import { toAddressText } from "../../lib/ip/address.ts";
import type { Call } from "../call.ts";
import { attachmentOf, isOwnRecord } from "./own-records.ts";
import { withdraw } from "./withdraw.ts";

/** Attachments that one commit withdraws: with two blocks and a record each they stay within what etcd takes at once. */
export const ATTACHMENTS_PER_COMMIT = 12;

/** Whether an attachment is still to be removed: asked for each decision, so again after a conflict. */
export type IsStale = (attachment: Attachment) => boolean;

/**
 * Removes addresses and records of any number of attachments, batch by batch.
 *
 * @param records to look at besides those that allocations name
 */
export async function withdrawInBatches(
  call: Call,
  attachments: readonly Attachment[],
  records: readonly WorkloadEndpoint[],
  isStale: IsStale,
): Promise<void> {
  for (let from = 0; from < attachments.length; from += ATTACHMENTS_PER_COMMIT) {
    const batch = attachments.slice(from, from + ATTACHMENTS_PER_COMMIT);
    const keys = new Set(batch.map(attachmentKeyOf));
    const ofBatch = records.filter((record) => keys.has(attachmentKeyOf(attachmentOf(record))));
    const queries = ofBatch.map(({ metadata }) => toRecordQuery(metadata));
    await withdrawBatch(call, batch, queries, isStale);
  }
}

/**
 * Removes everything of a few attachments: with one commit, or more where their addresses lie in very many blocks.
 *
 * @param records to look at besides those that allocations name; "none": they have ended
 * @returns the keys of those that had addresses, see {@link attachmentKeyOf}
 */
export async function withdrawBatch(
  call: Call,
  attachments: readonly Attachment[],
  records: DelRequest["records"],
  isStale: IsStale = () => true,
): Promise<ReadonlySet<string>> {
  const { config, node, log } = call;
  const keys = new Set(attachments.map(attachmentKeyOf));
  const isTarget = (attachment: Attachment): boolean => keys.has(attachmentKeyOf(attachment)) && isStale(attachment);
  const request: DelRequest = {
    node,
    isTargetOwner: (owner) => owner.node === node && owner.network === config.name && isTarget(owner),
    isTargetRecord: (record) => isTarget(attachmentOf(record)) && isOwnRecord(call, record),
    records,
  };
  const found = new Set<string>();
  for (let isAll = false; !isAll;) {
    const withdrawn = await withdraw(call, request);
    for (const { address, owner } of withdrawn.released) {
      const { containerID, namespace, pod } = owner;
      // Not as "containerID" and "pod": those are the caller's, which may be another attachment's ADD or DEL.
      const ofPod = pod === undefined || namespace === undefined ? pod : `${namespace}/${pod}`;
      log.info("released address without attachment", { address: toAddressText(address), of: containerID, ofPod });
      found.add(attachmentKeyOf(owner));
    }
    ({ isAll } = withdrawn);
  }
  return found;
}
