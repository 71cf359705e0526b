import { describe, expect, test } from "bun:test";
import { clientOf, statusAnswer } from "../../../test/kube/support/fake-api-server.ts";
import {
  event,
  firstEvents,
  list,
  makeQuickClock,
  makeStanding,
  revisionsWatched,
  serving,
  silent,
  stream,
  toWords,
} from "../../../test/kube/support/followed-server.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/ports.ts";
import { NODES } from "../core-types.ts";
import { follow } from "./follow.ts";

describe("following", () => {
  test.each([
    [1_000, [1, 1, 1, 1, 2], [75, 75, 75, 75]],
    [999, [1, 2, 3, 4, 5, 6], [75, 150, 300, 600, 1_200]],
  ])(
    "where watches stand for %i ms and end without a word, and then none opens, failures in a row are %j",
    async (standMs, failures, paused) => {
      const pauses: number[] = [];
      const { clock, standing } = makeStanding((ms) => pauses.push(ms), standMs);
      const breaking = (): Response => standing("no json\n");
      const refused = (): Response => new Response("sorry", { status: 421 });
      await using server = serving([() => list("5")], [() => stream([]), breaking, breaking, standing, refused, refused]);
      const ports = { clock, random: () => 0.5 };
      const told: number[] = [];
      for await (const one of follow(clientOf(server, {}, clock), ports, NODES, { signal: new AbortController().signal })) {
        if (one.type === "error" && told.push(one.failures) === failures.length) break;
      }
      expect([told, pauses]).toEqual([failures, paused]);
    },
  );

  test.each([
    ["30", 30_000, "list", []],
    ["1000000", 60_000, "list", []],
    ["30", 30_000, "watch", ["reset", "in-sync"]],
    ["1000000", 60_000, "watch", ["reset", "in-sync"]],
  ])(
    "waits as long as a server wants that has too much to do (Retry-After: %s), within reason: %i ms before another %s",
    async (retryAfter, pauseMs, what, told) => {
      const pauses: number[] = [];
      const controller = new AbortController();
      const clock: Clock = {
        ...systemClock,
        sleep(ms, signal) {
          // Requests say their limits, of 5 s, to the clock too, and watches theirs, of 10 s.
          if ((ms > 4_000 && ms <= 5_000) || (ms > 9_000 && ms <= 10_000)) return systemClock.sleep(ms, signal);
          // What has ended pauses no more.
          if (signal?.aborted !== true) pauses.push(ms);
          controller.abort();
          return Promise.reject(signal?.reason as Error);
        },
      };
      const busy = (): Response => statusAnswer(429, "TooManyRequests", "busy", { headers: { "retry-after": retryAfter } });
      await using server = what === "list" ? serving([busy], []) : serving([() => list("5")], [busy]);
      const ports = { clock, random: () => 0.5 };
      const events = await Array.fromAsync(follow(clientOf(server, {}, clock), ports, NODES, { signal: controller.signal }));
      expect([events.map(toWords), pauses]).toEqual([[...told, "error throttled"], [pauseMs]]);
    },
  );

  test("connects again at once after a connection that stood for a second, even if it told nothing", async () => {
    const words: string[] = [];
    const { clock, standing } = makeStanding((ms) => words.length < 3 && words.push(`pause ${ms}`));
    await using server = serving([() => list("5")], [standing, standing, () => stream([event("ADDED", "a", "6")], true)]);
    expect(await firstEvents(server, 3, clock, words)).toEqual(["reset", "in-sync", "put a 6"]);
  });

  test("has short pauses again once it has told something", async () => {
    await using server = serving(
      [() => list("5")],
      [() => stream([]), () => stream([]), () => stream([event("ADDED", "a", "6")]), () => stream([event("ADDED", "b", "7")], true)],
    );
    const pauses: number[] = [];
    await firstEvents(
      server,
      10,
      makeQuickClock((ms) => pauses.push(ms)),
    );
    expect(pauses.slice(0, 3)).toEqual([75, 150, 75]);
  });

  test("counts lists that fail as one row, and what comes after a list as another", async () => {
    const refused = (): Response => new Response("sorry", { status: 421 });
    await using server = serving([refused, refused, () => list("5")], [refused, silent]);
    const story: (string | number)[] = [];
    const clock = makeQuickClock((ms) => story.push(ms));
    const ports = { clock, random: () => 0.5 };
    for await (const one of follow(clientOf(server, {}, clock), ports, NODES, { signal: new AbortController().signal })) {
      story.push(one.type === "error" ? `error ${one.failures}` : one.type);
      if (one.type === "resumed") break;
    }
    expect(story).toEqual(["error 1", 75, "error 2", 150, "reset", "in-sync", "error 1", 75, "resumed"]);
  });

  test("does not hammer a server that closes every watch at once", async () => {
    await using server = serving(
      [() => list("5")],
      Array.from({ length: 50 }, () => () => stream([])),
    );
    const controller = new AbortController();
    const pauses: number[] = [];
    const clock = makeQuickClock((ms) => {
      if (pauses.push(ms) === 5) controller.abort();
    });
    await Array.fromAsync(follow(clientOf(server, {}, clock), { clock, random: () => 0.5 }, NODES, { signal: controller.signal }));
    expect(pauses.slice(0, 5)).toEqual([75, 150, 300, 600, 1_200]);
    // Before each watch but the first, one look how far the store is; and the list at the beginning.
    expect([revisionsWatched(server).length, server.seen.length]).toEqual([5, 5 + 4 + 1]);
  });
});
