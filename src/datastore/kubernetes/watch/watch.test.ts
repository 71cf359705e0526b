import { expect, test } from "bun:test";
import { clientOf, startFakeApiServer, statusAnswer } from "../../../../test/kube/support/fake-api-server.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { Clock } from "../../../lib/ports.ts";
import { watchKubernetes } from "./watch.ts";

const gone = (): Response => statusAnswer(410, "Expired", "too old resource version: 1 (9)");
/** A watch that opens, and then breaks. */
const broken = (): Response => new Response("no json\n");

/**
 * What is told of pools, and the pauses apart from it, until a watch is asked for that has no answer here. Pauses pass at once, time only in lists, for so long.
 *
 * @param watches the answers, in this order
 */
async function watchPools(listMs: readonly number[], watches: readonly (() => Response)[]) {
  const [told, pauses]: [string[], number[]] = [[], []];
  const ending = new AbortController();
  const [lists, answers] = [listMs.values(), watches.values()];
  let now = 0;
  await using server = startFakeApiServer(({ path }) => {
    if (!path.includes("watch=true")) {
      // A look at the newest revision is no list.
      if (!/[?&]limit=1(?:&|$)/.test(path)) now += lists.next().value ?? 0;
      return Response.json({ metadata: { resourceVersion: "5" }, items: [] });
    }
    const { done, value } = answers.next();
    if (done !== true) return value();
    ending.abort();
    return gone();
  });
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    sleep(ms, signal) {
      // Requests say their limits to the clock too.
      if (ms > 2_000) return systemClock.sleep(ms, signal);
      if (signal?.aborted !== true) pauses.push(ms);
      return systemClock.sleep(0, signal);
    },
  };
  const source = { client: clientOf(server, {}, clock), clock, random: () => 0.5 };
  for await (const { type } of watchKubernetes(source, { kinds: ["IPPool"], signal: ending.signal })) told.push(type);
  return { told, pauses };
}

const SNAPSHOT = ["reset", "in-sync"] as const;

test("where history is gone again and again, pauses before the next snapshot grow, until reading and following one took 10 s", async () => {
  expect(await watchPools([0, 0, 9_999, 10_000, 0, 0], [gone, gone, gone, gone, gone])).toEqual({
    told: Array.from({ length: 6 }, () => SNAPSHOT).flat(),
    pauses: [75, 150, 300, 75],
  });
});

test("an interruption lasts beyond the history in which it began", async () => {
  expect(await watchPools([0, 0], [broken, broken, broken, gone])).toEqual({
    told: [...SNAPSHOT, "interrupted", "resumed", "interrupted", "resumed", ...SNAPSHOT],
    // of one row of failures, and then the first of another
    pauses: [75, 150, 300, 75],
  });
});
