/** `npm run check`: what can be judged without running the product. */

import { checkGenerated } from "../generate/main.ts";
import { repositoryRoot } from "../repository.ts";
import { dim, green, red, say, since, TaskFailure } from "../terminal.ts";
import { checkArchitecture } from "./architecture.ts";
import { checkFormat } from "./format.ts";
import type { CheckStep } from "./problem.ts";
import { checkDeadCode, checkLint, checkTypes } from "./programs.ts";

/** Every step, by the name that `npm run check -- NAME` takes. */
export const CHECK_STEPS: readonly CheckStep[] = [
  { name: "format", run: checkFormat },
  { name: "lint", run: checkLint },
  { name: "types", run: checkTypes },
  { name: "architecture", run: () => checkArchitecture(repositoryRoot) },
  { name: "dead-code", run: checkDeadCode },
  { name: "generated", run: checkGenerated },
];

export const CHECK_USAGE = `npm run check
npm run check -- NAME…    one or several of ${CHECK_STEPS.map(({ name }) => name).join(", ")}`;

/**
 * Runs the steps named, or all, and prints what they find.
 *
 * @returns how many steps passed and failed
 */
export function runSteps(names: readonly string[]): { readonly passed: number; readonly failed: number } {
  const unknown = names.find((name) => !CHECK_STEPS.some((step) => step.name === name));
  if (unknown !== undefined)
    throw new TaskFailure(`no check is called "${unknown}": want one of ${CHECK_STEPS.map(({ name }) => name).join(", ")}`);
  let failed = 0;
  const steps = CHECK_STEPS.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const step of steps) {
    const started = performance.now();
    const problems = step.run();
    say(`${problems.length === 0 ? green("ok") : red(`${problems.length} problem(s)`)} ${step.name} ${dim(since(started))}`);
    for (const problem of problems) say(`  ${problem}`);
    if (problems.length > 0) failed++;
  }
  return { passed: steps.length - failed, failed };
}

/** The task. */
export async function runCheck(args: readonly string[]): Promise<number> {
  return runSteps(args).failed === 0 ? 0 : 1;
}
