/**
 * An ADD that finds addresses of its attachment, but no complete interface. A DEL may have been killed when its commit was on the way, and a
 * request can arrive long after the end of its process. So the addresses are given again, and that commit is refused. Loaded only then.
 */

import type { AllocationOwner } from "../api/ipam-block.ts";
import { planRenewal } from "../ipam/plan-renewal.ts";
import { releaseQueries } from "../ipam/plan-release.ts";
import { transact } from "../ipam/transact.ts";
import type { Address } from "../lib/ip/address.ts";
import type { Call } from "./call.ts";
import { transactPortsOf } from "./transact-ports.ts";

/**
 * Gives an attachment the addresses that it has.
 *
 * @returns false: it does not have them any more
 * @throws {NetplugError}
 */
export async function renew(call: Call, beforeCommit: () => void, owner: AllocationOwner, addresses: readonly Address[]): Promise<boolean> {
  const { savePrefetch: _, ...ports } = transactPortsOf(call);
  return await call.ledger.time("datastore", () =>
    transact(ports, releaseQueries(owner.node), (facts, { now }) => planRenewal(owner, addresses, facts, now), { beforeCommit }),
  );
}
