import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { Fd } from "./fd.ts";
import { takeLock } from "./flock.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-flock-"));
afterAll(() => rmSync(folder, { recursive: true }));

const take = (path: string, waitMs: number) => takeLock(path, { waitMs, clock: systemClock });

test("a lock that somebody else has is waited for no longer than asked", async () => {
  const path = join(folder, "below", "lock");
  using held = await take(path, 0);
  expect(held).toBeDefined();
  const began = performance.now();
  expect(await take(path, 30)).toBeUndefined();
  expect(performance.now() - began).toBeWithin(29, 1_000);
});

test("a lock that is released goes to the next one in the queue", async () => {
  const path = join(folder, "lock");
  const held = await take(path, 0);
  const waiting = take(path, 10_000);
  held?.[Symbol.dispose]();
  using next = await waiting;
  expect(next).toBeDefined();
});

test("a lock ends with the process that holds it", async () => {
  const path = join(folder, "lock");
  await using holder = Bun.spawn(["flock", "--no-fork", path, "sh", "-c", "echo held; exec sleep 60"], { stdout: "pipe" });
  await holder.stdout.getReader().read();
  expect(await take(path, 0)).toBeUndefined();
  holder.kill("SIGKILL");
  using lock = await take(path, 10_000);
  expect(lock).toBeDefined();
});

test("a wait that is over leaves nothing open", async () => {
  const path = join(folder, "lock");
  using held = await take(path, 0);
  const before = Fd.openCount();
  expect(await take(path, 20)).toBeUndefined();
  expect(Fd.openCount()).toBe(before);
  expect(held).toBeDefined();
});
