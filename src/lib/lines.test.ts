import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../test/support/seed.ts";
import { readLines } from "./lines.ts";

/** Cuts bytes at arbitrary places, inside of characters too. */
function streamOf(text: string, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return new ReadableStream({
    start(controller) {
      for (let i = 1; i < places.length; i++) controller.enqueue(bytes.slice(places[i - 1], places[i]));
      controller.close();
    },
  });
}

async function linesOf(text: string, cuts: readonly number[] = []): Promise<readonly string[]> {
  return await Array.fromAsync(readLines(streamOf(text, cuts)));
}

test("lines are the same however they are cut into pieces", async () => {
  const line = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) => text.trim() !== "" && !text.includes("\n"));
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (lines, cuts) => {
      expect(await linesOf(lines.map((text) => `${text}\n`).join(""), cuts)).toEqual(lines);
    }),
    { seed: testSeed() },
  );
});

test("what stands after the last line end is dropped, for it may be a part only", async () => {
  expect(await linesOf('{"a":1}\n{"b":')).toEqual(['{"a":1}']);
});

test("empty lines are left out", async () => {
  expect(await linesOf("\n\na\n \nb\n")).toEqual(["a", "b"]);
});

test("a line without end is refused, and no more of it is taken", async () => {
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("whole\n")),
    pull: (controller) => controller.enqueue(new Uint8Array(100).fill(120)),
    cancel: () => void (isCancelled = true),
  });
  const lines: string[] = [];
  const read = async (): Promise<void> => {
    for await (const line of readLines(endless, 1_000)) lines.push(line);
  };
  await expect(read()).rejects.toThrow("a line of the answer is longer than 1000 characters");
  expect([lines, isCancelled]).toEqual([["whole"], true]);
});

test("lines may be longer together than one may be", async () => {
  const text = "x".repeat(900);
  expect(await Array.fromAsync(readLines(streamOf(`${text}\n${text}\n${text}\n`, [500, 1_300]), 1_000))).toEqual([text, text, text]);
});
