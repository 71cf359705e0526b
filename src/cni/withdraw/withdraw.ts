/** Removes addresses and records of attachments from the datastore: for DEL, GC, and a failed ADD. */

import { delQueries, type DelRequest, planDel } from "../../endpoint/plan-del.ts";
import type { ReleasePlan } from "../../ipam/plan-release.ts";
import { transact, type TransactOptions } from "../../ipam/transact/transact.ts";
import type { Call } from "../call.ts";
import { transactPortsOf } from "../transact-ports.ts";

/**
 * Removes as much as one commit can.
 *
 * @returns what was removed; not `isAll` where a request for many attachments must be carried out again for the rest
 * @throws NetplugError tryAgainLater when the datastore is away
 */
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
