import { describe, expect, test } from "bun:test";
import { clientOf, startFakeApiServer, statusAnswer } from "../../../test/kube/support/fake-api-server.ts";
import {
  bookmark,
  event,
  firstEvents,
  gone,
  list,
  makeQuickClock,
  makeStanding,
  revisionsWatched,
  serving,
  silent,
  statusObject,
  stream,
  toWords,
} from "../../../test/kube/support/followed-server.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { NODES } from "../core-types.ts";
import { follow } from "./follow.ts";

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

  test("ends when history is gone, without another list", async () => {
    await using server = serving(
      [() => list("5", "a")],
      [() => stream([event("ADDED", "b", "6"), `${JSON.stringify({ type: "ERROR", object: gone })}\n`])],
    );
    const clock = makeQuickClock(() => expect.unreachable());
    const options = { signal: new AbortController().signal };
    const events = await Array.fromAsync(follow(clientOf(server, {}, clock), { clock, random: () => 0.5 }, NODES, options));
    expect(events.map(toWords)).toEqual(["reset", "put a 5", "in-sync", "put b 6"]);
    expect(server.seen).toHaveLength(2);
  });
});
