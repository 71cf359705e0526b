import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { Fd } from "../fd.ts";
import { countWork, queueOf, workFileOf } from "./queue-files.ts";
import { postRequest, requestsIn } from "./queued-requests.ts";
import { takePlace } from "./place.ts";
import { takeTurn } from "./turn.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-requests-"));
afterAll(() => rmSync(folder, { recursive: true }));

const takeNow = (path: string) => takeTurn(path, { stallMs: 0, clock: systemClock });

test("a turn that cannot be begun is another's at once, and leaves nothing open", async () => {
  const path = join(folder, "unreadable");
  mkdirSync(workFileOf(path));
  const openBefore = Fd.openCount();
  await expect(takeNow(path)).rejects.toMatchObject({ errnoName: "EISDIR" });
  expect(Fd.openCount()).toBe(openBefore);
  rmSync(workFileOf(path), { recursive: true });
  using turn = await takeNow(path);
  expect(turn).toBeDefined();
});

test("work that whoever began it never ended is over with the next turn; a file with anything else says none", async () => {
  const path = join(folder, "never-ended");
  for (const [noted, workCount] of [
    ["7", 8],
    ["8", 8],
    ["0", 0],
    ["", 0],
    ["1795000000000 1795000000001", 0],
  ] as const) {
    writeFileSync(workFileOf(path), noted);
    using turn = await takeNow(path);
    expect(turn?.workCount).toBe(workCount);
    expect(countWork(path)).toBe(workCount);
  }
});

test("work for others is under way from the first look at their requests to the turn's end; without any, nothing is noted", () => {
  const path = join(folder, "nothing-met");
  requestsIn(path, 0)[Symbol.dispose]();
  {
    using nothing = requestsIn(path, 0);
    expect(nothing.read()).toEqual([]);
  }
  expect(readdirSync(folder).filter((name) => name.startsWith("nothing-met"))).toEqual([]);
  using place = takePlace(queueOf(path));
  if (place === undefined) throw new Error("there can be no queue");
  using posted = postRequest(path, place.name, "wanted");
  {
    using requests = requestsIn(path, 4);
    expect(requests.read()).toEqual([{ place: place.name, text: "wanted" }]);
    expect(requests.read()).toHaveLength(1);
    expect(countWork(path)).toBe(5);
    requests.tellServed([]);
    expect(countWork(path)).toBe(5);
  }
  expect(countWork(path)).toBe(6);
  expect(posted?.isServed()).toBe(false);
});

test("a file that nobody can have meant as a request does not stop whoever has the turn", () => {
  const path = join(folder, "huge");
  using place = takePlace(queueOf(path));
  if (place === undefined) throw new Error("there can be no queue");
  using _posted = postRequest(path, place.name, "wanted");
  truncateSync(`${path}.requests/${place.name}`, 80 * 1024 * 1024);
  expect(requestsIn(path, 0).read()).toEqual([]);
});
