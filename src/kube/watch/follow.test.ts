import { describe, expect, test } from "bun:test";
import type { FakeApiServer, SeenRequest } from "../../../test/kube/support/fake-api-server.ts";
import { clientOf, startFakeApiServer, statusAnswer } from "../../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Clock } from "../../lib/ports.ts";
import type { Node } from "../core-types.ts";
import { NODES } from "../core-types.ts";
import type { FollowEvent } from "./follow.ts";
import { follow } from "./follow.ts";

const node = (name: string, resourceVersion: string): Node => ({ metadata: { name, resourceVersion } });
const list = (revision: string, ...names: readonly string[]): Response =>
  Response.json({ metadata: { resourceVersion: revision }, items: names.map((name) => node(name, revision)) });
const event = (type: string, name: string, revision: string): string => `${JSON.stringify({ type, object: node(name, revision) })}\n`;
const bookmark = (revision: string): string =>
  `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: revision } } })}\n`;
const gone = statusObject(410, "Expired", "too old resource version: 1 (9)");

function statusObject(code: number, reason: string, message: string): object {
  return { kind: "Status", status: "Failure", code, reason, message };
}

/** A watch that tells this and closes, or stays open. */
function stream(texts: readonly string[], isOpen = false): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      if (!isOpen) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** The line end makes the server send the head. */
const silent = (): Response => stream(["\n"], true);

/** Lists and watches are answered in this order, and then with silence; how far the store has come, with `newest`. */
function serving(lists: readonly (() => Response)[], watches: readonly (() => Response)[], newest = "1000"): FakeApiServer {
  const [nextList, nextWatch] = [lists.values(), watches.values()];
  return startFakeApiServer(({ path }) => {
    if (/[?&]limit=1(?:&|$)/.test(path)) return list(newest);
    return ((path.includes("watch=true") ? nextWatch : nextList).next().value ?? silent)();
  });
}

/**
 * Pauses are a hundredth as long, and no time passes. Requests, which say their limits to the clock too, have all their time: machines are slow now
 * and then.
 */
function makeQuickClock(onPause: (ms: number) => unknown = () => undefined): Clock {
  return {
    ...systemClock,
    monotonic: () => 0,
    sleep(ms, signal) {
      if (ms > 2_000) return systemClock.sleep(ms, signal);
      onPause(ms);
      return systemClock.sleep(ms / 100, signal);
    },
  };
}

/** Watches that stand for so long, in which they tell nothing, and then end; on a clock on which that time passes at once. */
function makeStanding(
  onPause?: (ms: number) => unknown,
  standMs = 1_000,
): { readonly clock: Clock; readonly standing: (last?: string) => Response } {
  const quick = makeQuickClock(onPause);
  let [aheadMs, end] = [0, (): void => undefined];
  const clock: Clock = {
    ...quick,
    monotonic: () => aheadMs,
    sleep(ms, signal) {
      // It waits for a line, for as long as a connection may be silent: so it has opened.
      if (ms > 100_000) end();
      return quick.sleep(ms, signal);
    },
  };
  const standing = (last = ""): Response =>
    new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          const tell = (text: string): void => controller.enqueue(new TextEncoder().encode(text));
          tell("\n");
          end = () => {
            end = () => undefined;
            aheadMs += standMs;
            tell(last);
            controller.close();
          };
        },
      }),
    );
  return { clock, standing };
}

/** The first events as words: `put a 5`. */
async function firstEvents(
  server: FakeApiServer,
  count: number,
  clock: Clock = makeQuickClock(),
  words: string[] = [],
): Promise<readonly string[]> {
  const controller = new AbortController();
  const events = follow(clientOf(server, {}, clock), { clock, random: () => 0.5 }, NODES, { signal: controller.signal });
  for await (const one of events) {
    words.push(toWords(one));
    if (words.length === count) controller.abort();
  }
  return words;
}

function toWords(one: FollowEvent<Node>): string {
  if (one.type === "error") return `error ${one.failure.reason}`;
  return "object" in one ? `${one.type} ${one.object.metadata.name} ${one.object.metadata.resourceVersion}` : one.type;
}

