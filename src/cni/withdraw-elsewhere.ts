/**
 * What is still done when the node has nothing of attachments, although the runtime remembers the addresses that their ADDs got: the node had
 * another name then. They lie in blocks of that name, where no other call would find them. Loaded only then.
 */

import { type DelRequest, endWritesOf, recordsNamedBy } from "../endpoint/plan-del.ts";
import { addressQueries, planReleaseAt } from "../ipam/plan-release-at.ts";
import { transact, type TransactOptions } from "../ipam/transact.ts";
import type { Address } from "../lib/ip/address.ts";
import type { Call } from "./call.ts";
import { transactPortsOf } from "./transact-ports.ts";

/** @param addresses that the ADDs got: released only where their owner is meant still @throws NetplugError */
export async function withdrawElsewhere(
  call: Call,
  addresses: readonly Address[],
  { isTargetOwner, isTargetRecord, records }: DelRequest,
  options: Pick<TransactOptions<unknown>, "beforeCommit"> = {},
): Promise<void> {
  if (addresses.length === 0) return;
  const owners = await call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      addressQueries(addresses),
      (facts, { now }) => {
        const { released, writes } = planReleaseAt(addresses, ({ owner }) => isTargetOwner(owner), facts, now);
        const theirs = released.map(({ owner }) => owner);
        const ends = records === "none" ? [] : endWritesOf(recordsNamedBy(theirs), theirs, isTargetRecord, facts);
        return { writes: [...writes, ...ends], result: theirs };
      },
      options,
    ),
  );
  for (const { node } of owners.slice(0, 1)) call.log.info("addresses released that the node got under another name", { node });
}
