import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalWorld } from "../../../test/support/calls/local-call.ts";
import type { NodeTurn } from "../../ipam/transact/node-turn.ts";
import { systemClock } from "../../lib/clock.ts";
import { countWork, queueOf } from "../../linux/turns/queue-files.ts";
import { postRequest } from "../../linux/turns/queued-requests.ts";
import { takePlace } from "../../linux/turns/place.ts";
import { takeTurn } from "../../linux/turns/turn.ts";
import type { Call } from "../call.ts";
import type { Host } from "../host.ts";
import { takeNodeTurn } from "./node-turn.ts";

const folder = mkdtempSync(join(tmpdir(), "npgt-node-turn-"));
afterAll(() => rmSync(folder, { recursive: true }));

const takeNow: Host["takeTurn"] = (path, options) => takeTurn(path, { ...options, clock: systemClock });

/** Of a call that began now. */
function beginCall(path: string): () => Promise<NodeTurn | undefined> {
  const { call } = createLocalWorld();
  const host = { ...call.host, takeTurn: takeNow };
  // Nothing else of it is used.
  const begun = { ...call, host, config: { ...call.config, ipamLockFile: path }, workCount: countWork(path) } as Call;
  return async () => {
    const turn = await takeNodeTurn(begun, { stallMs: 0, maxMs: 0 });
    expect(turn?.queue).toBeUndefined();
    return turn;
  };
}

/** Somebody's turn, who does something for others. */
async function workForOthers(path: string): Promise<void> {
  using place = takePlace(queueOf(path));
  using _posted = postRequest(path, place?.name ?? "", "wanted");
  using turn = await takeTurn(path, { stallMs: 0, clock: systemClock });
  expect(turn?.queue?.read()).toHaveLength(1);
}

test("a turn says whether somebody may have served a request since the call began", async () => {
  const path = join(folder, "lock");
  const isReadOutdated = async (take: () => Promise<NodeTurn | undefined>): Promise<boolean | undefined> => {
    using turn = await take();
    return turn?.isReadOutdated;
  };
  expect(await isReadOutdated(beginCall(path))).toBe(false);
  const before = beginCall(path);
  await workForOthers(path);
  expect(await isReadOutdated(before)).toBe(true);
  expect(await isReadOutdated(beginCall(path))).toBe(false);
});
