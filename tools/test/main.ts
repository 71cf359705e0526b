/** `npm test`: the checks, then every part of the suite, then the search for leftovers; closes with one line of totals. */

import { build } from "../build.ts";
import { runSteps } from "../check/main.ts";
import { ensureClusterPrograms, goForCluster } from "../prerequisites/cluster-programs.ts";
import { wantedGo } from "../prerequisites/go-compiler.ts";
import { ensureGoProgram } from "../prerequisites/go-programs.ts";
import { ensureSystemTools, requireRoot } from "../prerequisites/ensure.ts";
import { bold, dim, green, red, say, since, TaskFailure } from "../terminal.ts";
import { startJanitor } from "./janitor.ts";
import { clearLeftovers } from "./leftovers.ts";
import { maySkip } from "./needs.ts";
import type { TestPart } from "./parts.ts";
import { runPart, testFilesOf } from "./run-part.ts";
import { parseSelection } from "./selection.ts";
import { describeSkips } from "./skips.ts";
import { TestSandbox } from "./sandbox.ts";

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** The task. With `CI=true` a skipped test that could run on this machine counts as failed. */
export async function runTests(args: readonly string[]): Promise<number> {
  const selection = parseSelection(args);
  if (selection.parts.some(({ needsRoot }) => needsRoot)) requireRoot("test");
  ensureSystemTools([...new Set(selection.parts.flatMap(({ tools }) => tools))]);

  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  if (selection.withChecks) {
    say(bold("check"));
    const { passed, failed } = runSteps([]);
    totals.passed += passed;
    totals.failed += failed;
  }
  for (const cleared of await clearLeftovers()) say(dim(`cleared what a killed run left: ${cleared}`));
  const built = prepare(selection.parts, totals);
  {
    startJanitor();
    using sandboxes = new DisposableStack();
    const lanes = Math.max(...selection.parts.map((part) => part.lanes ?? 1), 1);
    const all = Array.from({ length: lanes }, (_, index) => sandboxes.use(new TestSandbox(index === 0 ? "suite" : `lane${index}`)));
    for (const part of selection.parts) {
      if (part.needsBuild && !built) {
        say(`${red("not run")} ${part.name}: the build failed`);
        totals.failed++;
        continue;
      }
      await runAndCount(part, selection.filters, all.slice(0, part.lanes ?? 1), totals);
    }
  }
  console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
  return totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}

/** @returns whether the parts that run the executable can */
function prepare(parts: readonly TestPart[], totals: Totals): boolean {
  try {
    if (parts.some(({ needsBuild }) => needsBuild)) build();
    return true;
  } catch (thrown) {
    if (!(thrown instanceof TaskFailure)) throw thrown;
    say(`${red("failed")} ${thrown.message}`);
    totals.failed++;
    return false;
  }
}

async function runAndCount(part: TestPart, filters: readonly string[], sandboxes: readonly TestSandbox[], totals: Totals): Promise<void> {
  const started = performance.now();
  const files = testFilesOf(part, filters);
  say(`${bold(part.name)} ${dim(`${files.length} file(s)`)}`);
  const variables = await prepareGoPrograms(part, totals);
  if (variables === undefined) return;
  const { cases, troubles } = await runPart(part, files, sandboxes, variables);
  const leaks = sandboxes.flatMap((sandbox) => sandbox.collectLeaks());
  const strict = process.env["CI"] === "true";
  const skipped = cases.filter(({ outcome }) => outcome === "skipped");
  const forbidden = strict ? skipped.filter(({ name }) => !maySkip(name)) : [];
  const failed =
    cases.filter(({ outcome }) => outcome === "failed").length + troubles.length + forbidden.length + (leaks.length > 0 ? 1 : 0);
  const passed = cases.filter(({ outcome }) => outcome === "passed").length;

  for (const trouble of troubles) say(`  ${red("failed")} ${trouble}`);
  for (const leak of leaks) say(`  ${red("left behind")} ${leak}`);
  for (const line of describeSkips(forbidden)) say(`  ${red("skipped, which CI=true forbids here:")} ${line}`);
  for (const line of describeSkips(skipped.filter((one) => !forbidden.includes(one)))) say(`  ${dim(`skipped: ${line}`)}`);
  say(
    `  ${failed === 0 ? green("ok") : red("failed")} ${passed} passed, ${failed} failed, ${skipped.length - forbidden.length} skipped ${dim(since(started))}`,
  );
  totals.passed += passed;
  totals.failed += failed;
  totals.skipped += skipped.length - forbidden.length;
}

/** Builds what the part needs of Go modules. @returns variables for its tests, or undefined, counted and said, when it cannot run */
async function prepareGoPrograms(part: TestPart, totals: Totals): Promise<Readonly<Record<string, string>> | undefined> {
  try {
    const hasCluster =
      part.clusterPrograms === undefined || (await ensureClusterPrograms(part.clusterPrograms, { ...process.env, ...part.variables }));
    if (part.isAboutCluster === true && !hasCluster) {
      skipCluster(totals);
      return undefined;
    }
    if (part.goProgram === undefined) return {};
    const program = await ensureGoProgram(part.goProgram.program);
    if (program !== undefined) return { [part.goProgram.variable]: program };
    say(`  ${dim(`skipped: needs ${wantedGo(part.goProgram.program.folder)}`)}`);
    totals.skipped++;
  } catch (thrown) {
    if (!(thrown instanceof TaskFailure)) throw thrown;
    say(`  ${red("failed")} ${thrown.message}`);
    totals.failed++;
  }
  return undefined;
}

/** Without a cluster too little is proved to land a change: with `CI=true` it is a failure. */
function skipCluster(totals: Totals): void {
  const reason = `the tests on a real Kubernetes cluster need ${goForCluster()} to build it`;
  if (process.env["CI"] === "true") {
    say(`  ${red("failed")} ${reason}`);
    totals.failed++;
  } else {
    say(`  ${dim(`skipped: ${reason}`)}`);
    totals.skipped++;
  }
}
