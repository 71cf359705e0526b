/** Runs a call again where the reason of its failure can be left out: a damaged block, or addresses in use that nobody has allocated. */

import { CorruptBlock } from "../api/ipam-block-codec.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import type { FailedRun } from "./failed-run.ts";
import type { CniVerb } from "./protocol/versions.ts";

/** @throws `fault` where the call would fail again; NetplugError */
export async function runAgain(verb: CniVerb, call: Call, { fault, run }: FailedRun): Promise<void> {
  if (!(fault instanceof CorruptBlock)) return await runElsewhere(verb, call, { fault, run });
  const { retryWithoutDamaged } = await import("./damaged-block/retry.ts");
  // Without the block an ADD may be given an address in use.
  const runWithout: FailedRun["run"] = (_verb, without) =>
    run(verb, without).catch((second: unknown) => runElsewhere(verb, without, { fault: second, run }));
  await retryWithoutDamaged(verb, call, { fault, run: runWithout });
}

async function runElsewhere(verb: CniVerb, call: Call, { fault, run }: FailedRun): Promise<void> {
  // A delegate knows best which addresses are in use.
  if (verb !== "ADD" || !hasOwnIpam(call)) throw fault;
  const { isRouteInTheWay } = await import("./add/address-in-use/refusal.ts");
  if (!isRouteInTheWay(fault)) throw fault;
  const { retryElsewhere } = await import("./add/address-in-use/retry.ts");
  await retryElsewhere(call, { fault, run });
}
