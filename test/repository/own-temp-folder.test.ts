/** `bun test` by itself leaves nothing when it ends, and else what the next run of the suite takes for that of a killed one. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { runProgram } from "../support/programs/programs.ts";
import { RUN_MARK } from "../support/run-mark.ts";

const SAMPLE = `
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
const folder = mkdtempSync(tmpdir() + "/npgt-sample-");
afterAll(() => rmSync(folder, { recursive: true }));
test("passes if it is told to", () => expect(process.env["PASSES"]).toBe("yes"));
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(repositoryRoot, "dist", "sample-"));
  mkdirSync(join(folder, "tmp"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** @returns its status, and what it leaves in the folder for temporary files */
async function runSample(passes: "yes" | "no"): Promise<readonly [status: number, left: readonly string[]]> {
  const path = join(folder, "a.test.ts");
  writeFileSync(path, SAMPLE);
  const env = { ...process.env, [RUN_MARK]: undefined, TMPDIR: join(folder, "tmp"), PASSES: passes };
  const command = [process.execPath, "test", "--bail", `./${relative(repositoryRoot, path)}`];
  const { status } = await runProgram(command, { env, cwd: repositoryRoot });
  return [status, readdirSync(join(folder, "tmp"))];
}

test("nothing stays when all pass", async () => {
  expect(await runSample("yes")).toEqual([0, []]);
});

test("what stays after a failure is named as a run's", async () => {
  expect(await runSample("no")).toEqual([1, [expect.stringMatching(/^npgt-\d+-[^-]+$/)]]);
});
