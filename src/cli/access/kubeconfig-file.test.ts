import { expect, test } from "bun:test";
import type { CliIo } from "../io.ts";
import { kubeconfigReaderOf } from "./kubeconfig-file.ts";

/** Reads each path twice, where every read gives another text, and says how it was read. */
async function readTwice(...paths: readonly string[]): Promise<readonly (readonly unknown[])[]> {
  let reads = 0;
  const io = {
    files: { readText: () => `file ${++reads}` },
    isPipeAt: (path: string) => path.startsWith("/dev/fd/"),
    readInput: async () => await Promise.resolve(`pipe ${++reads}`),
  };
  const read = kubeconfigReaderOf(io as unknown as CliIo);
  return await Promise.all(paths.map(async (path) => [await read(path), await read(path)]));
}

test("a file is read anew each time, and a pipe once, each for itself", async () => {
  expect(await readTwice("/k")).toEqual([["file 1", "file 2"]]);
  expect(await readTwice("/dev/fd/63", "/dev/fd/62")).toEqual([
    ["pipe 1", "pipe 1"],
    ["pipe 2", "pipe 2"],
  ]);
});
