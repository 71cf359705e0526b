/**
 * What a DEL still does when its node has nothing of the attachment, although the runtime remembers the addresses that the ADD got: the node had
 * another name then. They lie in blocks of that name, where no other call would find them. Loaded only then.
 */

import { type DelRequest, endWritesOf, recordsNamedBy } from "../endpoint/plan-del.ts";
import { addressQueries, planReleaseAt } from "../ipam/plan-release-at.ts";
import { transact, type TransactOptions } from "../ipam/transact.ts";
import type { Call } from "./call.ts";
import { addressesOf, type CniResult } from "./protocol/result.ts";
import { transactPortsOf } from "./transact-ports.ts";

/** @param result of the ADD: its addresses are released only if they are still the attachment's @throws NetplugError */
export async function withdrawElsewhere(
  call: Call,
  result: CniResult,
  { isOwnerMeant, isRecordMeant, records }: DelRequest,
  options: Pick<TransactOptions<unknown>, "beforeCommit">,
): Promise<void> {
  const addresses = addressesOf(result).map(({ address }) => address);
  const owners = await call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      addressQueries(addresses),
      (facts, { now }) => {
        const { released, writes } = planReleaseAt(addresses, ({ owner }) => isOwnerMeant(owner), facts, now);
        const theirs = released.map(({ owner }) => owner);
        const ends = records === "none" ? [] : endWritesOf(recordsNamedBy(theirs), theirs, isRecordMeant, facts);
        return { writes: [...writes, ...ends], result: theirs };
      },
      options,
    ),
  );
  for (const { node } of owners.slice(0, 1)) call.log.info("addresses given back that the node got under another name", { node });
}
