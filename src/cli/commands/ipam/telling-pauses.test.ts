import { expect, test } from "bun:test";
import type { Clock } from "../../../lib/ports.ts";
import { tellingPauses } from "./telling-pauses.ts";

test("a pause is told second by second, and not after it", async () => {
  const story: (string | number)[] = [];
  const clock: Pick<Clock, "now" | "sleep"> = { now: () => 0, sleep: async (ms) => void story.push(ms) };
  const progress = { tell: (part: string, text: string) => void story.push(`${part}: ${text}`), wipe: () => {} };
  await tellingPauses(clock, progress, "looks again").sleep(2_500);
  const told = [3, 2, 1].map((seconds) => `done: looks again in ${seconds} s`);
  expect(story).toEqual([told[0] ?? "", 1_000, told[1] ?? "", 1_000, told[2] ?? "", 500, "done: "]);
});

test("where nobody looks, a pause is one", async () => {
  const pauses: number[] = [];
  const clock: Pick<Clock, "now" | "sleep"> = { now: () => 0, sleep: async (ms) => void pauses.push(ms) };
  await tellingPauses(clock, undefined, "looks again").sleep(2_500);
  expect(pauses).toEqual([2_500]);
});
