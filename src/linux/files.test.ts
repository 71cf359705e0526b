import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "./fd.ts";
import { linuxFiles } from "./files.ts";
import { linuxLogFiles } from "./log-files.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-files-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
  expect(Fd.openCount()).toBe(0);
});

let count = 0;
/** A path that nobody has used. */
const fresh = (): string => join(folder, `f${++count}`);

describe("readText()", () => {
  test("reads what is there, whatever its size", () => {
    for (const size of [0, 1, 4095, 4096, 4097, 1_000_000]) {
      const path = fresh();
      const text = "ä".repeat(size / 2);
      writeFileSync(path, text);
      expect(linuxFiles.readText(path)).toBe(text);
    }
  });

  test("reads files whose size the kernel does not tell", () => {
    expect(linuxFiles.readText("/proc/self/stat")).toStartWith(`${process.pid} (`);
  });

  test("gives undefined when there is no such file", () => {
    expect(linuxFiles.readText(fresh())).toBeUndefined();
    const file = fresh();
    writeFileSync(file, "");
    expect(linuxFiles.readText(join(file, "below"))).toBeUndefined();
  });

  test("does not hang on a FIFO, and refuses what never ends", () => {
    const fifo = fresh();
    Bun.spawnSync(["mkfifo", fifo]);
    expect(linuxFiles.readText(fifo)).toBe("");
    expect(() => linuxFiles.readText("/dev/zero")).toThrow('read "/dev/zero": it is larger than');
  });

  test("names the path and the errno when it cannot read", () => {
    expect(() => linuxFiles.readText(folder)).toThrow(
      expect.objectContaining({ kind: "ioFailure", message: `read "${folder}": EISDIR (is a directory)` }),
    );
  });

  test("refuses a path that the kernel would cut short", () => {
    expect(() => linuxFiles.readText("/etc/hostname\0.d")).toThrow(RangeError);
  });
});

describe("append()", () => {
  test("writes to the end, and makes no file", () => {
    const path = fresh();
    linuxFiles.append(path, "lost");
    expect(linuxFiles.exists(path)).toBe(false);
    writeFileSync(path, "a");
    linuxFiles.append(path, "bä");
    linuxFiles.append(path, "c");
    expect(readFileSync(path, "utf8")).toBe("abäc");
  });

  test("says why it cannot", () => {
    expect(() => linuxFiles.append(folder, "x")).toThrow(expect.objectContaining({ kind: "ioFailure" }));
  });
});

describe("writeAtomically()", () => {
  test("makes folders, sets the mode and leaves nothing beside the file", () => {
    const path = join(folder, "a", "b", "file");
    linuxFiles.writeAtomically(path, "one", 0o600);
    linuxFiles.writeAtomically(path, "two", 0o644);
    expect(readFileSync(path, "utf8")).toBe("two");
    expect(statSync(path).mode & 0o777).toBe(0o644);
    expect(readdirSync(join(folder, "a", "b"))).toEqual(["file"]);
  });

  test("leaves the old content and nothing else when it cannot replace it", () => {
    const path = join(folder, "c", "taken");
    mkdirSync(path, { recursive: true });
    expect(() => linuxFiles.writeAtomically(path, "x", 0o600)).toThrow(`rename onto "${path}": EISDIR`);
    expect(readdirSync(join(folder, "c"))).toEqual(["taken"]);
  });
});

test("remove() tells whether there was something to remove", () => {
  const path = fresh();
  writeFileSync(path, "");
  expect(linuxFiles.remove(path)).toBe(true);
  expect(linuxFiles.remove(path)).toBe(false);
  expect(() => linuxFiles.remove(folder)).toThrow("EISDIR");
});

test("list() names what is in a folder, and nothing when there is no such folder", () => {
  const path = fresh();
  mkdirSync(path);
  for (const name of [".hidden", "ä", "x".repeat(255)]) writeFileSync(join(path, name), "");
  expect([...(linuxFiles.list(path) ?? [])].toSorted()).toEqual([".hidden", "x".repeat(255), "ä"]);
  expect(linuxFiles.list(fresh())).toBeUndefined();
});

test("isExecutableFile() wants a regular file that may be executed, or a link to one", () => {
  const path = fresh();
  writeFileSync(path, "", { mode: 0o644 });
  const link = fresh();
  symlinkSync("/bin/sh", link);
  expect([path, folder, "/bin/sh", link, fresh()].map(linuxFiles.isExecutableFile)).toEqual([false, false, true, true, false]);
});

describe("log files", () => {
  test.each(["a file", "a broken link"])("where their folder is %s that is said", (what) => {
    const path = fresh();
    if (what === "a file") writeFileSync(path, "");
    else symlinkSync(join(folder, "nowhere"), path);
    expect(() => linuxLogFiles.openAppend(join(path, "cni.log"))).toThrow(
      `open "${path}/cni.log": its folder is a file or a broken link, or vanished`,
    );
  });

  test("append whole lines, tell their size, and are the same file by any name", () => {
    const path = join(folder, "log", "netplug.log");
    const one = linuxLogFiles.openAppend(path);
    const two = linuxLogFiles.openAppend(path);
    one.append(Buffer.from("a\n"));
    two.append(Buffer.from("bb\n"));
    expect(readFileSync(path, "utf8")).toBe("a\nbb\n");
    const three = linuxLogFiles.openAppend(path);
    expect([one.opened.sizeBytes, three.opened.sizeBytes]).toEqual([0, 5]);
    expect(two.opened.id).toBe(one.opened.id);
    expect(linuxLogFiles.stat(path)).toMatchObject({ id: one.opened.id, sizeBytes: 5, modifiedMs: Math.floor(statSync(path).mtimeMs) });
    expect(one.tryLock()).toBe(true);
    expect(two.tryLock()).toBe(false);
    one.unlock();
    expect(two.tryLock()).toBe(true);
    for (const file of [one, two, three]) file.close();
  });

  test("are renamed only to a name that is free", () => {
    const [from, taken, free] = [fresh(), fresh(), fresh()];
    writeFileSync(from, "from");
    writeFileSync(taken, "taken");
    expect(linuxLogFiles.renameToNew(from, taken)).toBe(false);
    expect(linuxLogFiles.renameToNew(from, free)).toBe(true);
    expect([readFileSync(taken, "utf8"), readFileSync(free, "utf8"), linuxFiles.exists(from)]).toEqual(["taken", "from", false]);
  });
});
