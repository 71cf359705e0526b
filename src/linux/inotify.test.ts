import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "./fd.ts";
import { watchDirectory } from "./inotify.ts";

const root = mkdtempSync(join(tmpdir(), "npgt-inotify-"));
afterAll(() => rmSync(root, { recursive: true }));

function freshFolder(name: string): string {
  const folder = join(root, name);
  mkdirSync(folder);
  return folder;
}

test.each([
  ["a file that is written", (folder: string) => writeFileSync(join(folder, "f"), "x")],
  [
    "a file that is renamed into place",
    (folder: string) => (writeFileSync(`${folder}.new`, "x"), renameSync(`${folder}.new`, join(folder, "f"))),
  ],
  ["a link that is made", (folder: string) => symlinkSync("/nonexistent", join(folder, "f"))],
  ["the folder's end", (folder: string) => rmSync(folder, { recursive: true })],
])("tells of %s", async (name, change) => {
  const folder = freshFolder(name.replaceAll(" ", "-"));
  const changed = Promise.withResolvers<void>();
  using watch = watchDirectory(folder, changed.resolve);
  expect(watch).toBeDefined();
  change(folder);
  await changed.promise;
});

test("is silent after its end, and keeps nothing open", async () => {
  const folder = freshFolder("ended");
  let calls = 0;
  const before = Fd.openCount();
  watchDirectory(folder, () => calls++)?.[Symbol.dispose]();
  expect(Fd.openCount()).toBe(before);
  const other = Promise.withResolvers<void>();
  using _ = watchDirectory(folder, other.resolve);
  writeFileSync(join(folder, "f"), "x");
  await other.promise;
  expect(calls).toBe(0);
});

test("gives undefined for what is no folder", () => {
  writeFileSync(join(root, "file"), "");
  expect([join(root, "missing"), join(root, "file")].map((path) => watchDirectory(path, () => {}))).toEqual([undefined, undefined]);
});
