/**
 * Releases addresses that this node allocated under a former name. The runtime remembers them, but they are in blocks of that name, where no
 * other call would look for them. Loaded only when the node has nothing of the attachment under its present name.
 */

import { type DelRequest, endWritesOf, recordsNamedBy } from "../../endpoint/plan-del.ts";
import { addressQueries, planReleaseAt } from "../../ipam/plan-release-at.ts";
import { transact, type TransactOptions } from "../../ipam/transact/transact.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { Call } from "../call.ts";
import { transactPortsOf } from "../transact-ports.ts";

/** @param addresses that the ADDs got; released only while they still belong to a target of the request @throws NetplugError */
export async function withdrawElsewhere(
  call: Call,
  addresses: readonly Address[],
  { isTargetOwner, isTargetRecord, records }: DelRequest,
  options: Pick<TransactOptions<unknown>, "beforeCommit"> = {},
): Promise<void> {
  if (addresses.length === 0) return;
  const formerOwners = await call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      addressQueries(addresses),
      (facts, { now }) => {
        const { released, writes } = planReleaseAt(addresses, ({ owner }) => isTargetOwner(owner), facts, now);
        const owners = released.map(({ owner }) => owner);
        const ends = records === "none" ? [] : endWritesOf(recordsNamedBy(owners), owners, isTargetRecord, facts);
        return { writes: [...writes, ...ends], result: owners };
      },
      options,
    ),
  );
  for (const { node } of formerOwners.slice(0, 1)) call.log.info("addresses released that the node got under another name", { node });
}
