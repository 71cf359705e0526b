import { expect, test } from "bun:test";
import type { Clock } from "../../lib/ports.ts";
import { waitFor, type WaitPorts } from "./wait-for.ts";

/** A clock that whoever sleeps moves; the API server is not asked here. */
function createPorts(limitMs: number): WaitPorts & { readonly slept: readonly number[] } {
  const slept: number[] = [];
  let now = 1_000;
  const sleep = async (ms: number): Promise<void> => {
    if (slept.push(ms) > 1_000) throw new Error("waits for ever");
    now += ms;
    await Promise.resolve();
  };
  const clock: Clock = { now: () => now, monotonic: () => now, sleep };
  return { client: undefined as unknown as WaitPorts["client"], clock, end: now + limitMs, slept };
}

test("what is found at once is returned without a pause", async () => {
  const ports = createPorts(0);
  expect(await waitFor("find it", ports, async () => await Promise.resolve(0))).toBe(0);
  expect(ports.slept).toEqual([]);
});

test("what is not there is looked for again, until it is", async () => {
  const ports = createPorts(60_000);
  let looks = 0;
  expect(await waitFor("find it", ports, async () => await Promise.resolve(++looks === 3 ? "it" : undefined))).toBe("it");
  expect(ports.slept).toEqual([100, 100]);
});

test("what does not come in time is told with how long it was waited for", async () => {
  const ports = createPorts(60_000);
  const waiting = waitFor("find it", ports, async () => await Promise.resolve(undefined));
  expect(await waiting.catch((thrown: unknown) => thrown)).toMatchObject({
    kind: "tryAgainLater",
    message: "find it: it is not so after 60 s",
  });
  expect(ports.slept).toHaveLength(600);
});

test("an error while looking ends the wait at once", async () => {
  const ports = createPorts(60_000);
  await expect(waitFor("find it", ports, () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(ports.slept).toEqual([]);
});
