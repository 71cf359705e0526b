import { afterEach, expect, test } from "bun:test";
import { systemClock } from "../../lib/clock.ts";
import type { Clock, Files } from "../../lib/ports.ts";
import type { WatchEvent } from "../datastore.ts";
import { EtcdDatastore } from "./etcd-datastore.ts";

const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

// as a server says that has come further meanwhile
const CREATED = '{"result":{"header":{"revision":"9"},"watch_id":"1","created":true}}';
const COMPACTED = '{"result":{"header":{},"watch_id":"1","canceled":true,"compact_revision":"7"}}';

const EMPTY = '{"header":{"revision":"5"},"succeeded":true,"responses":[{"response_range":{}}]}';

/**
 * A gateway that answers the watches with these lines, one after the other, and the last of them for ever.
 *
 * @param staysOpen is given the watch's number, from 0, and returns until when it stays open; undefined: it ends at once
 * @param read answers what is read before watches
 */
function serve(
  answers: readonly (readonly string[])[],
  onWatch: (body: string) => void = () => undefined,
  staysOpen: (watch: number) => Promise<void> | undefined = () => undefined,
  read: () => Response = () => new Response(EMPTY),
) {
  let watches = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0, // else it ends itself what stays open
    async fetch(request) {
      const path = new URL(request.url).pathname;
      if (path === "/v3/auth/authenticate") return Response.json({ token: "t" });
      if (path !== "/v3/watch") return read();
      onWatch(await request.text());
      const text = (answers[Math.min(watches++, answers.length - 1)] ?? []).map((line) => `${line}\n`).join("");
      const end = staysOpen(watches - 1);
      if (end === undefined) return new Response(text);
      return new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(text));
            void end.then(() => controller.close());
          },
        }),
      );
    },
  });
  stops.push(() => void server.stop(true));
  return { endpoint: `http://127.0.0.1:${server.port}` };
}

/** The line that tells of a pool's end at this revision. */
function deletion(name: string, revision: number): string {
  const kv = `{"key":"${btoa(`/netplug/v3/ippools/${name}`)}","mod_revision":"${revision}"}`;
  return `{"result":{"header":{"revision":"${revision}"},"watch_id":"1","events":[{"type":"DELETE","kv":${kv}}]}}`;
}

/** Watches pools with a clock on which pauses pass at once; `onPause` may move it. */
function watch(
  endpoint: string,
  onPause: (ms: number) => void,
  monotonic = systemClock.monotonic,
  onPauseOver: () => void = () => undefined,
): AsyncIterable<WatchEvent> {
  const ending = new AbortController();
  const clock: Clock = {
    ...systemClock,
    monotonic,
    async sleep(ms, signal) {
      if (ms >= 30_000) return await systemClock.sleep(ms, signal); // until a silent server is asked
      onPause(ms);
      await systemClock.sleep(0, signal);
      onPauseOver();
    },
  };
  const datastore = new EtcdDatastore(
    { endpoints: [endpoint], username: "root", password: "secret" },
    { clock, random: () => 1, files: {} as Files },
  );
  stops.push(() => {
    ending.abort();
    datastore.close();
  });
  return datastore.watch({ kinds: ["IPPool"], signal: ending.signal });
}

