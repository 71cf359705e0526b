/** Runs the test files of one part in one process and counts what came of them. */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../repository.ts";
import { dim, say } from "../terminal.ts";
import { parseJunit } from "./junit.ts";
import type { TestCase } from "./junit.ts";
import type { TestPart } from "./parts.ts";
import type { TestSandbox } from "./sandbox.ts";

export interface PartResult {
  readonly cases: readonly TestCase[];
  /** What no test case shows: a file that does not load, a process that crashed or was ended. */
  readonly troubles: readonly string[];
}

/** The part's test files, or those of them whose path contains one of `filters`. */
export function testFilesOf(part: TestPart, filters: readonly string[]): string[] {
  const files =
    part.files ?? part.folders.flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: repositoryRoot })]);
  return files
    .filter((file) => part.without?.test(file) !== true)
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort();
}

/** Runs `files` inside `sandbox`, with `variables` in the environment; failures are printed when the part ends. */
export async function runPart(
  part: TestPart,
  files: readonly string[],
  sandbox: TestSandbox,
  variables: Readonly<Record<string, string>>,
): Promise<PartResult> {
  const report = join(sandbox.folder, `report-${part.name}.xml`);
  const command = [
    process.execPath,
    "test",
    "--only-failures",
    `--timeout=${part.testTimeoutMs}`,
    ...(part.workers === undefined ? [] : [`--parallel=${part.workers}`]),
    "--reporter=junit",
    `--reporter-outfile=${report}`,
    ...files.map((file) => `./${file}`),
  ];
  const child = Bun.spawn(sandbox.wrap(command), {
    cwd: repositoryRoot,
    env: { ...sandbox.environment(), ...part.variables, ...variables },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, part.timeoutMs);
  const [, errors, status] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  clearTimeout(timer);

  const cases = existsSync(report) ? parseJunit(readFileSync(report, "utf8")) : [];
  rmSync(report, { force: true });
  const failed = cases.filter(({ outcome }) => outcome === "failed");
  if (status !== 0) printFailures(errors);
  const troubles: string[] = [];
  if (timedOut) troubles.push(`part "${part.name}" did not end within ${part.timeoutMs / 1000} s`);
  else if (status !== 0 && failed.length === 0)
    troubles.push(`part "${part.name}" ended with status ${status} although no test failed: see above`);
  else if (cases.length === 0) troubles.push(`part "${part.name}" ran no test`);
  return { cases, troubles };
}

/** Bun's own account of what failed, without its totals. */
function printFailures(output: string): void {
  const lines = output
    .split("\n")
    .filter((line) => !/^\s+\d+ (?:pass|fail|skip|todo|expect\(\))|^Ran \d+ tests|^bun test v|^\(pass\)/.test(line));
  for (const line of lines) say(`  ${dim("│")} ${line}`);
}
