/** Runs a call again where the reason of its failure can be left out: a damaged block, or addresses in use that nobody has allocated. */

import { CorruptBlock } from "../api/ipam-block-codec.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import type { FailedRun } from "./failed-run.ts";
import type { CniVerb } from "./protocol/versions.ts";

/** @throws `fault` where the call would fail again; NetplugError */
export async function runAgain(verb: CniVerb, call: Call, failed: FailedRun): Promise<void> {
  if (failed.fault instanceof CorruptBlock) await runWithoutDamaged(verb, call, failed, runElsewhere);
  else await runElsewhere(verb, call, failed, runWithoutDamaged);
}

/** @param other for the next run, if it fails in turn: without a block an ADD may be given an address in use, and without that need a damaged block */
type Remedy = (verb: CniVerb, call: Call, failed: FailedRun, other?: Remedy) => Promise<void>;

const runWithoutDamaged: Remedy = async (verb, call, { fault, run }, other) => {
  if (!(fault instanceof CorruptBlock)) throw fault;
  const { retryWithoutDamaged } = await import("./damaged-block/retry.ts");
  await retryWithoutDamaged(verb, call, { fault, run: orElse(run, other) });
};

const runElsewhere: Remedy = async (verb, call, { fault, run }, other) => {
  // A delegate knows best which addresses are in use.
  if (verb !== "ADD" || !hasOwnIpam(call)) throw fault;
  const { isRouteInTheWay } = await import("./add/address-in-use/refusal.ts");
  if (!isRouteInTheWay(fault)) throw fault;
  const { retryElsewhere } = await import("./add/address-in-use/retry.ts");
  await retryElsewhere(call, { fault, run: orElse(run, other) });
};

function orElse(run: FailedRun["run"], other: Remedy | undefined): FailedRun["run"] {
  return other === undefined ? run : (verb, call) => run(verb, call).catch((fault: unknown) => other(verb, call, { fault, run }));
}
