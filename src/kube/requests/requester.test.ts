/** What one try leaves to the next: time, turns, what was learnt before. `../client.test.ts` has what callers see of a single failure. */

import { describe, expect, test } from "bun:test";
import { answering, clientOf, noProcesses, statusAnswer } from "../../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { memoryFiles } from "../../../test/support/memory-files.ts";
import { durationOf } from "../../../test/support/time/duration.ts";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { systemClock } from "../../lib/clock.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/ports.ts";
import { KubeClient } from "../client.ts";
import { NODES } from "../core-types.ts";
import { KubeError } from "../kube-error.ts";

const NODE = { metadata: { name: "n" } };
const REF = { name: "n" };
const DENIED = 'nodes "n" is forbidden: User "u" cannot get resource "nodes" in API group "" at the cluster scope';

const found = (): Response => Response.json(NODE);
const denied = (): Response => statusAnswer(403, "Forbidden", DENIED);
/** Nothing was done, and may be tried again at once. */
const busy = (): Response => statusAnswer(503, "ServiceUnavailable", "later", { headers: { "retry-after": "0" } });
/** Not answered like that by an API server: no further try. */
const odd = (): Response => new Response("sorry", { status: 421 });
const never = (): Promise<never> => new Promise(() => undefined);

/** With the randomness of these clients. */
const FIRST_PAUSE_MS = 37.5;

/**
 * A clock that moves by pauses, and by `pass`. Of what is slept for, each try's limit and the pauses between them, the first ends only when it is not
 * wanted any more: the first answer comes within its limit.
 */
function pausingClock() {
  let now = 0;
  const sleptMs: number[] = [];
  const sleep: Clock["sleep"] = async (ms, signal) => {
    if (sleptMs.push(ms) === 1) await systemClock.sleep(60_000, signal);
    now += ms;
  };
  return { clock: { ...systemClock, monotonic: () => now, sleep }, sleptMs, pass: (ms: number) => (now += ms) };
}

/** Answers in this order, and to the question whether it is ready as it is told. */
function startServer(answers: readonly (() => Response)[], onReadiness: () => Response | Promise<Response>) {
  let before = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => (url.endsWith("/readyz") ? onReadiness() : (answers[before++] ?? Response.error)()),
  });
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.asyncDispose]: () => server.stop(true) };
}

describe("the time of a request", () => {
  test("begins when it is known who asks", async () => {
    await using server = answering(found);
    let aheadMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server: server.url } }],
      users: [{ name: "u", user: {} }],
    };
    const files = memoryFiles({ "/k": JSON.stringify(config) });
    const slowFiles: typeof files = { ...files, readText: (path) => ((aheadMs += 60_000), files.readText(path)) };
    const client = new KubeClient({ kubeconfig: "/k" }, { clock, random: () => 0.5, files: slowFiles, processes: noProcesses, env: {} });
    expect(await client.get(NODES, REF)).toEqual(NODE);
    expect(aheadMs).toBeGreaterThan(0);
  });

  test("is for all its tries together, and told as a whole", async () => {
    const { clock, sleptMs, pass } = pausingClock();
    await using server = answering(() => (pass(100), busy()), never);
    const failure = await failureOf(clientOf(server, {}, clock).get(NODES, REF, { limitMs: 300 }), KubeError);
    expect(failure.message).toEndWith("no answer within 300 ms");
    expect(failure.details).toStartWith('before that: get nodes "n": the API server answers 503');
    expect(sleptMs).toEqual([300, FIRST_PAUSE_MS, 200 - FIRST_PAUSE_MS]);
  });

  test("leaves no room for a pause that ends after it", async () => {
    const { clock, sleptMs, pass } = pausingClock();
    await using server = answering(() => (pass(100), busy()), found);
    const limitMs = 100 + FIRST_PAUSE_MS - 1;
    expect(await failureOf(clientOf(server, {}, clock).get(NODES, REF, { limitMs }), KubeError)).toMatchObject({ code: 11 });
    expect([server.seen.length, sleptMs]).toEqual([1, [limitMs]]);
  });

  test("is not measured any more when it is over", async () => {
    await using server = answering(busy, found);
    const clock = fakeClock();
    const client = clientOf(server, {}, clock);
    const pending = client.get(NODES, REF);
    while (client.requester.counts.retries === 0) await Bun.sleep(1);
    await clock.advance(100);
    expect(await pending).toEqual(NODE);
    expect(clock.sleepers).toBe(0);
  });
});

