/** `ipam release --from-report`: releases what a report of `ipam check` calls leaked, as far as it still is. */

import * as v from "valibot";
import type { Allocation } from "../../../api/ipam-block.ts";
import { EndpointsUnread, type LeakEnd, type ReportedLeak, releaseLeaks } from "../../../ipam/admin/check/leaks.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { toSourceName } from "../../../lib/source-name.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT } from "../../failures/failure.ts";
import { type Cli, note, say } from "../../io.ts";
import { count, toNumberText } from "../../output/count.ts";
import { parseValues, readInput } from "../../documents/documents.ts";
import { toTransactPorts } from "./transact-ports.ts";

const REPORT = v.object({ problems: v.array(v.object({ class: v.string(), object: v.string(), detail: v.string() })) });

/** Why an address was left; that it is over is no reason to look again. */
const LEFT: Readonly<Record<Exclude<LeakEnd, "released">, string>> = {
  over: "it is not leaked any more",
  changed: "it is leaked, but not as the report says: make another report",
  ahead: "it was given in the future, so the clock of its node was or is wrong, or this one is: release it by ipam release --ip",
  young: "it was given less than a minute ago, and an ADD may still be under way: try again",
  silent:
    "its node does not report, so its container may run on: wait for the node, or delete it if it is gone for good: kubectl delete node",
};

/** Fails when something stays that is leaked. */
export async function ipamReleaseReport(cli: Cli, source: string): Promise<number> {
  const reported = await readReport(cli, source);
  const counts: Record<LeakEnd, number> = { released: 0, over: 0, changed: 0, young: 0, ahead: 0, silent: 0 };
  const onEnd = (object: string, end: LeakEnd, allocation: Allocation | undefined): void => {
    counts[end]++;
    if (end !== "released") note(cli, `${object} left: ${LEFT[end]}`);
    else if (allocation !== undefined) say(cli, `${object} released; it was allocated to ${describeAllocation(allocation)}`);
    cli.io.progress?.tell("done", `released ${toNumberText(counts.released)} of ${toNumberText(reported.length)}`);
  };
  try {
    await withDatastore(cli, (datastore) => releaseLeaks(datastore, reported, () => toTransactPorts(cli, datastore), onEnd));
  } catch (thrown) {
    if (!(thrown instanceof EndpointsUnread)) throw thrown;
    throw new CommandFailed(`release what is leaked: ${thrown.message}, and nobody knows what these have`, { next: "ipam check" });
  } finally {
    say(cli, `released ${counts.released} of ${count(reported.length, "leaked address", "es")}`);
  }
  return counts.changed + counts.young + counts.ahead + counts.silent === 0 ? EXIT.done : EXIT.failed;
}

/** Each address once: of several reports put together, what the last one says. */
async function readReport(cli: Cli, source: string): Promise<readonly ReportedLeak[]> {
  const name = toSourceName(source);
  const [value, ...others] = await parseValues(await readInput(cli.io, source), name);
  const report = v.safeParse(REPORT, value);
  if (!report.success || others.length > 0) {
    const got = value === undefined ? "nothing" : "something else";
    throw new CommandFailed(`read ${name}: got ${got}, want a report of ipam check`, { next: "ipam check -o json" });
  }
  const leaks = report.output.problems.filter((problem) => problem.class === "leaked-address");
  return [...new Map(leaks.map((leak) => [leak.object, leak])).values()];
}
