import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NetplugError } from "../lib/errors.ts";
import { durableFiles } from "../linux/durable-files.ts";
import { readNotReadyReason, StateFile } from "./state-file.ts";

const PATH = "/run/netplug/state";

const DEAD = `the installer has died: nobody holds "${PATH}" any more; see its log, and start it again`;

test.each<[text: string | undefined, reason: string | undefined, isLocked?: boolean]>([
  ['{"ready":true}\n', undefined],
  ['{"ready":true,"while":"locked"}\n', undefined, true],
  ['{"ready":true,"while":"locked"}\n', DEAD],
  ['{"ready":false,"reason":"no space left"}\n', "no space left", true],
  ['{"ready":false,"reason":"token has expired"}\n', "token has expired"],
  [undefined, `the installer has not started: there is no "${PATH}"`],
  ['{"ready":"true"}', `read "${PATH}": no installer has written it`],
  ["[]", `read "${PATH}": no installer has written it`],
  ["hello\n", `read "${PATH}": no installer has written it`],
  ["", `read "${PATH}": no installer has written it`],
])("a file with %j says %j", (text, reason, isLocked = false) =>
  expect(readNotReadyReason(PATH, { readText: () => text, isLocked: () => isLocked })).toBe(reason),
);

test("what cannot be read is not ready, and why is said", () => {
  const isLocked = (): boolean => false;
  const readText = (): string => {
    throw new NetplugError("ioFailure", "open: EACCES");
  };
  expect(readNotReadyReason(PATH, { readText, isLocked })).toBe("open: EACCES");
});

test("readiness cannot be asked without the path of a state file", () => {
  expect(() => readNotReadyReason(undefined, durableFiles)).toThrow("read STATE_FILE: got nothing");
});

describe("what an installer says", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "npgt-state-"));
    path = join(folder, "state");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const host = { disk: durableFiles, userId: process.getuid?.() ?? 0 };
  const read = (): string | undefined => readNotReadyReason(path, durableFiles);
  const dead = (): string => DEAD.replace(PATH, path);

  test("is what the other process reads, each time", () => {
    // As an installer leaves it that is killed while it writes.
    writeFileSync(join(folder, ".state.netplug-tmp"), "{");
    using state = new StateFile(path, host);
    for (const reason of ["token has expired", undefined, undefined, "no space left", undefined]) {
      state.report(reason);
      expect(read()).toBe(reason);
      expect(durableFiles.list(folder)).toEqual(["state"]);
      expect(durableFiles.stat(path)).toMatchObject({ permissions: 0o600 });
    }
  });

  test("does not outlive it, unless it has settled it", () => {
    for (const [reason, after] of [
      [undefined, dead()],
      ["no space left", "no space left"],
    ] as const) {
      {
        using state = new StateFile(path, host);
        state.report(reason);
        expect(read()).toBe(reason);
      }
      expect(read()).toBe(after);
      using settled = new StateFile(path, host);
      settled.report(reason);
      settled.keepAfterExit();
      settled[Symbol.dispose]();
      expect(read()).toBe(reason);
    }
  });

  test("is said again where somebody has put another file, or one that nobody holds", () => {
    using state = new StateFile(path, host);
    for (const harm of [
      () => rmSync(path),
      () => writeFileSync(path, "{}"),
      () => cpSync(path, `${path}2`),
      () => renameSync(`${path}2`, path),
    ]) {
      state.report(undefined);
      harm();
      state.report(undefined);
      expect(read()).toBeUndefined();
    }
  });

  test("keeps one file open, however often the node becomes ready again", () => {
    using state = new StateFile(path, host);
    const openAfter = (): number => {
      for (const reason of [undefined, "no space left", undefined]) state.report(reason);
      return readdirSync("/proc/self/fd").length;
    };
    expect(openAfter()).toBe(openAfter());
  });

  test("costs no write while it stays the same", () => {
    using state = new StateFile(path, host);
    state.report(undefined);
    const { ino } = statSync(path);
    state.report(undefined);
    expect(statSync(path).ino).toBe(ino);
  });

  test("may lie in the root folder", () => {
    const flushed: string[] = [];
    const inFolder = (name: string): string => join(folder, name);
    const disk = {
      ...durableFiles,
      stat: (name: string) => durableFiles.stat(inFolder(name)),
      statLink: (name: string) => durableFiles.statLink(inFolder(name)),
      remove: (name: string) => durableFiles.remove(inFolder(name)),
      create: (name: string, text: string, permissions: number) => durableFiles.create(inFolder(name), text, permissions),
      rename: (from: string, to: string) => durableFiles.rename(inFolder(from), inFolder(to)),
      flushFolder: (name: string) => void flushed.push(name),
    };
    using state = new StateFile("/state", { ...host, disk });
    state.report("no space left");
    expect([read(), flushed]).toEqual(["no space left", ["/"]]);
  });
});