test("each try waits for its turn", async () => {
  await using server = answering(busy, found);
  const failure = await failureOf(clientOf(server, { qps: 0.01, burst: 1 }).get(NODES, REF), KubeError);
  expect(failure).toMatchObject({ reason: "throttled", message: expect.stringContaining("raise qps and burst") });
  expect(server.seen).toHaveLength(1);
});

describe("a caller that goes", () => {
  test("ends a write by its own reason", async () => {
    const caller = new AbortController();
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 20 s");
    await using server = answering(() => (caller.abort(reason), never()));
    expect(await failureOf(clientOf(server).create(NODES, NODE, { signal: caller.signal }))).toBe(reason);
  });

  test("while there is a pause is not kept until that is over", async () => {
    const caller = new AbortController();
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 20 s");
    const waitLong = (): Response => statusAnswer(429, "TooManyRequests", "later", { headers: { "retry-after": "4" } });
    await using server = answering(waitLong, found);
    const client = clientOf(server);
    const pending = failureOf(client.get(NODES, REF, { signal: caller.signal }));
    while (client.requester.counts.retries === 0) await Bun.sleep(1);
    const end = async (): Promise<void> => {
      caller.abort(reason);
      expect(await pending).toBe(reason);
    };
    expect(await durationOf(end)).toBeLessThan(2_000);
  });
});

describe("pauses grow with each try", () => {
  test.each([
    ["that was refused", [busy, busy, busy, found], [37.5, 75, 150]],
    ["so with one that was made at once after a denial", [denied, busy, found], [75]],
  ])("%s", async (_what, answers, expected) => {
    await using server = answering(...answers);
    const sleptMs: number[] = [];
    const sleep: Clock["sleep"] = (ms, signal) => (sleptMs.push(ms), systemClock.sleep(ms, signal));
    const clock = { ...systemClock, sleep };
    expect(await clientOf(server, {}, clock).get(NODES, REF)).toEqual(NODE);
    expect(sleptMs.filter((ms) => ms < 1_000)).toEqual(expected);
  });
});

describe("what earlier tries have shown is told", () => {
  test("whether a write may have been carried out, also when it is denied in the end", async () => {
    await using server = answering(() => statusAnswer(500, "InternalError", "x"), denied, denied);
    const failure = await failureOf(clientOf(server).apply(NODES, NODE, { fieldManager: "m" }), KubeError);
    expect(failure).toMatchObject({ reason: "forbidden", isOutcomeUnknown: true });
    expect(server.seen).toHaveLength(3);
  });

  test("and what was doubted about a denial", async () => {
    await using server = startServer([denied, odd], () => new Response(null, { status: 500 }));
    const failure = await failureOf(clientOf(server).get(NODES, REF), KubeError);
    const doubt = "before that: get nodes is not permitted; the API server does not say that it is ready: it may have just started";
    expect(failure).toMatchObject({ reason: "unexpected", details: doubt });
  });
});

describe("whether the server is ready", () => {
  test("is not asked where a refusal is no denial by a role", async () => {
    await using server = answering(() => statusAnswer(403, "Forbidden", "exceeded quota"));
    const client = clientOf(server);
    expect((await failureOf(client.create(NODES, NODE))).message).not.toContain("ready");
    expect(client.requester.counts).toEqual({ requests: 1, retries: 0 });
  });

  test("is asked for within the time of the request", async () => {
    await using server = startServer([denied], never);
    const ask = async (): Promise<void> => {
      const failure = await failureOf(clientOf(server).get(NODES, REF, { limitMs: 200 }), KubeError);
      expect(failure).toMatchObject({ reason: "forbidden", message: expect.stringContaining("does not say that it is ready") });
    };
    expect(await durationOf(ask)).toBeWithin(190, 3_000);
  });
});
