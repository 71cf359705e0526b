/**
 * Releases addresses that the node got under another name. The runtime remembers them, but they are in blocks of the node's former name, where
 * no other call would look for them. Loaded only where the node has nothing of such attachments under its present name.
 */

import { type DelRequest, endWritesOf, recordsNamedBy } from "../endpoint/plan-del.ts";
import { addressQueries, planReleaseAt } from "../ipam/plan-release-at.ts";
import { transact, type TransactOptions } from "../ipam/transact.ts";
import type { Address } from "../lib/ip/address.ts";
import type { Call } from "./call.ts";
import { addressesOf } from "./protocol/result.ts";
import { transactPortsOf } from "./transact-ports.ts";

/** {@link withdrawElsewhere} of what the runtime remembers of the call's own attachment. */
export async function withdrawRemembered(
  call: Call,
  request: DelRequest,
  options: Pick<TransactOptions<unknown>, "beforeCommit">,
): Promise<void> {
  const { prevResult } = call.config;
  const addresses = prevResult === undefined ? [] : addressesOf(prevResult).map(({ address }) => address);
  await withdrawElsewhere(call, addresses, request, options);
}

/** @param addresses that the ADDs got; only those are released that still belong to the target of the request @throws NetplugError */
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
