import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "./fd.ts";
import { openLog, type PartedFile } from "./input.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-input-"));
const path = join(folder, "cni.log");

afterAll(() => rmSync(folder, { recursive: true }));

async function open(text?: string): Promise<PartedFile> {
  if (text !== undefined) writeFileSync(path, text);
  const log = await openLog(path);
  if (log === undefined) throw new Error("the log is not there");
  return log;
}

async function read(log: PartedFile, start: number, end: number): Promise<string> {
  return new TextDecoder().decode(await log.read(start, end));
}

test("a log that is open stays the same file, whatever becomes of its name", async () => {
  using log = await open("first\n");
  const rotated = join(folder, "cni-2026-11-21T12-00-00.000.log");
  renameSync(path, rotated);
  using next = await open("next\n");
  using again = await openLog(rotated);
  expect([again?.id === log.id, next.id === log.id]).toEqual([true, false]);
  unlinkSync(rotated);
  expect([log.sizeBytes, await read(log, 2, 6), await read(next, 0, 5)]).toEqual([6, "rst\n", "next\n"]);
});

test("of a log that has become shorter the part that is left is read", async () => {
  using log = await open("0123456789");
  truncateSync(path, 4);
  expect([await read(log, 2, 10), await read(log, 5, 10)]).toEqual(["23", ""]);
});

test("a log that is renamed at any moment is there, or is not; and each is closed", async () => {
  using _log = await open("");
  const before = Fd.openCount();
  const renames = `const { renameSync } = require("node:fs"); for (;;) { renameSync("cni.log", "old.log"); renameSync("old.log", "cni.log"); }`;
  await using _renamer = Bun.spawn([process.execPath, "-e", renames], { cwd: folder });
  const seen = { there: 0, gone: 0 };
  const began = performance.now();
  while (Math.min(seen.there, seen.gone) < 200 && performance.now() - began < 20_000) {
    using log = await openLog(path);
    seen[log === undefined ? "gone" : "there"]++;
  }
  expect([Math.min(seen.there, seen.gone), Fd.openCount()]).toEqual([200, before]);
});
