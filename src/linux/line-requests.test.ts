import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { Fd } from "./fd.ts";
import { leaveRequest, requestsIn } from "./line-requests.ts";
import { stand } from "./place.ts";
import { readTimeSinceBoot } from "./process-start.ts";
import { lineOf, workFileOf, takeTurn } from "./turn.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-requests-"));
afterAll(() => rmSync(folder, { recursive: true }));

const takeNow = (path: string) => takeTurn(path, { waitMs: 0, clock: systemClock });

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

test("what an earlier boot noted of work for others counts for nothing", async () => {
  const path = join(folder, "earlier-boot");
  const [later, before] = [readTimeSinceBoot() + 3_600_000, readTimeSinceBoot() - 1];
  for (const [noted, workUntil] of [
    [`${later}`, undefined],
    [`${later} ${later}`, undefined],
    [`${before}`, before + 60_000],
    [`${before} ${before}`, before],
  ] as const) {
    writeFileSync(workFileOf(path), noted);
    using turn = await takeNow(path);
    expect(turn?.workUntil).toBe(workUntil);
  }
});

test("work for others that came to nothing is over when they are told so; without any, nothing is noted", () => {
  const path = join(folder, "nothing-met");
  requestsIn(path).tellMet([]);
  expect(readdirSync(folder).filter((name) => name.startsWith("nothing-met"))).toEqual([]);
  using place = stand(lineOf(path));
  if (place === undefined) throw new Error("there can be no line");
  using left = leaveRequest(path, place.name, "wanted");
  const requests = requestsIn(path);
  expect(requests.read()).toEqual([{ place: place.name, text: "wanted" }]);
  expect(readFileSync(workFileOf(path), "utf8").split(" ")).toHaveLength(1);
  requests.tellMet([]);
  expect(readFileSync(workFileOf(path), "utf8").split(" ")).toHaveLength(2);
  expect(left?.isMet()).toBe(false);
});

test("a file that nobody can have meant as a request does not stop whoever has the turn", () => {
  const path = join(folder, "huge");
  using place = stand(lineOf(path));
  if (place === undefined) throw new Error("there can be no line");
  using _left = leaveRequest(path, place.name, "wanted");
  truncateSync(`${path}.requests/${place.name}`, 80 * 1024 * 1024);
  expect(requestsIn(path).read()).toEqual([]);
});