function revisionsWatched({ seen }: { readonly seen: readonly SeenRequest[] }): readonly (string | null)[] {
  return seen
    .filter(({ path }) => path.includes("watch=true"))
    .map(({ path }) => new URL(path, "http://x").searchParams.get("resourceVersion"));
}

describe("following", () => {
  test("tells what is there, then what changes", async () => {
    await using server = serving(
      [() => list("5", "a", "b")],
      [() => stream([event("ADDED", "c", "6") + event("MODIFIED", "a", "7"), event("DELETED", "b", "8")], true)],
    );
    expect(await firstEvents(server, 7)).toEqual(["reset", "put a 5", "put b 5", "in-sync", "put c 6", "put a 7", "delete b 8"]);
    expect(server.seen[1]?.path).toContain("allowWatchBookmarks=true");
    expect(server.seen[1]?.path).toContain("timeoutSeconds=450");
  });

  test("goes on where a closed watch was, a partial line at its end dropped", async () => {
    await using server = serving(
      [() => list("5")],
      [() => stream([event("ADDED", "a", "6"), event("ADDED", "b", "7").slice(0, 20)]), () => stream([event("ADDED", "b", "7")], true)],
    );
    expect(await firstEvents(server, 6)).toEqual(["reset", "in-sync", "put a 6", "error lost", "resumed", "put b 7"]);
    expect(revisionsWatched(server)).toEqual(["5", "6"]);
  });

  test("goes on from a bookmark, which is told to nobody", async () => {
    await using server = serving([() => list("5")], [() => stream([bookmark("90")]), () => stream([event("ADDED", "a", "91")], true)]);
    expect(await firstEvents(server, 5)).toEqual(["reset", "in-sync", "error lost", "resumed", "put a 91"]);
    expect(revisionsWatched(server)).toEqual(["5", "90"]);
  });

  test.each([
    ["as the answer", () => Response.json(gone, { status: 410 })],
    ["as an event", () => stream([`${JSON.stringify({ type: "ERROR", object: gone })}\n`])],
  ])("begins anew when history is gone, said %s", async (_name, expired) => {
    await using server = serving([() => list("5", "a"), () => list("9", "b")], [expired, () => stream([event("ADDED", "c", "10")], true)]);
    expect(await firstEvents(server, 7)).toEqual(["reset", "put a 5", "in-sync", "reset", "put b 9", "in-sync", "put c 10"]);
    expect(revisionsWatched(server)).toEqual(["5", "9"]);
  });

  test.each([
    ["5", ["reset", "in-sync"], ["10", "5"]],
    ["9", ["reset", "in-sync"], ["10", "5"]],
    ["10", ["resumed"], ["10", "10"]],
    ["100", ["resumed"], ["10", "10"]],
  ])("of a store that has come to revision %s when a watch of 10 is lost tells %j", async (newest, told, revisions) => {
    const lists = [() => list("10"), () => list("5")];
    await using server = serving(lists, [() => stream(["no json\n"]), () => stream([event("ADDED", "a", "200")], true)], newest);
    const words = await firstEvents(server, 4 + told.length);
    expect(words).toEqual(["reset", "in-sync", "error lost", ...told, "put a 200"]);
    expect(revisionsWatched(server)).toEqual(revisions);
  });

  test("tells of an error, and goes on where it was", async () => {
    await using server = serving(
      [() => list("5")],
      [
        () => stream([event("ADDED", "a", "6"), `${JSON.stringify({ type: "ERROR", object: statusObject(500, "InternalError", "x") })}\n`]),
        () => stream(["no json\n"]),
        () => stream([event("ADDED", "b", "7")], true),
      ],
    );
    const broken = ["error serverFault", "resumed", "error lost", "resumed"];
    expect(await firstEvents(server, 8)).toEqual(["reset", "in-sync", "put a 6", ...broken, "put b 7"]);
    expect(revisionsWatched(server)).toEqual(["5", "6", "6"]);
  });

  test("waits for a server that cannot list yet", async () => {
    await using server = serving([() => Response.json(statusObject(401, "Unauthorized", "x"), { status: 401 }), () => list("5")], []);
    expect(await firstEvents(server, 3)).toEqual(["error unauthorized", "reset", "in-sync"]);
  });

  test("waits for a server that has started, and does not know for long what roles permit", async () => {
    const words: string[] = [];
    const isReady = (): boolean => words.length >= 2;
    let aheadMs = 0;
    const denied = (): Response => {
      // Two of them take as long as one request is tried.
      aheadMs += 2_500;
      return statusAnswer(403, "Forbidden", 'nodes is forbidden: User "u" cannot list resource "nodes" in API group ""');
    };
    await using server = startFakeApiServer(
      ({ path }) => (isReady() ? (path.includes("watch=true") ? silent() : list("5")) : denied()),
      () => (isReady() ? 200 : 500),
    );
    await firstEvents(server, 4, { ...makeQuickClock(), monotonic: () => aheadMs }, words);
    expect(words).toEqual(["error forbidden", "error forbidden", "reset", "in-sync"]);
  });

  test("ends with a denial that lasts longer than any server starts, where nobody may ask whether it is ready", async () => {
    let aheadMs = 0;
    const denied = (): Response => {
      aheadMs += 100_000;
      return statusAnswer(403, "Forbidden", 'cannot watch resource "nodes" in API group ""');
    };
    await using server = startFakeApiServer(
      ({ path }) => (path.includes("watch=true") ? denied() : list("5")),
      () => 403,
    );
    const words: string[] = [];
    const following = firstEvents(server, 9, { ...makeQuickClock(), monotonic: () => aheadMs }, words);
    expect(await failureOf(following)).toMatchObject({ reason: "forbidden", message: "watch nodes is not permitted" });
    // Counted from the first denial: 100 s and 200 s later it goes on.
    expect(words).toEqual(["reset", "in-sync", "error forbidden", "error forbidden", "error forbidden"]);
  });

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

  test("waits for an API server behind something that speaks for it meanwhile", async () => {
    await using server = serving(
      [() => list("5")],
      [() => new Response("<html>sorry</html>", { status: 421 }), () => stream([event("ADDED", "a", "6")], true)],
    );
    expect(await firstEvents(server, 5)).toEqual(["reset", "in-sync", "error unexpected", "resumed", "put a 6"]);
  });

  test.each([
    "rubbish",
    "null",
    '{"type":"ADDED"}',
    '{"type":"ADDED","object":{"kind":"Node"}}',
    '{"type":"BOOKMARK","object":{"metadata":null}}',
    '{"type":"RENAMED","object":{"metadata":{}}}',
  ])("goes on where it was after the line %p", async (line) => {
    await using server = serving([() => list("5")], [() => stream([event("ADDED", "a", "6"), `${line}\n`]), () => silent()]);
    expect(await firstEvents(server, 4)).toEqual(["reset", "in-sync", "put a 6", "error lost"]);
    expect(revisionsWatched(server)).toEqual(["5"]);
  });

  test.each([
    ["30", 30_000],
    ["1000000", 60_000],
  ])("waits as long as a server wants that has too much to do (Retry-After: %s), within reason", async (retryAfter, pauseMs) => {
    const pauses: number[] = [];
    const controller = new AbortController();
    const clock: Clock = {
      ...systemClock,
      sleep(ms, signal) {
        // Requests say their limits, of 5 s, to the clock too.
        if (ms > 4_000 && ms <= 5_000) return systemClock.sleep(ms, signal);
        pauses.push(ms);
        controller.abort();
        return Promise.reject(signal?.reason as Error);
      },
    };
    await using server = serving([() => statusAnswer(429, "TooManyRequests", "busy", { headers: { "retry-after": retryAfter } })], []);
    const ports = { clock, random: () => 0.5 };
    await Array.fromAsync(follow(clientOf(server, {}, clock), ports, NODES, { signal: controller.signal }));
    expect(pauses).toEqual([pauseMs]);
  });

  test("ends without a word when its caller goes while the server is asked what is there", async () => {
    const controller = new AbortController();
    await using server = startFakeApiServer(() => {
      controller.abort();
      return silent();
    });
    const events = follow(clientOf(server), { clock: systemClock, random: () => 0.5 }, NODES, { signal: controller.signal });
    expect(await Array.fromAsync(events)).toEqual([]);
  });

  test("ends with a failure that no retry can fix", async () => {
    const denied = (): Response => statusAnswer(403, "Forbidden", 'cannot list resource "nodes" in API group ""');
    await using server = serving([denied, denied], []);
    expect(await failureOf(firstEvents(server, 1))).toMatchObject({ reason: "forbidden", message: "list nodes is not permitted" });
  });

  test("connects again when a server is silent for so long that the connection may be dead", async () => {
    await using server = serving(
      [() => list("5")],
      [() => stream([event("ADDED", "z", "6")], true), () => stream([event("ADDED", "a", "7")], true)],
    );
    const clock = fakeClock();
    const words: string[] = [];
    const done = firstEvents(server, 6, clock, words);
    while (words.length < 3) await Bun.sleep(1);
    await clock.advance(149_000);
    expect(server.seen).toHaveLength(2);
    await clock.advance(1_100);
    while (revisionsWatched(server).length < 2) await clock.advance(1_000).then(() => Bun.sleep(5));
    expect(await done).toEqual(["reset", "in-sync", "put z 6", "error lost", "resumed", "put a 7"]);
    expect(revisionsWatched(server)).toEqual(["5", "6"]);
  });

  test("connects again at once after a connection that stood for a second, even if it told nothing", async () => {
    const words: string[] = [];
    const { clock, standing } = makeStanding((ms) => words.length < 3 && words.push(`pause ${ms}`));
    await using server = serving([() => list("5")], [standing, standing, () => stream([event("ADDED", "a", "6")], true)]);
    expect(await firstEvents(server, 3, clock, words)).toEqual(["reset", "in-sync", "put a 6"]);
  });

  test("tells all anew when a watch ended well, and the store of the server that takes the next is older", async () => {
    const { clock, standing } = makeStanding();
    await using server = serving(
      [() => list("10", "a"), () => list("5", "b")],
      [standing, () => stream([event("ADDED", "c", "6")], true)],
      "5",
    );
    expect(await firstEvents(server, 7, clock)).toEqual(["reset", "put a 10", "in-sync", "reset", "put b 5", "in-sync", "put c 6"]);
    expect(revisionsWatched(server)).toEqual(["10", "5"]);
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

  test("ends when history is gone where it shall be one, without another list", async () => {
    await using server = serving(
      [() => list("5", "a")],
      [() => stream([event("ADDED", "b", "6"), `${JSON.stringify({ type: "ERROR", object: gone })}\n`])],
    );
    const clock = makeQuickClock(() => expect.unreachable());
    const options = { signal: new AbortController().signal, isOneHistory: true };
    const events = await Array.fromAsync(follow(clientOf(server, {}, clock), { clock, random: () => 0.5 }, NODES, options));
    expect(events.map(toWords)).toEqual(["reset", "put a 5", "in-sync", "put b 6"]);
    expect(server.seen).toHaveLength(2);
  });

  test("does not hammer a server that has no history for any watch, and lists all at once again where the last list was good for 10 s", async () => {
    let now = 0;
    const watches = [0, 0, 9_999, 0, 0, 10_000, 0].map((ms) => (): Response => {
      now += ms;
      return Response.json(gone, { status: 410 });
    });
    await using server = serving(
      Array.from({ length: 8 }, () => () => list("5")),
      watches,
    );
    const pauses: number[] = [];
    const clock = { ...makeQuickClock((ms) => pauses.push(ms)), monotonic: () => now };
    await firstEvents(server, 2 * 8, clock);
    // one more is begun, and ended by the signal
    expect(pauses.slice(0, -1)).toEqual([75, 150, 300, 600, 1_200, 75]);
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
