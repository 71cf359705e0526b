/** What the suite says of test files that no test case shows. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import type { TestPart } from "../../tools/test/parts.ts";
import { type PartResult, runPart } from "../../tools/test/run-part.ts";
import { TestSandbox } from "../../tools/test/sandbox.ts";

const PART: TestPart = {
  name: "sample",
  folders: [],
  needsRoot: false,
  tools: [],
  needsBuild: false,
  testTimeoutMs: 60_000,
  timeoutMs: 60_000,
};
const PASSES = 'test("passes", () => expect(1).toBe(1));';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(repositoryRoot, "dist", "sample-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs files with these tests as a part. @returns also what they left */
async function run(part: Partial<TestPart>, ...texts: readonly string[]): Promise<PartResult & { readonly leaks: readonly string[] }> {
  using sandbox = new TestSandbox();
  const files = texts.map((text, index) => {
    const path = join(folder, `${index}.test.ts`);
    writeFileSync(path, `import { expect, test } from "bun:test";\n${text}\n`);
    return relative(repositoryRoot, path);
  });
  const result = await runPart({ ...PART, ...part }, files, [sandbox], {});
  return { ...result, leaks: sandbox.collectLeaks() };
}

const ONE_PROCESS = {};
const WORKERS = { workers: 2 };

test.each([ONE_PROCESS, WORKERS])("files whose tests pass are no trouble: %j", async (part) => {
  const { cases, troubles, leaks } = await run(part, PASSES, PASSES);
  expect([cases.length, troubles, leaks]).toEqual([2, [], []]);
});

test.each([ONE_PROCESS, WORKERS])("a file without tests is named: %j", async (part) => {
  const { troubles } = await run(part, PASSES, "expect(1).toBe(1);");
  expect(troubles).toEqual([expect.stringMatching(/1\.test\.ts ran no test$/)]);
});

test.each([ONE_PROCESS, WORKERS])("a process that a test ends is trouble, whatever its status: %j", async (part) => {
  for (const end of ["process.exit(0)", 'process.kill(process.pid, "SIGKILL")']) {
    const { cases, troubles } = await run(part, PASSES, `test("ends", () => { expect(1).toBe(1); ${end}; });`, PASSES);
    expect(troubles.length + cases.filter(({ outcome }) => outcome === "failed").length).toBeGreaterThan(0);
  }
});

test("a process that a test leaves with our output is named, and not waited for", async () => {
  const { troubles, leaks } = await run(
    {},
    'test("leaves", () => { Bun.spawn(["sleep", "304"], { stdout: "inherit", stderr: "inherit" }).unref(); expect(1).toBe(1); });',
  );
  expect([troubles, leaks]).toEqual([[], [expect.stringMatching(/^process \d+ still runs: sleep 304$/)]]);
});
