import { expect, test } from "bun:test";
import { NetplugError } from "../lib/errors.ts";
import { readTrouble } from "./state-file.ts";

const PATH = "/run/netplug/state";

test.each<[text: string | undefined, trouble: string | undefined]>([
  ['{"ready":true}\n', undefined],
  ['{"ready":false,"reason":"token has expired"}\n', "token has expired"],
  [undefined, `the installer has not started: there is no "${PATH}"`],
  ['{"ready":"true"}', `read "${PATH}": no installer has written it`],
  ["[]", `read "${PATH}": no installer has written it`],
])("a file with %j says %j", (text, trouble) => expect(readTrouble(PATH, { readText: () => text })).toBe(trouble));

test("what cannot be read is not ready, and why is said", () => {
  expect(readTrouble(PATH, { readText: () => "{" })).toStartWith("line 1, column 2");
  const readText = (): string => {
    throw new NetplugError("ioFailure", "open: EACCES");
  };
  expect(readTrouble(PATH, { readText })).toBe("open: EACCES");
});

test("nobody is ready or not without a file", () => {
  expect(() => readTrouble(undefined, { readText: () => undefined })).toThrow("read STATE_FILE: got nothing");
});
