/** A log file that many processes share, on a real file system. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const WRITERS = 10;
const LINES = 1000;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "npgt-log-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Limits {
  readonly maxSizeBytes: number;
  readonly maxCount: number;
}

/** Lets several processes write at once; gives what they complained about. */
async function write(path: string, writers: number, lines: number, { maxSizeBytes, maxCount }: Limits): Promise<string> {
  const children = Array.from({ length: writers }, (_, i) =>
    Bun.spawn(
      [
        process.execPath,
        join(import.meta.dir, "write-lines.ts"),
        path,
        `writer-${i}`,
        String(lines),
        String(maxSizeBytes),
        String(maxCount),
      ],
      {
        stdout: "pipe",
        stderr: "pipe",
      },
    ),
  );
  const outputs = await Promise.all(children.map(async (child) => (await child.stdout.text()) + (await child.stderr.text())));
  return outputs.join("");
}

function linesOf(path: string): { containerID: string; number: number }[] {
  const text = readFileSync(path, "utf8");
  expect(text).toEndWith("\n");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { containerID: string; number: number });
}

test("no line is lost or torn when many processes write and rotate at once", async () => {
  const path = join(folder, "all", "deeper", "cni.log");
  expect(await write(path, WRITERS, LINES, { maxSizeBytes: 20_000, maxCount: 10_000 })).toBe("");
  const files = readdirSync(join(folder, "all", "deeper")).toSorted();
  const lines = files.flatMap((name) => linesOf(join(folder, "all", "deeper", name)));
  const seen = lines.map(({ containerID, number }) => `${containerID}/${number}`);
  expect(new Set(seen).size).toBe(WRITERS * LINES);
  expect(seen).toHaveLength(WRITERS * LINES);
  expect(files.length).toBeGreaterThan(20);
  expect(statSync(path).mode & 0o777).toBe(0o644);
  expect(statSync(join(folder, "all")).mode & 0o777).toBe(0o755);
}, 60_000);

test("no file is larger than configured while nobody else is writing", async () => {
  const path = join(folder, "one", "cni.log");
  expect(await write(path, 1, LINES, { maxSizeBytes: 20_000, maxCount: 10_000 })).toBe("");
  const sizes = readdirSync(join(folder, "one")).map((name) => statSync(join(folder, "one", name)).size);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(20_000);
  expect(sizes.length).toBeLessThan(20);
});

test("as many rotated files stay as configured, and the lines in them are the last", async () => {
  const path = join(folder, "few", "cni.log");
  expect(await write(path, WRITERS, LINES, { maxSizeBytes: 20_000, maxCount: 3 })).toBe("");
  const files = readdirSync(join(folder, "few")).toSorted();
  expect(files).toHaveLength(4);
  expect(files.slice(0, 3).every((name) => /^cni-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log$/.test(name))).toBe(true);
  expect(files[3]).toBe("cni.log");
  for (const name of files) linesOf(join(folder, "few", name));
}, 60_000);

test("a file that cannot be opened is told in one line by each process, which goes on", async () => {
  const blocked = join(folder, "blocked");
  writeFileSync(blocked, "a file where a folder should be");
  const complaints = (await write(join(blocked, "cni.log"), 2, 5, { maxSizeBytes: 1000, maxCount: 1 })).trim().split("\n");
  expect(complaints).toHaveLength(2);
  for (const complaint of complaints) expect(complaint).toMatch(/^write log file ".*cni\.log": .*; going on as well as possible$/);
});

test("a link in its place is not followed: whoever may plant one could have root write anywhere", async () => {
  for (const [name, content] of [
    ["other", "another's"],
    ["none", undefined],
  ] as const) {
    const [path, target] = [join(folder, `to-${name}.log`), join(folder, name)];
    if (content !== undefined) writeFileSync(target, content);
    symlinkSync(target, path);
    expect(await write(path, 1, 2, { maxSizeBytes: 1000, maxCount: 1 })).toMatch(
      /^write log file ".*": .* ELOOP .*; going on as well as possible\n$/,
    );
    expect(existsSync(target) ? readFileSync(target, "utf8") : undefined).toBe(content);
  }
});

test("an existing log is continued, and its mode stays", async () => {
  const path = join(folder, "kept", "cni.log");
  mkdirSync(join(folder, "kept"));
  writeFileSync(path, '{"containerID":"before","number":0}\n');
  chmodSync(path, 0o600);
  expect(await write(path, 1, 2, { maxSizeBytes: 100_000, maxCount: 1 })).toBe("");
  expect(linesOf(path).map(({ containerID }) => containerID)).toEqual(["before", "writer-0", "writer-0"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(join(folder, "kept", "cni.log.lock"))).toBe(false);
});
