import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fd } from "../fd.ts";
import { isPlaceTaken, takePlace } from "./place.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-places-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LOOK_FOR_MS = 500;
/** Fewer would show nothing; on a busy machine it takes longer to see so many. */
const PLACES_TO_SEE = 11;

/** Makes a pipe such as a process leaves that dies before it holds its place. */
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
    for (const end = performance.now() + LOOK_FOR_MS; performance.now() < end || seen.size < PLACES_TO_SEE;)
      for (const name of readdirSync(queue).filter((one) => /^\d/.test(one))) {
        seen.add(name);
        // A process that leaves removes the name before anything else.
        if (!isPlaceTaken(queue, name)) expect(existsSync(join(queue, name))).toBe(false);
      }
  } finally {
    taker.kill("SIGKILL");
    await taker.exited;
  }
  expect(seen.size).toBeGreaterThanOrEqual(PLACES_TO_SEE);
});

test("the first in the queue removes what is left of processes that died before they held their place", () => {
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
  expect([second?.countLiving(), second?.countPlaces()]).toEqual([1, 1]);
  expect(Fd.openCount()).toBe(openBefore + 2);
});