/** The first `count` pauses of a watch. */
async function pausesOf(endpoint: string, count: number, monotonic?: () => number): Promise<readonly number[]> {
  const pauses: number[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const events = watch(endpoint, (ms) => pauses.push(ms) === count && resolve(), monotonic);
  const reading = (async () => {
    for await (const event of events) if (event.type === "unreadable") throw new Error(event.reason);
  })();
  await Promise.race([promise, reading]);
  return pauses.slice(0, count);
}

async function take(events: AsyncIterable<WatchEvent>, count: number): Promise<readonly string[]> {
  const taken: string[] = [];
  for await (const event of events) if (taken.push(event.type) === count) break;
  return taken;
}

test.each([
  [16, "etcdserver: invalid auth token"],
  [3, "etcdserver: user name is empty"],
  [14, "connection closed"], // of the gateway to its own server
])("a watch that ends with %i %j goes on with what its next start repairs", async (code, message) => {
  const refusal = JSON.stringify({ error: { grpc_code: code, message } });
  const { endpoint } = serve([
    [CREATED, refusal],
    [CREATED, deletion("a", 6)],
  ]);
  expect(
    await take(
      watch(endpoint, () => undefined),
      3,
    ),
  ).toEqual(["reset", "in-sync", "delete"]);
});

test("a watch that the server cancels, and whose connection it leaves open, goes on over another", async () => {
  const answers = [
    [CREATED, '{"result":{"header":{},"watch_id":"1","canceled":true,"cancel_reason":"no more"}}'],
    [CREATED, deletion("a", 6)],
  ];
  const { endpoint } = serve(
    answers,
    () => undefined,
    () => new Promise(() => undefined),
  );
  expect(
    await take(
      watch(endpoint, () => undefined),
      3,
    ),
  ).toEqual(["reset", "in-sync", "delete"]);
});

const GROWING = [50, 100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];

test.each([
  ["nothing at all", [[]]],
  ["that it has begun", [[CREATED]]],
  ["that it has begun, and a refusal", [[CREATED, '{"error":{"grpc_code":14,"message":"no leader"}}']]],
])("connections that say %s and end are made with pauses that grow", async (_, answers) => {
  expect(await pausesOf(serve(answers).endpoint, GROWING.length, () => 1_000_000)).toEqual(GROWING);
});

test("no connection is made before a pause is over", async () => {
  const story: string[] = [];
  const { endpoint } = serve([[CREATED], [CREATED], [CREATED, deletion("a", 6)]], () => story.push("connection"));
  await take(
    watch(
      endpoint,
      () => story.push("pause"),
      () => 0,
      () => story.push("end"),
    ),
    5,
  );
  expect(story).toEqual(["connection", "pause", "end", "connection", "pause", "end", "connection"]);
});

test("a signal ends a watch at once that has no snapshot yet", async () => {
  const asked = Promise.withResolvers<void>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => {
      asked.resolve();
      return new Promise<Response>(() => undefined);
    },
  });
  stops.push(() => void server.stop(true));
  const ending = new AbortController();
  const ports = { clock: systemClock, random: () => 1, files: {} as Files, limits: { requestMs: 600_000, tryMs: 600_000 } };
  const datastore = new EtcdDatastore({ endpoints: [`http://127.0.0.1:${server.port}`] }, ports);
  const events = datastore.watch({ kinds: ["IPPool"], signal: ending.signal })[Symbol.asyncIterator]();
  const next = events.next();
  await asked.promise;
  ending.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test.each([
  ["its next connection", () => serve([[CREATED]]).endpoint, 1, ["reset", "in-sync"]],
  // The first two pauses are those of the request that fails.
  ["its first snapshot", () => "http://127.0.0.1:1", 3, []],
  [
    "another snapshot, as history was gone right behind two",
    () => serve([[CREATED, COMPACTED]]).endpoint,
    1,
    ["reset", "in-sync", "reset", "in-sync", "interrupted"],
  ],
])("a signal ends a watch at once that waits for %s", async (_what, start, pause, told) => {
  const endpoint = start();
  const ending = new AbortController();
  let pauses = 0;
  const clock: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      if (ms < 30_000 && ++pauses === pause) ending.abort();
      await systemClock.sleep(ms, signal);
    },
  };
  const datastore = new EtcdDatastore({ endpoints: [endpoint] }, { clock, random: () => 1, files: {} as Files });
  const types: string[] = [];
  for await (const { type } of datastore.watch({ kinds: ["IPPool"], signal: ending.signal })) types.push(type);
  expect([pauses, types]).toEqual([pause, told]);
  datastore.close();
});

test("a watch goes on from where the server says that all was told, and at a member that lags behind", async () => {
  const progress = '{"result":{"header":{"revision":"12"},"watch_id":"1"}}';
  const [lagging, current] = ["4", "12"].map((revision) => CREATED.replace('"9"', `"${revision}"`)) as [string, string];
  const revisions: (string | undefined)[] = [];
  const { endpoint } = serve([[lagging], [CREATED, progress], [current, deletion("a", 13)]], (body) => {
    revisions.push(/"start_revision":"(\d+)"/.exec(body)?.[1]);
  });
  expect(
    await take(
      watch(endpoint, () => undefined),
      3,
    ),
  ).toEqual(["reset", "in-sync", "delete"]);
  expect(revisions).toEqual(["6", "6", "13"]);
});

test("connections that begin and end at once, without a change, are told as an interruption, and a change is told when it comes", async () => {
  const { endpoint } = serve([[CREATED], [CREATED], [CREATED], [CREATED, deletion("a", 6)]]);
  const flapping = ["interrupted", "resumed"];
  const events = watch(
    endpoint,
    () => undefined,
    () => 0,
  );
  expect(await take(events, 7)).toEqual(["reset", "in-sync", ...flapping, ...flapping, "delete"]);
});

