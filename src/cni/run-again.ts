/** Runs a call again where the reason of its failure can be left out: a damaged block, or addresses in use that nobody has allocated. */

import { CorruptBlock } from "../api/ipam-block-codec.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import type { FailedRun } from "./failed-run.ts";
import type { CniVerb } from "./protocol/versions.ts";

/** Runs the call again without the reason of its failure. @returns false where it does not know how */
type Remedy = (verb: CniVerb, call: Call, failed: FailedRun) => Promise<boolean>;

/**
 * Tries each remedy once, both where one failure follows on the other: an ADD that leaves out a damaged block may be given an address in use, and
 * one that leaves out that address may come to a damaged block.
 *
 * @throws `fault` where the call would fail again; NetplugError
 */
export async function runAgain(
  verb: CniVerb,
  call: Call,
  { fault, run }: FailedRun,
  remedies: readonly Remedy[] = [leaveOutDamaged, takeOtherAddresses],
): Promise<void> {
  for (const remedy of remedies) {
    const others = remedies.filter((other) => other !== remedy);
    const again: FailedRun["run"] = (next) => run(next).catch((thrown: unknown) => runAgain(verb, next, { fault: thrown, run }, others));
    if (await remedy(verb, call, { fault, run: again })) return;
  }
  throw fault;
}

async function leaveOutDamaged(verb: CniVerb, call: Call, { fault, run }: FailedRun): Promise<boolean> {
  if (!(fault instanceof CorruptBlock)) return false;
  await (await import("./damaged-block/retry.ts")).retryWithoutDamaged(verb, call, { fault, run });
  return true;
}

async function takeOtherAddresses(verb: CniVerb, call: Call, { fault, run }: FailedRun): Promise<boolean> {
  // A delegate knows best which addresses are in use.
  if (verb !== "ADD" || !hasOwnIpam(call)) return false;
  const { isAddressInUse } = await import("./add/address-in-use/refusal.ts");
  if (!isAddressInUse(fault)) return false;
  await (await import("./add/address-in-use/retry.ts")).retryElsewhere(call, { fault, run });
  return true;
}
