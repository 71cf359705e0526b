import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { durableFiles } from "./durable-files.ts";
import { Fd } from "./fd.ts";
import { describeType, isLink } from "./file-type.ts";

let folder: string;
let openBefore: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "npgt-durable-"));
  openBefore = Fd.openCount();
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  expect(Fd.openCount()).toBe(openBefore);
});

const at = (name: string): string => join(folder, name);
const MEGABYTE = 1024 * 1024;

describe("copy()", () => {
  test.each([0, 1, MEGABYTE - 1, MEGABYTE, MEGABYTE + 1, 3 * MEGABYTE + 7])(
    "makes a file of %p bytes with the permissions asked for",
    (sizeBytes) => {
      writeFileSync(
        at("from"),
        Uint8Array.from({ length: sizeBytes }, (_, i) => i * 31 + (i >> 8)),
      );
      durableFiles.copy(at("from"), at("to"), 0o755);
      expect(readFileSync(at("to")).equals(readFileSync(at("from")))).toBe(true);
      expect(statSync(at("to")).mode & 0o7777).toBe(0o755);
      expect(durableFiles.hasSameContent(at("from"), at("to"))).toBe(true);
    },
  );

  test("writes onto nothing that is there, and through no link that somebody planted", () => {
    writeFileSync(at("from"), "new");
    writeFileSync(at("there"), "old");
    symlinkSync(at("elsewhere"), at("planted"));
    expect(() => durableFiles.copy(at("from"), at("there"), 0o755)).toThrow(`create "${at("there")}": EEXIST (file exists)`);
    expect(() => durableFiles.copy(at("from"), at("planted"), 0o755)).toThrow("EEXIST");
    expect([readFileSync(at("there"), "utf8"), existsSync(at("elsewhere"))]).toEqual(["old", false]);
  });

  test("names a source and a folder that are missing", () => {
    writeFileSync(at("from"), "x");
    expect(() => durableFiles.copy(at("none"), at("to"), 0o755)).toThrow(`open "${at("none")}": there is no such file`);
    expect(() => durableFiles.copy(at("from"), at("none/to"), 0o755)).toThrow(`create "${at("none/to")}": ENOENT (no such file`);
  });
});

test("create() writes a text that only those may read who are meant to", () => {
  durableFiles.create(at("secret"), "ä", 0o600);
  expect([readFileSync(at("secret"), "utf8"), statSync(at("secret")).mode & 0o7777]).toEqual(["ä", 0o600]);
});

test.each<[a: Uint8Array, b: Uint8Array, same: boolean]>([
  [new Uint8Array(0), new Uint8Array(0), true],
  [new Uint8Array(0), new Uint8Array(1), false],
  [new Uint8Array(MEGABYTE), new Uint8Array(MEGABYTE + 1), false],
  [new Uint8Array(2 * MEGABYTE), new Uint8Array(2 * MEGABYTE).fill(1, 2 * MEGABYTE - 1), false],
])("hasSameContent() looks at every byte", (a, b, same) => {
  writeFileSync(at("a"), a);
  writeFileSync(at("b"), b);
  expect(durableFiles.hasSameContent(at("a"), at("b"))).toBe(same);
});

test("link() and rename() put another name over what is there; a user of the old file keeps it", () => {
  writeFileSync(at("new"), "new");
  writeFileSync(at("name"), "old");
  linkSync(at("name"), at("in-use"));
  durableFiles.link(at("new"), at("temporary"));
  durableFiles.rename(at("temporary"), at("name"));
  durableFiles.flushFolder(folder);
  expect(statSync(at("name")).ino).toBe(statSync(at("new")).ino);
  expect(readFileSync(at("in-use"), "utf8")).toBe("old");
  expect(() => durableFiles.link(at("new"), at("name"))).toThrow("EEXIST");
});

test("statLink() tells of a link, stat() of what it points to, both with permissions and owner", () => {
  writeFileSync(at("file"), "x");
  chmodSync(at("file"), 0o4711);
  symlinkSync("file", at("link"));
  const { mode, uid } = lstatSync(at("file"));
  expect(durableFiles.stat(at("link"))).toMatchObject({ isRegular: true, isFolder: false, permissions: mode & 0o7777, owner: uid });
  expect(durableFiles.statLink(at("link"))).toMatchObject({ isRegular: false, isFolder: false });
  expect(durableFiles.stat(folder)).toMatchObject({ isRegular: false, isFolder: true });
  expect(durableFiles.stat(at("none"))).toBeUndefined();
});

test("what a path leads to is known, and has a name", () => {
  writeFileSync(at("file"), "x");
  symlinkSync("file", at("link"));
  Bun.spawnSync(["mkfifo", at("pipe")]);
  using _socket = Bun.listen({ unix: at("socket"), socket: { data: () => {} } });
  const typeOf = (path: string): string => describeType(durableFiles.statLink(path) ?? { type: 0 });
  expect(["file", "link", "pipe", "socket", "."].map((name) => typeOf(at(name)))).toEqual([
    "a file",
    "a symbolic link",
    "a named pipe",
    "a socket",
    "a folder",
  ]);
  expect([typeOf("/dev/null"), typeOf(at("none"))]).toEqual(["a character device", "something of type 00"]);
  expect([describeType({ type: 0o060000 }), isLink({ type: 0o120000 }), isLink({ type: 0o100000 })]).toEqual([
    "a block device",
    true,
    false,
  ]);
});

test("checkWritable() says why nothing can be written", () => {
  expect(() => durableFiles.checkWritable(folder)).not.toThrow();
  expect(() => durableFiles.checkWritable(at("none"))).toThrow(`write to "${at("none")}": ENOENT (no such file or directory)`);
  writeFileSync(at("file"), "");
  expect(() => durableFiles.checkWritable(at("file"))).toThrow(`write to "${at("file")}": EACCES (permission denied)`);
});

test("a folder is locked by one at a time, also against other processes", () => {
  mkdirSync(at("locked"));
  using lock = durableFiles.tryLock(at("locked"));
  expect(lock).toBeDefined();
  expect(durableFiles.tryLock(at("locked"))).toBeUndefined();
  const tryAsOther = (): number => Bun.spawnSync(["flock", "--nonblock", at("locked"), "true"]).exitCode;
  expect(tryAsOther()).toBe(1);
  lock?.[Symbol.dispose]();
  expect(tryAsOther()).toBe(0);
});

test("whoever asks whether a file is locked is told of ourselves and of others, and is none of those", async () => {
  expect(durableFiles.isLocked(at("locked"))).toBe(false);
  writeFileSync(at("locked"), "");
  expect(durableFiles.isLocked(at("locked"))).toBe(false);
  {
    using _lock = durableFiles.tryLock(at("locked"));
    expect(durableFiles.isLocked(at("locked"))).toBe(true);
  }
  const asker = Bun.spawn(["flock", "--shared", at("locked"), "cat"], { stdin: "pipe", stdout: "pipe" });
  await asker.stdin.write("here\n");
  await asker.stdin.flush();
  await asker.stdout.getReader().read();
  expect(durableFiles.isLocked(at("locked"))).toBe(false);
  await asker.stdin.end();
  expect(await asker.exited).toBe(0);
});
