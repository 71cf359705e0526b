/**
 * Loaded before every test file (`bunfig.toml`): `bun test` by itself, too, has a temp folder named like that of a run of the suite. What
 * stays in it when the process is killed, or ends at a failure by `--bail` and calls no `afterAll()`, the next run of the suite clears.
 */

import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RUN_MARK } from "./run-mark.ts";

if (process.env[RUN_MARK] === undefined) {
  const outer = tmpdir();
  const folder = mkdtempSync(join(outer, `npgt-${process.pid}-`));
  process.env["TMPDIR"] = folder;
  afterAll(() => {
    process.env["TMPDIR"] = outer;
    rmSync(folder, { recursive: true, force: true });
  });
}
