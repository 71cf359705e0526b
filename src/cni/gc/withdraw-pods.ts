/**
 * The datastore's part of a GC where records are pods. Ending a record takes one request, and the client's rate limit allows only a few per
 * second. So the work is done in batches: when time runs out nothing is inconsistent, and the next GC does the rest.
 *
 * ```
 *   each owner's record ──read──▶ need not end: its addresses are released at once
 *                                 must end: batch by batch; then, or when time runs out, the addresses of those that have ended
 * ```
 */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { Write } from "../../datastore/datastore.ts";
import { planRecordEnds, type RecordEnd, recordQueries } from "../../endpoint/plan-record-ends.ts";
import { readFacts } from "../../ipam/transact/transact.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Call } from "../call.ts";
import { type Settled, settle } from "../failures.ts";
import { transactPortsOf } from "../transact-ports.ts";
import { settleBatch } from "../withdraw/settle-batch.ts";
import { attachmentOf, isOwnRecord } from "../withdraw/own-records.ts";
import { type IsStale, withdrawBatch } from "../withdraw/withdraw-many.ts";

/** Owners whose records are read together: half of a GC's time is enough for their requests, also if `qps` is 5. */
const OWNERS_AT_ONCE = 125;

/** Records that end together: few enough that the rate limit delays none of their requests beyond a request's time limit. */
const RECORDS_AT_ONCE = 12;

/** Milliseconds reserved for releasing the addresses of ended records. */
const RELEASE_MS = 10_000;

/**
 * Goes on after each failure.
 *
 * @param isStale asked again before each request that ends records: those before it take their time
 */
export async function withdrawPods(call: Call, owners: readonly AllocationOwner[], isStale: IsStale): Promise<readonly Settled[]> {
  const steps: Settled[] = [];
  for (let from = 0; from < owners.length; from += OWNERS_AT_ONCE) {
    const some = owners.slice(from, from + OWNERS_AT_ONCE);
    const withdrawn = await settle(() => withdrawSome(call, some, isStale));
    steps.push(...(withdrawn.ok ? withdrawn.value : [withdrawn]));
  }
  return steps;
}

async function withdrawSome(call: Call, owners: readonly AllocationOwner[], isStale: IsStale): Promise<readonly Settled[]> {
  const isTargetRecord = (record: WorkloadEndpoint): boolean => isStale(attachmentOf(record)) && isOwnRecord(call, record);
  const facts = await readFacts({ ...transactPortsOf(call), mayLag: false }, recordQueries(owners));
  const { condition, ends } = planRecordEnds(owners, isTargetRecord, facts);
  const waiting = new Set(ends.flatMap((end) => end.owners));
  const release = async (free: readonly AllocationOwner[]): Promise<void> => {
    if (free.length > 0) await withdrawBatch(call, free, "none", isStale);
  };
  const steps = [await settle(() => release(owners.filter((owner) => !waiting.has(owner))))];
  const ended: AllocationOwner[] = [];
  for (let from = 0; from < ends.length; from += RECORDS_AT_ONCE) {
    if (call.deadline.remainingMs() < RELEASE_MS) {
      steps.push({ ok: false, error: tooMany(ends.length - from) });
      break;
    }
    const still = ends.slice(from, from + RECORDS_AT_ONCE).filter((end) => end.owners.every(isStale));
    if (still.length === 0) continue;
    const outcomes = await settleBatch(still, (some) => endRecords(call, condition, some, isStale));
    for (const outcome of outcomes) {
      if (outcome.ok) ended.push(...outcome.item.owners);
      else steps.push(outcome);
    }
    if (outcomes.every(({ ok }) => !ok)) break;
  }
  return [...steps, await settle(() => release(ended))];
}

/** Ends records as they were read. After a conflict, some have changed: reads all again, ends what is still stale, and releases its addresses. */
async function endRecords(call: Call, condition: Write, ends: readonly RecordEnd[], isStale: IsStale): Promise<void> {
  const writes = [condition, ...ends.map(({ write }) => write)];
  const { committed } = await call.deadline.wait("the datastore", (signal) => call.datastore.commit(writes, { signal }));
  const owners = ends.flatMap((end) => end.owners);
  if (!committed) await withdrawBatch(call, owners, [], isStale);
}

function tooMany(left: number): NetplugError {
  const text = `end the records of ${left} more pods: the time is over, and the next GC goes on; raise qps where there are so many`;
  return new NetplugError("tryAgainLater", text);
}
