import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NetplugError } from "../lib/errors.ts";
import { durableFiles } from "../linux/durable-files.ts";
import { readNotReadyReason, StateFile } from "./state-file.ts";

const PATH = "/run/netplug/state";

test.each<[text: string | undefined, reason: string | undefined]>([
  ['{"ready":true}\n', undefined],
  ['{"ready":false,"reason":"token has expired"}\n', "token has expired"],
  [undefined, `the installer has not started: there is no "${PATH}"`],
  ['{"ready":"true"}', `read "${PATH}": no installer has written it`],
  ["[]", `read "${PATH}": no installer has written it`],
])("a file with %j says %j", (text, reason) => expect(readNotReadyReason(PATH, { readText: () => text })).toBe(reason));

test("what cannot be read is not ready, and why is said", () => {
  expect(readNotReadyReason(PATH, { readText: () => "{" })).toStartWith("line 1, column 2");
  const readText = (): string => {
    throw new NetplugError("ioFailure", "open: EACCES");
  };
  expect(readNotReadyReason(PATH, { readText })).toBe("open: EACCES");
});

test("nobody is ready or not without a file", () => {
  expect(() => readNotReadyReason(undefined, { readText: () => undefined })).toThrow("read STATE_FILE: got nothing");
});

test("what an installer says is what the other process reads, each time", () => {
  const folder = mkdtempSync(join(tmpdir(), "npgt-state-"));
  try {
    const path = join(folder, "state");
    // As an installer leaves it that is killed while it writes.
    writeFileSync(join(folder, ".state.netplug-tmp"), "{");
    const state = new StateFile(path, { disk: durableFiles, userId: process.getuid?.() ?? 0 });
    for (const reason of ["token has expired", undefined, "no space left"]) {
      state.say(reason);
      expect(readNotReadyReason(path, durableFiles)).toBe(reason);
      expect(durableFiles.list(folder)).toEqual(["state"]);
      expect(durableFiles.stat(path)).toMatchObject({ permissions: 0o600 });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
