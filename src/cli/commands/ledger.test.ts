import { expect, test } from "bun:test";
import { ledgerLine } from "../../../test/support/cli/ledger-line.ts";
import type { Cli } from "../io.ts";
import { ledger } from "./ledger.ts";

/**
 * The seconds of the entries that are read where each log has one entry, and each folder the rotated files of a log that is called as the given one.
 *
 * @param rotated when the newest one is, if at all: before it is opened, or while it is read
 */
async function secondsOf(file: string, rotated?: "before" | "meanwhile"): Promise<readonly string[]> {
  let stdout = "";
  const log = (source: string) => new TextEncoder().encode(ledgerLine(source === file || rotated !== undefined ? 2 : 1));
  const io = {
    stdout: { write: (text: string) => void (stdout += text) },
    files: { list: () => [`${file}-2026-11-21T12-00-00.000`] },
    openLog: async (source: string) =>
      await Promise.resolve(
        rotated === "before" && source === file
          ? undefined
          : {
              id: rotated === "meanwhile" ? "the newest" : source,
              sizeBytes: log(source).length,
              read: async (start: number, end: number) => log(source).slice(start, end),
              [Symbol.dispose]: () => undefined,
            },
      ),
  };
  expect(await ledger({ io } as unknown as Cli, { file, last: 5, output: "json" })).toBe(0);
  const { entries } = JSON.parse(stdout) as { readonly entries: readonly { readonly time: string }[] };
  return entries.map(({ time }) => time.slice(17, 19));
}

test("the rotated files of a log are read, too; stdin has none, whatever the files of a folder are called", async () => {
  expect(await secondsOf("log")).toEqual(["01", "02"]);
  expect(await secondsOf("-")).toEqual(["02"]);
});

test("a log that is rotated while it is read is not read twice", async () => {
  expect(await secondsOf("log", "meanwhile")).toEqual(["02"]);
});

test("a log that is rotated just before it is opened is read under its rotated name", async () => {
  expect(await secondsOf("log", "before")).toEqual(["02"]);
});
