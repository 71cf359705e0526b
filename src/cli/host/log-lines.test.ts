import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import type { Parted } from "../../linux/input.ts";
import { linesFromEnd } from "./log-lines.ts";

const seed = testSeed();

function logOf(text: string): Parted {
  const bytes = new TextEncoder().encode(text);
  return { sizeBytes: bytes.length, read: async (start, end) => await Promise.resolve(bytes.slice(start, end)) };
}

test("gives every line once, the last first, wherever the parts are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: fc.constantFrom("a", "\n", "é", "😀") }),
      fc.integer({ min: 1, max: 9 }),
      async (text, partBytes) => {
        const wanted = text.split("\n").filter((line) => line !== "");
        expect(await Array.fromAsync(linesFromEnd(logOf(text), partBytes))).toEqual(wanted.reverse());
      },
    ),
    { seed, numRuns: 500 },
  );
});

test("reads no more than it is asked for", async () => {
  const read: number[] = [];
  const log: Parted = {
    sizeBytes: 1_000,
    read: async (start, end) => {
      read.push(start);
      return await Promise.resolve(new TextEncoder().encode("x\n".repeat((end - start) / 2)));
    },
  };
  for await (const line of linesFromEnd(log, 100)) {
    expect(line).toBe("x");
    break;
  }
  expect(read).toEqual([900]);
});
