/** Removes addresses and records of attachments from the datastore: for DEL, GC, and a failed ADD. */

import { delQueries, type DelRequest, planDel } from "../../endpoint/plan-del.ts";
import { runtimeUidOf } from "../../endpoint/names.ts";
import { mayBeOf } from "../../endpoint/record.ts";
import { isSameAttachment } from "../../ipam/block.ts";
import type { ReleasePlan } from "../../ipam/plan-release.ts";
import { transact, type TransactOptions } from "../../ipam/transact/transact.ts";
import { attachmentIdOf, recordQueryOfCall } from "../call-requests.ts";
import type { Call } from "../call.ts";
import { transactPortsOf } from "../transact-ports.ts";

/** Removes as much as one commit can. @throws NetplugError tryAgainLater when the datastore is away */
export async function withdraw(call: Call, request: DelRequest, options: TransactOptions<ReleasePlan> = {}): Promise<ReleasePlan> {
  return await call.ledger.time("datastore", () =>
    transact<ReleasePlan>(
      transactPortsOf(call),
      delQueries(request),
      (known, { now }) => {
        const plan = planDel(request, known, now);
        return { writes: plan.writes, result: plan };
      },
      options,
    ),
  );
}

/** Everything of the call's own attachment. */
export function toDelRequest(call: Call): DelRequest {
  const id = attachmentIdOf(call);
  const uid = call.datastore.traits.recordsArePods ? call.args.pod?.uid : undefined;
  return {
    node: call.node,
    isTargetOwner: (owner) => isSameAttachment(owner, id),
    isTargetRecord: (record) =>
      record.spec.containerID === id.containerID &&
      record.spec.endpoint === id.ifName &&
      mayBeOf(record, id.network) &&
      // A copy of the pod has its annotations, too.
      (uid === undefined || uid === runtimeUidOf(record.metadata)),
    records: call.plugin === "netplug-ipam" ? [] : [recordQueryOfCall(call)],
  };
}
