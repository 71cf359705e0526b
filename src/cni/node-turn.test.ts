import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../lib/clock.ts";
import { leaveRequest } from "../linux/line-requests.ts";
import { stand } from "../linux/place.ts";
import { readTimeSinceBoot } from "../linux/process-start.ts";
import { countWork, lineOf } from "../linux/line-files.ts";
import { takeTurn } from "../linux/turn.ts";
import type { NodeTurn } from "../ipam/node-turn.ts";
import type { Call } from "./call.ts";
import { takeNodeTurn } from "./node-turn.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-node-turn-"));
afterAll(() => rmSync(folder, { recursive: true }));

const HOUR_MS = 3_600_000;

/** Of a call that began now, on a machine that is suspended for an hour before the call's turn. */
function beginCall(path: string): () => Promise<NodeTurn | undefined> {
  const call = {
    config: { ipamLockFile: path },
    host: {
      clock: systemClock,
      sinceBoot: () => readTimeSinceBoot() + HOUR_MS,
      processStart: () => systemClock.monotonic(),
      takeTurn: (lock: string, options: object) => takeTurn(lock, { waitMs: 0, ...options, clock: systemClock }),
    },
    workCount: countWork(path),
    openLine: () => Promise.reject(new Error("nobody asks for anything")),
  };
  return async () => {
    const turn = await takeNodeTurn(call as unknown as Call & Pick<typeof call, "openLine">, { waitMs: 0, longestMs: 0 });
    if (turn === "met") throw new Error("nothing was asked for");
    return turn;
  };
}

/** Somebody's turn, who does something for others. */
async function workForOthers(path: string): Promise<void> {
  using place = stand(lineOf(path));
  using _left = leaveRequest(path, place?.name ?? "", "wanted");
  using turn = await takeTurn(path, { waitMs: 0, clock: systemClock });
  expect(turn?.line?.read()).toHaveLength(1);
}

test("a turn says whether somebody may have met a request since the call began", async () => {
  const path = join(folder, "lock");
  const isAfterMeeting = async (take: () => Promise<NodeTurn | undefined>): Promise<boolean | undefined> => {
    using turn = await take();
    return turn?.isAfterMeeting;
  };
  expect(await isAfterMeeting(beginCall(path))).toBe(false);
  const before = beginCall(path);
  await workForOthers(path);
  expect(await isAfterMeeting(before)).toBe(true);
  expect(await isAfterMeeting(beginCall(path))).toBe(false);
});