test.each([
  [1_000, "ends", ["50", "interrupted", "100", "200"]],
  [999, "goes on with", ["interrupted", "200", "400", "800"]],
])("a connection that stands for %i ms, and is ended without a word, %s a row of failures", async (standMs, _, next) => {
  const ended = Promise.withResolvers<void>();
  const { endpoint } = serve(
    [[CREATED], [CREATED], [CREATED], [], [], [CREATED, deletion("a", 6)]],
    () => undefined,
    (watch) => (watch === 2 ? ended.promise : undefined),
  );
  let now = 0;
  const told: string[] = [];
  for await (const { type } of watch(
    endpoint,
    (ms) => told.push(`${ms}`),
    () => now,
  )) {
    if (type === "delete") break;
    told.push(type);
    if (type !== "resumed") continue;
    now += standMs;
    ended.resolve();
  }
  expect(told).toEqual(["reset", "in-sync", "50", "interrupted", "100", "resumed", ...next, "resumed"]);
});

test("after a connection that gave an event, the pause is short again", async () => {
  const answers = [[CREATED], [CREATED], [CREATED, deletion("a", 6)], [CREATED], [CREATED, deletion("b", 7)], [CREATED]];
  expect(await pausesOf(serve(answers).endpoint, 6, () => 0)).toEqual([50, 100, 50, 100, 50, 100]);
});

/** What a watch tells until something is deleted, and its pauses. */
async function storyOf(endpoint: string): Promise<readonly string[]> {
  const story: string[] = [];
  const events = watch(
    endpoint,
    (ms) => story.push(`${ms}`),
    () => 0,
  );
  for await (const { type } of events) if (story.push(type) > 50 || type === "delete") break;
  return story;
}

test("snapshots that cannot be read are a row of failures, which the next one ends that can", async () => {
  const reads = [false, false, false, true, false, false].values();
  const corrupt = (): Response => Response.json({ code: 15, message: "etcdserver: corrupt cluster" }, { status: 500 });
  const { endpoint } = serve(
    [
      [CREATED, COMPACTED],
      [CREATED, deletion("a", 6)],
    ],
    undefined,
    undefined,
    () => ((reads.next().value ?? true) ? new Response(EMPTY) : corrupt()),
  );
  const snapshot = ["resumed", "reset", "in-sync"];
  const begun = ["50", "interrupted", "100"];
  expect(await storyOf(endpoint)).toEqual([...begun, "200", ...snapshot, ...begun, ...snapshot, "delete"]);
});

test("where history is gone, all is told anew at once, and the row of failures is over", async () => {
  const { endpoint } = serve([[], [], [COMPACTED], [], [], [CREATED, deletion("a", 6)]]);
  const interrupted = ["50", "interrupted", "100", "resumed"];
  expect(await storyOf(endpoint)).toEqual(["reset", "in-sync", ...interrupted, "reset", "in-sync", ...interrupted, "delete"]);
});

test("where history is gone right behind each snapshot, snapshots after the second are read with pauses that grow", async () => {
  const { endpoint } = serve([[CREATED, COMPACTED]]);
  const story: string[] = [];
  const events = watch(
    endpoint,
    (ms) => story.push(`${ms}`),
    () => 0,
  );
  for await (const { type } of events) if (story.push(type) > 50) break;
  const pauses = story.filter((one) => Number(one) > 0);
  expect(pauses.slice(0, 8)).toEqual(["100", "200", "400", "800", "1600", "3200", "5000", "5000"]);
  const again = (pause: string): readonly string[] => ["interrupted", pause, "resumed", "reset", "in-sync"];
  expect(story.slice(0, 14)).toEqual(["reset", "in-sync", "reset", "in-sync", ...again("100"), ...again("200")]);
});

test.each([
  [[1_000, 1_000, 1_000, 1_000], []],
  [
    [999, 999, 999, 999],
    ["100", "200", "400"],
  ],
  [[999, 1_000, 999, 999], ["100"]],
])("where histories in a row are gone after %j ms, the pauses are %j", async (standMs, pauses) => {
  let now = 0;
  const { endpoint } = serve(
    [...standMs.map(() => [CREATED, COMPACTED]), [CREATED, deletion("a", 6)]],
    () => undefined,
    (watch) => void (now += standMs[watch] ?? 0),
  );
  const story: string[] = [];
  const events = watch(
    endpoint,
    (ms) => story.push(`${ms}`),
    () => now,
  );
  for await (const { type } of events) if (type === "delete") break;
  expect(story).toEqual(pauses);
});
