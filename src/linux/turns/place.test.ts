import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "../fd.ts";
import { isPlaceTaken, takePlace } from "./place.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-places-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LOOK_FOR_MS = 500;

/** Makes a pipe as a process leaves it that dies before it holds its place. */
function leaveUnheld(path: string): void {
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
}

test("nobody sees a place before it is held", async () => {
  const queue = join(folder, "seen");
  const program = `
    const { takePlace } = await import(${JSON.stringify(join(import.meta.dir, "place.ts"))});
    for (;;) takePlace(${JSON.stringify(queue)})?.[Symbol.dispose]();
  `;
  const taker = Bun.spawn([process.execPath, "-e", program], { stdio: ["ignore", "ignore", "inherit"] });
  const seen = new Set<string>();
  try {
    while (!existsSync(queue)) await Bun.sleep(1);
    for (const end = performance.now() + LOOK_FOR_MS; performance.now() < end;)
      for (const name of readdirSync(queue).filter((one) => /^\d/.test(one))) {
        seen.add(name);
        // whoever leaves takes the name away before anything else
        if (!isPlaceTaken(queue, name)) expect(existsSync(join(queue, name))).toBe(false);
      }
  } finally {
    taker.kill("SIGKILL");
    await taker.exited;
  }
  expect(seen.size).toBeGreaterThan(10);
});

test("what those left who died before they held their place is taken away by the first in the queue", () => {
  const queue = join(folder, "left");
  takePlace(queue)?.[Symbol.dispose]();
  leaveUnheld(join(queue, "new-0000000000000001-1-0"));
  const openBefore = Fd.openCount();
  using first = takePlace(queue);
  using second = takePlace(queue);
  second?.findBefore()?.[Symbol.dispose]();
  expect(readdirSync(queue)).toHaveLength(3);
  expect(first?.findBefore()).toBeUndefined();
  expect(readdirSync(queue).sort()).toEqual([first?.name ?? "", second?.name ?? ""]);
  expect(Fd.openCount()).toBe(openBefore + 2);
});
