/**
 * For an ADD that finds addresses of its attachment, but no complete interface: they may be about to be released. A DEL may have been killed
 * while its commit was on the way, and a request can arrive long after its process has ended. So the ADD writes the blocks once more, and a late
 * commit is refused. Loaded only then.
 */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import { planRenewal } from "../../ipam/plan-renewal.ts";
import { releaseQueries } from "../../ipam/plan-release.ts";
import { transact } from "../../ipam/transact/transact.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { Call } from "../call.ts";
import { transactPortsOf } from "../transact-ports.ts";

/**
 * Allocates an attachment's addresses to it once more.
 *
 * @returns false: it no longer has all of them
 * @throws {NetplugError}
 */
export async function renewAddresses(
  call: Call,
  beforeCommit: () => void,
  owner: AllocationOwner,
  addresses: readonly Address[],
): Promise<boolean> {
  const { savePrefetch: _, ...ports } = transactPortsOf(call);
  return await call.ledger.time("datastore", () =>
    transact(ports, releaseQueries(owner.node), (facts, { now }) => planRenewal(owner, addresses, facts, now), { beforeCommit }),
  );
}
