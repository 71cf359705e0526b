/** Runs the test files of one part and counts what came of them. */

import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
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

/**
 * Runs `files`, with `variables` in the environment; failures are printed when they are known. With one sandbox all run in one process;
 * with several each runs in a process of its own, in a sandbox that no other is in meanwhile.
 */
export async function runPart(
  part: TestPart,
  files: readonly string[],
  sandboxes: readonly TestSandbox[],
  variables: Readonly<Record<string, string>>,
): Promise<PartResult> {
  const end = performance.now() + part.timeoutMs;
  const queue = sandboxes.length === 1 ? [files] : longestFirst(part, files).map((file) => [file]);
  const results: PartResult[] = [];
  const runLane = async (sandbox: TestSandbox): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      results.push(await runFiles({ part, files: next, sandbox, variables, end }));
  };
  await Promise.all(sandboxes.map(runLane));
  return { cases: results.flatMap(({ cases }) => cases), troubles: results.flatMap(({ troubles }) => troubles) };
}

/** So that no lane begins a long one when the others are done: the slow ones, then the others by their size. */
export function longestFirst({ slow = [] }: Pick<TestPart, "slow">, files: readonly string[]): readonly string[] {
  const lengthOf = (file: string): number => (slow.includes(file) ? Number.MAX_SAFE_INTEGER : statSync(join(repositoryRoot, file)).size);
  return files.toSorted((a, b) => lengthOf(b) - lengthOf(a));
}

interface FilesOrder {
  readonly part: TestPart;
  readonly files: readonly string[];
  readonly sandbox: TestSandbox;
  readonly variables: Readonly<Record<string, string>>;
  /** In milliseconds of `performance.now()`. */
  readonly end: number;
}

async function runFiles({ part, files, sandbox, variables, end }: FilesOrder): Promise<PartResult> {
  const [report, errors] = [join(sandbox.folder, `report-${part.name}.xml`), join(sandbox.folder, `errors-${part.name}`)];
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
    stdout: "ignore",
    // no pipe, which ends only when all have ended that a test has left with it
    stderr: Bun.file(errors),
  });
  let timedOut = false;
  const timer = setTimeout(
    () => {
      timedOut = true;
      child.kill("SIGKILL");
    },
    Math.max(0, end - performance.now()),
  );
  const status = await child.exited;
  clearTimeout(timer);

  const cases = existsSync(report) ? parseJunit(readFileSync(report, "utf8")) : [];
  if (status !== 0) printFailures(readFileSync(errors, "utf8"));
  for (const file of [report, errors]) rmSync(file, { force: true });
  const what = files.length === 1 ? (files[0] ?? "") : `part "${part.name}"`;
  const troubles: string[] = [];
  if (timedOut) troubles.push(`${what} did not end within the ${part.timeoutMs / 1000} s of its part`);
  else if (status !== 0 && !cases.some(({ outcome }) => outcome === "failed"))
    troubles.push(`${what} ended with status ${status} although no test failed: see above`);
  else if (cases.length === 0) troubles.push(`${what} ended with status ${status}, and without a report: does a test end the process?`);
  else troubles.push(...files.filter((file) => !cases.some((one) => one.file === file)).map((file) => `${file} ran no test`));
  return { cases, troubles };
}

/** Bun's own account of what failed, without its totals. */
function printFailures(output: string): void {
  const lines = output
    .split("\n")
    .filter((line) => !/^\s+\d+ (?:pass|fail|skip|todo|expect\(\))|^Ran \d+ tests|^bun test v|^\(pass\)/.test(line));
  for (const line of lines) say(`  ${dim("│")} ${line}`);
}
