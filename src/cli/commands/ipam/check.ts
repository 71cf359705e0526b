/** `ipam check`: what contradicts itself between pools, blocks and endpoints. */

import { checkConsistency, type CheckReport } from "../../../ipam/admin/check/check.ts";
import type { ServiceCidr } from "../../../ipam/admin/pools/pools-over-services.ts";
import type { ProblemClass } from "../../../ipam/admin/check/problems.ts";
import { withDatastore } from "../../access/access.ts";
import { EXIT } from "../../failures/failure.ts";
import { toCommandLine } from "../../failures/suggested-commands.ts";
import { type Cli, note, type OpenKube, say } from "../../io.ts";
import { count } from "../../output/count.ts";
import { toWarningText } from "../../output/pool-warning.ts";
import { toReportText } from "../../output/json-yaml.ts";
import type { ReportFormat } from "../../output/format.ts";
import { toTable } from "../../output/table.ts";
import { noteIfNeverInitialised } from "../../resources/never-initialised.ts";
import { tellingPauses } from "./telling-pauses.ts";

/** Without `output` people get a table, and are told what releases leaked addresses. */
export interface CheckFlags {
  readonly output?: ReportFormat;
}

/**
 * Fails when there are problems, so that scripts notice, and when something could not be read, because that may hide problems. Warnings are about
 * pools that somebody should look at: nothing contradicts itself yet, so they do not count.
 */
export async function ipamCheck(cli: Cli, flags: CheckFlags): Promise<number> {
  const report = await withDatastore(cli, async (datastore, openKube) => {
    const readCidrs = async () => (openKube === undefined ? [] : await readServices(cli, openKube));
    const clock = tellingPauses(cli.io.clock, cli.io.progress, "looks again at what may be under way");
    const found = await checkConsistency(datastore, clock, readCidrs);
    if (found.pools + found.blocks === 0 && flags.output === undefined) await noteIfNeverInitialised(cli, datastore);
    return found;
  });
  const { problems, unread } = report;
  const gap = unread.length === 0 ? undefined : `the check is not complete: ${count(unread.length, "object")} could not be read`;
  for (const { detail } of unread) note(cli, `${detail}; what depends on it is not checked`);
  if (flags.output === undefined) {
    sayReport(cli, report);
    if (gap !== undefined) say(cli, gap);
    for (const next of adviceFor(cli, report)) note(cli, `next: ${next}`);
  } else {
    cli.io.stdout.write(toReportText(flags.output, report));
    if (gap !== undefined) note(cli, gap);
  }
  return problems.length + unread.length === 0 ? EXIT.done : EXIT.failed;
}

function sayReport(cli: Cli, { problems, warnings, pools, blocks, allocations, endpoints }: CheckReport): void {
  const counted = [count(pools, "pool"), count(blocks, "block"), count(allocations, "allocation"), count(endpoints, "endpoint")];
  say(cli, `checked ${counted.join(", ")}`);
  if (problems.length > 0) {
    const rows = problems.map((problem) => [problem.class, problem.object, problem.detail]);
    cli.io.stdout.write(toTable(["CLASS", "OBJECT", "DETAIL"], rows, { colour: cli.io.stdout.isTerminal }));
  }
  for (const warning of warnings) say(cli, toWarningText(warning));
  say(cli, `found ${count(problems.length, "problem")}${warnings.length === 0 ? "" : `, ${count(warnings.length, "warning")}`}`);
}

/** What to do about the problems, where a command helps. */
function* adviceFor(cli: Cli, { problems, silentLeaks }: CheckReport): Generator<string> {
  const countOf = (wanted: ProblemClass): number => problems.filter((problem) => problem.class === wanted).length;
  const has = (wanted: ProblemClass): boolean => countOf(wanted) > 0;
  if (has("outside-pool")) yield "create the pool of the addresses in no pool again, or recreate the workloads that have them";
  // Not released: each such pod has its address until its DEL.
  if (has("unrecorded-in-use")) yield "recreate each pod whose address is not recorded: kubectl delete pod -n NAMESPACE NAME";
  if (has("misnamed-node"))
    yield `on the node of each record, as root: ${toCommandLine(cli, "ipam adopt --node=NODE --instead-of=OTHER-NODE")}`;
  // A node whose kubelet is down runs on containers whose pods are gone.
  if (countOf("leaked-address") > silentLeaks) yield `if their containers are gone for good: ${toRelease(cli)}`;
  else if (silentLeaks > 0) yield "wait for the nodes that do not report, or delete each that is gone for good: kubectl delete node NODE";
  else if (has("unallocated-in-use")) {
    const adopt = toCommandLine(cli, "ipam adopt --node=NODE");
    yield `recreate the workloads, or if they have their interfaces still, on the node of each, as root: ${adopt}`;
  }
}

/** Says so when they cannot be read: no warning then means nothing. */
async function readServices(cli: Cli, openKube: OpenKube): Promise<readonly ServiceCidr[]> {
  const { readServiceCidrs } = await import("../../kubernetes/service-cidrs.ts");
  return await readServiceCidrs(openKube, ({ message }) => note(cli, `pools are not compared with Services: ${message}`));
}

/** Leaves addresses of ADDs that may be under way, of which `ipam release --ip` knows nothing: on Kubernetes they are allocated before they are recorded. */
function toRelease(cli: Cli): string {
  return `${toCommandLine(cli, "ipam check -o json")} | ${toCommandLine(cli, "ipam release --from-report=-")}`;
}
