import { expect, test } from "bun:test";
import type { CliIo } from "../io.ts";
import { withoutPipes, withPipesOnce } from "./pipes-once.ts";

/** Where every read gives another text, and says how it was read. */
function createIo(): CliIo {
  let reads = 0;
  const io = {
    files: { readText: () => `file ${++reads}` },
    pipeAt: (path: string) => (path.startsWith("/dev/fd/") ? path : undefined),
    readPipe(path: string) {
      reads++;
      if (path === "/dev/fd/9") throw new Error(`too large ${reads}`);
      return `pipe ${reads}`;
    },
    readInput: async () => await Promise.resolve(`input ${++reads}`),
  };
  return io as unknown as CliIo;
}

test("a file is read anew each time, and a pipe once, each for itself", () => {
  const { files } = withPipesOnce(createIo());
  const paths = ["/k", "/k", "/dev/fd/63", "/dev/fd/62", "/dev/fd/63"];
  expect(paths.map((path) => files.readText(path))).toEqual(["file 1", "file 2", "pipe 3", "pipe 4", "pipe 3"]);
});

test("a pipe that failed is not read again", () => {
  const { files } = withPipesOnce(createIo());
  for (let look = 0; look < 2; look++) expect(() => files.readText("/dev/fd/9")).toThrow("too large 1");
});

test("a pipe is left alone for whoever is typing", async () => {
  const { files, readInput } = withoutPipes(createIo());
  expect([files.readText("/dev/fd/63"), await readInput("/dev/fd/63", 1)]).toEqual([undefined, undefined]);
  expect([files.readText("/k"), await readInput("/k", 1)]).toEqual(["file 1", "input 2"]);
});
