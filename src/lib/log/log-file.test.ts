import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { openLogFile, rotatedFiles, rotatedName } from "./log-file.ts";
import type { AppendFile, LogFileOptions, LogFiles } from "./log-file.ts";
import type { LogRecord } from "./log.ts";

const PATH = "/var/log/netplug/cni.log";
const NOON = Date.UTC(2026, 10, 21, 12);
const DAY = 86_400_000;

interface Inode {
  readonly id: string;
  text: string;
  modifiedMs: number;
  lockedBy: object | undefined;
}

/** A file system in memory with the rules that matter: names point to inodes, an open file outlives its name, a lock has one holder. */
class MemoryFiles implements LogFiles {
  readonly names = new Map<string, Inode>();
  readonly clock = { time: NOON, now: (): number => this.clock.time };
  /** Runs before every operation: where another process may come in between. */
  between: () => void = () => {};
  openFiles = 0;
  #nextId = 1;

  openAppend(path: string): AppendFile {
    this.between();
    const inode = this.names.get(path) ?? { id: String(this.#nextId++), text: "", modifiedMs: this.clock.time, lockedBy: undefined };
    this.names.set(path, inode);
    this.openFiles++;
    const holder = {};
    return {
      opened: { id: inode.id, sizeBytes: inode.text.length, modifiedMs: inode.modifiedMs },
      append: (bytes) => {
        this.between();
        inode.text += new TextDecoder().decode(bytes);
        inode.modifiedMs = this.clock.time;
      },
      tryLock: () => {
        this.between();
        if (inode.lockedBy !== undefined) return false;
        inode.lockedBy = holder;
        return true;
      },
      unlock: () => void (inode.lockedBy = undefined),
      close: () => void this.openFiles--,
    };
  }

  stat(path: string) {
    this.between();
    const inode = this.names.get(path);
    return inode === undefined ? undefined : { id: inode.id, sizeBytes: inode.text.length, modifiedMs: inode.modifiedMs };
  }

  renameToNew(from: string, to: string): boolean {
    this.between();
    const inode = this.names.get(from);
    if (inode === undefined) throw new Error(`rename "${from}": ENOENT`);
    if (this.names.has(to)) return false;
    this.names.delete(from);
    this.names.set(to, inode);
    return true;
  }

  list(folder: string): string[] {
    return [...this.names.keys()].filter((path) => path.startsWith(`${folder}/`)).map((path) => path.slice(folder.length + 1));
  }

  remove(path: string): boolean {
    this.between();
    return this.names.delete(path);
  }

  pause(): void {
    this.between();
  }

  get rotated(): string[] {
    return rotatedFiles(PATH, this);
  }

  /** Messages of all files, oldest file first. */
  get messages(): string[] {
    return [...this.rotated, PATH].flatMap((path) =>
      (this.names.get(path)?.text.split("\n") ?? []).filter((line) => line !== "").map((line) => (JSON.parse(line) as { msg: string }).msg),
    );
  }
}

const LINE_BYTES = JSON.stringify({ time: new Date(NOON).toISOString(), level: "INFO", msg: "1000" }).length + 1;

function writer(files: MemoryFiles, limits: Partial<LogFileOptions> = {}) {
  const failures: string[] = [];
  const sink = openLogFile({
    path: PATH,
    files,
    clock: files.clock,
    maxSizeBytes: 10 * LINE_BYTES,
    maxAgeMs: 30 * DAY,
    maxCount: 1000,
    onFailure: (message) => failures.push(message),
    ...limits,
  });
  const write = (msg: string): void => {
    const record: LogRecord = { time: files.clock.time, level: "INFO", msg, fields: {} };
    sink.write(record);
  };
  return { write, sink, failures };
}

/** Four digits, so that all lines are equally long. */
const numbered = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => String(1000 + from + i));

test("nothing is opened before the first line, and one file is held until the end", () => {
  const files = new MemoryFiles();
  const { write, sink } = writer(files);
  expect(files.names.size).toBe(0);
  for (const msg of numbered(5)) write(msg);
  expect([files.openFiles, files.rotated.length]).toEqual([1, 0]);
  sink[Symbol.dispose]();
  expect(files.openFiles).toBe(0);
});

test("a write that would exceed the size rotates first, and the rotated file is named after the time", () => {
  const files = new MemoryFiles();
  const { write } = writer(files);
  for (const msg of numbered(10)) write(msg);
  expect(files.rotated).toEqual([]);
  write("2000");
  expect(files.rotated).toEqual(["/var/log/netplug/cni-2026-11-21T12-00-00.000.log"]);
  expect(files.names.get(PATH)?.text.length).toBe(LINE_BYTES);
  expect(files.messages).toEqual([...numbered(10), "2000"]);
  expect(files.openFiles).toBe(1);
});

test("a line longer than the limit gets a file of its own and is not cut", () => {
  const files = new MemoryFiles();
  const { write } = writer(files, { maxSizeBytes: 100 });
  for (const msg of ["a".repeat(500), "b".repeat(500), "c"]) write(msg);
  expect(files.messages.map((msg) => msg.length)).toEqual([500, 500, 1]);
  expect(files.rotated).toHaveLength(2);
});

test("rotations in the same millisecond get different names, in their order", () => {
  const files = new MemoryFiles();
  const { write } = writer(files, { maxSizeBytes: LINE_BYTES });
  for (const msg of numbered(20)) write(msg);
  expect(files.rotated).toHaveLength(19);
  expect(files.messages).toEqual(numbered(20));
});

test("as many rotated files stay as the count says, the newest", () => {
  const files = new MemoryFiles();
  const { write } = writer(files, { maxSizeBytes: LINE_BYTES, maxCount: 3 });
  for (const [i, msg] of numbered(20).entries()) {
    // The clock stands still, and then goes back.
    if (i === 10) files.clock.time -= DAY;
    write(msg);
  }
  expect(files.messages).toEqual(["1016", "1017", "1018", "1019"]);
});

test("rotated files go when they were last modified too long ago: at a rotation, and when a new day begins", () => {
  const files = new MemoryFiles();
  const first = writer(files, { maxSizeBytes: LINE_BYTES });
  first.write("1000");
  first.write("1001");
  files.clock.time += 20 * DAY;
  first.write("1002");
  files.clock.time += 11 * DAY;
  first.write("1003");
  expect(files.messages).toEqual(["1002", "1003"]);
  first.sink[Symbol.dispose]();
  files.clock.time += 40 * DAY;
  const later = writer(files);
  later.write("2000");
  // No rotation was due: the first line of the day had the old ones removed.
  expect(files.messages).toEqual(["1003", "2000"]);
});

test("files that only look alike are left alone", () => {
  const files = new MemoryFiles();
  const strangers = [
    "cni-backup.log",
    "cni-2026-11-21T12-00-00.000.log.gz",
    "cni2-2026-01-01T00-00-00.000.log",
    "cni-2026-01-01.log",
    "cni.log.1",
    "cni-2026-99-99T00-00-00.000.log",
  ];
  for (const name of strangers) files.openAppend(`/var/log/netplug/${name}`);
  const { write } = writer(files, { maxSizeBytes: LINE_BYTES, maxCount: 1, maxAgeMs: 1 });
  for (const msg of numbered(5)) write(msg);
  expect(files.list("/var/log/netplug")).toEqual(expect.arrayContaining(strangers));
  expect(files.messages).toEqual(["1003", "1004"]);
});

test("a rotated file that cannot be removed is told, loses no line and keeps no other", () => {
  const files = new MemoryFiles();
  const stuck = rotatedName(PATH, NOON - 100 * DAY);
  files.openAppend(stuck);
  files.openAppend(PATH);
  const remove = files.remove.bind(files);
  files.remove = (path) => {
    if (path === stuck) throw new Error(`remove "${path}": EISDIR`);
    return remove(path);
  };
  files.clock.time += DAY;
  const { write, failures } = writer(files, { maxSizeBytes: LINE_BYTES, maxCount: 2, maxAgeMs: DAY / 2 });
  for (const msg of numbered(6)) write(msg);
  expect(files.rotated[0]).toBe(stuck);
  expect(files.messages).toEqual(["1003", "1004", "1005"]);
  expect(failures).toEqual([`write log file "${PATH}": remove "${stuck}": EISDIR; going on as well as possible`]);
});

test("no line is lost on a day that begins with a rotated file that cannot be removed", () => {
  const files = new MemoryFiles();
  files.openAppend(rotatedName(PATH, NOON - 100 * DAY));
  files.openAppend(PATH);
  files.remove = () => {
    throw new Error("EPERM");
  };
  files.clock.time += 50 * DAY;
  const { write, failures } = writer(files);
  for (const msg of numbered(2)) write(msg);
  expect(files.messages).toEqual(["1000", "1001"]);
  expect(failures).toHaveLength(1);
});

test("a log that somebody else moved away or deleted is begun anew", () => {
  const files = new MemoryFiles();
  const { write } = writer(files);
  write("1000");
  files.names.delete(PATH);
  write("1001");
  expect(files.messages).toEqual(["1001"]);
  expect(files.openFiles).toBe(1);
});

test("a failure is told once, and later lines are tried again", () => {
  const files = new MemoryFiles();
  const { write, failures } = writer(files);
  files.between = () => {
    throw new Error("EROFS");
  };
  write("1000");
  write("1001");
  expect(failures).toEqual([`write log file "${PATH}": EROFS; going on as well as possible`]);
  files.between = () => {};
  write("1002");
  expect(files.messages).toEqual(["1002"]);
});

test("a rotation that fails is told, and the line is kept in the file that is too large", () => {
  const files = new MemoryFiles();
  files.renameToNew = () => {
    throw new Error("EINVAL");
  };
  const { write, failures } = writer(files, { maxSizeBytes: LINE_BYTES });
  for (const msg of numbered(3)) write(msg);
  expect(files.messages).toEqual(numbered(3));
  expect(failures).toHaveLength(1);
  expect([...files.names.values()].map(({ lockedBy }) => lockedBy)).toEqual([undefined]);
});

test("a line cut by a full disk does not spoil the next one", () => {
  const files = new MemoryFiles();
  const { write, failures } = writer(files);
  write("1000");
  const open = files.openAppend.bind(files);
  files.names.delete(PATH);
  files.openAppend = (path) => {
    const file = open(path);
    return {
      ...file,
      append(bytes) {
        file.append(bytes.subarray(0, 20));
        throw new Error("ENOSPC");
      },
    };
  };
  write("1001");
  files.openAppend = open;
  files.names.set("/elsewhere", files.names.get(PATH) as Inode);
  files.names.delete(PATH);
  write("1002");
  expect(failures).toHaveLength(1);
  expect(files.messages).toEqual(["1002"]);
  expect(files.names.get(PATH)?.text).toStartWith("\n{");
});

test("a holder of the lock that is held up is not waited for without end", () => {
  const files = new MemoryFiles();
  let pauses = 0;
  files.pause = () => void pauses++;
  const { write } = writer(files, { maxSizeBytes: LINE_BYTES });
  write("1000");
  files.openAppend(PATH).tryLock();
  write("1001");
  expect(files.messages).toEqual(["1000", "1001"]);
  expect(pauses).toBeLessThanOrEqual(20);
});

test("names with and without extension and folder", () => {
  expect(rotatedName("/a.d/log", 0)).toBe("/a.d/log-1970-01-01T00-00-00.000");
  expect(rotatedName("/x.tar.log", 0)).toBe("/x.tar-1970-01-01T00-00-00.000.log");
  expect(rotatedName("/d/.hidden", 0)).toBe("/d/.hidden-1970-01-01T00-00-00.000");
  expect(rotatedFiles("/log", { list: (folder) => (folder === "/" ? ["log-1970-01-01T00-00-00.000"] : undefined) })).toEqual([
    "/log-1970-01-01T00-00-00.000",
  ]);
  expect(rotatedFiles("log", { list: (folder) => (folder === "." ? ["log-1970-01-01T00-00-00.000"] : undefined) })).toEqual([
    "./log-1970-01-01T00-00-00.000",
  ]);
});

test("writers that interrupt each other anywhere lose no line and leave no lock", () => {
  const anywhere = fc.record({
    writers: fc.integer({ min: 2, max: 5 }),
    linesEach: fc.integer({ min: 1, max: 12 }),
    linesPerFile: fc.integer({ min: 1, max: 4 }),
    /** Which writer comes in at each operation of another one, 0 for none. */
    interruptions: fc.array(fc.nat({ max: 8 }), { minLength: 1, maxLength: 200 }),
  });
  fc.assert(
    fc.property(anywhere, ({ writers, linesEach, linesPerFile, interruptions }) => {
      const files = new MemoryFiles();
      const sinks = Array.from({ length: writers }, () => writer(files, { maxSizeBytes: linesPerFile * LINE_BYTES }));
      const queues = sinks.map((_, i) => numbered(linesEach, 100 * i));
      const active = new Set<number>();
      let step = 0;
      const run = (i: number): void => {
        const msg = active.has(i) ? undefined : queues[i]?.shift();
        if (msg === undefined) return;
        active.add(i);
        sinks[i]?.write(msg);
        active.delete(i);
      };
      files.between = () => run((interruptions[step++ % interruptions.length] ?? 0) - 1);
      for (let round = 0; round < linesEach; round++) for (const i of queues.keys()) run(i);
      files.between = () => {};

      expect(sinks.flatMap(({ failures }) => failures)).toEqual([]);
      expect(files.messages.toSorted()).toEqual(sinks.flatMap((_, i) => numbered(linesEach, 100 * i)).toSorted());
      expect([...files.names.values()].some(({ lockedBy }) => lockedBy !== undefined)).toBe(false);
    }),
    { seed: testSeed(), numRuns: 300 },
  );
});
