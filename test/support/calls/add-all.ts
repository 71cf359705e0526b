/** For tests: ADDs as far as the datastore goes, one as the plugin commits it, or several as an agent does. */

import { type AddOutcome, addQueries, type AddRequest, planAdds } from "../../../src/endpoint/plan-add.ts";
import { transact, type TransactPorts } from "../../../src/ipam/transact/transact.ts";

/** @returns outcomes by position of the request */
export async function addAll(ports: TransactPorts, requests: readonly AddRequest[]): Promise<readonly AddOutcome[]> {
  return await transact(ports, addQueries(requests), (facts, attempt) => {
    const plan = planAdds(requests, facts, attempt);
    return { writes: plan.writes, result: plan.outcomes };
  });
}
