import { expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { TryLimit } from "./try-limit.ts";

test("a try that is over leaves nothing at the signal of a caller that makes many", () => {
  const { signal } = new AbortController();
  {
    using _limit = new TryLimit(60_000, signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  }
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
