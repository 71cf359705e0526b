import { describe, expect, test } from "bun:test";
import { answering, clientOf, noProcesses, statusAnswer } from "../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../test/support/failure-of.ts";
import { memoryFiles } from "../../test/support/memory-files.ts";
import { freePorts } from "../../test/support/servers/free-ports.ts";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import { NetplugError } from "../lib/errors.ts";
import { systemClock } from "../lib/clock.ts";
import { KubeClient } from "./client.ts";
import { NODES, PODS } from "./core-types.ts";
import { KubeError } from "./kube-error.ts";

const NODE = { metadata: { name: "n" } };
const busy = (seconds = "0"): Response => statusAnswer(429, "TooManyRequests", "later", { headers: { "retry-after": seconds } });

describe("a request", () => {
  test("names its user agent, content type and field manager", async () => {
    await using server = answering(() => Response.json(NODE));
    await clientOf(server).patch(
      PODS,
      { namespace: "d", name: "web" },
      { type: "strategic", body: { a: 1 } },
      { subresource: "status", fieldManager: "netplug-cni" },
    );
    expect(server.seen).toEqual([
      {
        method: "PATCH",
        path: "/api/v1/namespaces/d/pods/web/status?fieldManager=netplug-cni",
        headers: expect.objectContaining({
          "content-type": "application/strategic-merge-patch+json",
          accept: "application/json",
          "user-agent": expect.stringMatching(/^netplug\/v\d/),
        }),
        body: '{"a":1}',
      },
    ]);
  });

  test("for metadata alone, and one that shall lose no field, say so", async () => {
    await using server = answering(() => Response.json({ metadata: {}, items: [] }));
    const client = clientOf(server);
    await client.list(NODES, { labelSelector: "a in (b,c)", isMetadataOnly: true, pageSize: 0 });
    await client.create(NODES, NODE, { isStrict: true });
    await client.patch(NODES, { name: "n" }, { type: "json", operations: [] }, { isStrict: true, fieldManager: "x" });
    const [list, create, patch] = server.seen;
    expect(list).toMatchObject({
      path: "/api/v1/nodes?labelSelector=a%20in%20(b%2Cc)",
      headers: { accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" },
    });
    expect(create?.path).toBe("/api/v1/nodes?fieldValidation=Strict");
    expect(patch?.path).toBe("/api/v1/nodes/n?fieldManager=x&fieldValidation=Strict");
  });

  test("that creates says what it makes: a thing of its type, or what a subresource is", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server);
    await client.create(PODS, { apiVersion: "old/v0", kind: "Old", metadata: { namespace: "d", name: "web" } });
    const review = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: "d", name: "web" } };
    await client.create(PODS, review, { subresource: "eviction" });
    await client.create(PODS, { metadata: review.metadata }, { subresource: "binding" });
    expect(server.seen.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
      ["/api/v1/namespaces/d/pods", { apiVersion: "v1", kind: "Pod", metadata: review.metadata }],
      ["/api/v1/namespaces/d/pods/web/eviction", review],
      ["/api/v1/namespaces/d/pods/web/binding", { apiVersion: "v1", kind: "Pod", metadata: review.metadata }],
    ]);
  });

  test("for a part of an object goes to that part, also where the whole object is sent", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server);
    const pod = { metadata: { namespace: "d", name: "web" } };
    await client.update(PODS, pod, { subresource: "status" });
    await client.apply(PODS, pod, { subresource: "status", fieldManager: "netplug-cni", force: true });
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "PUT /api/v1/namespaces/d/pods/web/status",
      "PATCH /api/v1/namespaces/d/pods/web/status?fieldManager=netplug-cni&force=true",
    ]);
  });

  test("that is refused says what was wanted where, which role permits it, and how to renew the credentials", async () => {
    const namespace = "d";
    const asked = async (status: number, ask: (client: KubeClient) => Promise<unknown>): Promise<string> => {
      await using server = answering(() => statusAnswer(status, "", "no"));
      return (await failureOf(ask(clientOf(server, { role: "netplug-cni", renewal: "run the installer again" })))).message;
    };
    const list = (client: KubeClient): Promise<unknown> => client.list(PODS, { namespace });
    expect(await asked(403, list)).toBe("list pods is not permitted; role netplug-cni");
    expect(await asked(401, list)).toMatch(/^list pods in namespace "d": the API server does not accept .+; run the installer again$/);
    const patchStatus = (client: KubeClient): Promise<unknown> =>
      client.patch(PODS, { namespace, name: "web" }, { type: "json", operations: [] }, { subresource: "status" });
    expect(await asked(403, patchStatus)).toBe('patch pods/status "d/web": refused: no');
  });

  test.each([
    [{}, undefined],
    [{ uid: "u" }, { uid: "u" }],
    [{ resourceVersion: "7" }, { resourceVersion: "7" }],
    [
      { uid: "u", resourceVersion: "7" },
      { uid: "u", resourceVersion: "7" },
    ],
  ])("that deletes %j hits nothing else", async (options, preconditions) => {
    await using server = answering(() => Response.json({ kind: "Status", metadata: {}, status: "Success" }));
    expect(await clientOf(server).delete(NODES, { name: "n" }, options)).toBe(true);
    expect(JSON.parse(server.seen[0]?.body ?? "")).toEqual({
      kind: "DeleteOptions",
      apiVersion: "v1",
      ...(preconditions && { preconditions }),
    });
  });

  test.each([
    [{ as: "jane" }, { "impersonate-user": "jane" }],
    [
      { as: "jane", "as-uid": "7", "as-groups": ["devs"] },
      { "impersonate-user": "jane", "impersonate-uid": "7", "impersonate-group": "devs" },
    ],
    [{}, {}],
  ])("says whom it acts as: %j", async (user, expected) => {
    await using server = answering(() => Response.json(NODE));
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server: server.url } }],
      users: [{ name: "u", user }],
    };
    const files = memoryFiles({ "/k": JSON.stringify(config) });
    const client = new KubeClient({ kubeconfig: "/k" }, { clock: systemClock, random: () => 0.5, files, processes: noProcesses, env: {} });
    await client.get(NODES, { name: "n" });
    const headers = Object.entries(server.seen[0]?.headers ?? {});
    expect(Object.fromEntries(headers.filter(([name]) => name.startsWith("impersonate")))).toEqual(expected);
  });

  test("is on its way when the caller goes on, once it is known who asks", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server);
    await client.get(NODES, { name: "n" });
    const pending = client.get(NODES, { name: "n" });
    expect(client.requester.counts.requests).toBe(2);
    await pending;
  });

  test("that is turned away is made again when the server says, a write too", async () => {
    await using server = answering(
      () => busy("1"),
      () => Response.json(NODE),
    );
    const clock = fakeClock();
    const client = clientOf(server, {}, clock);
    const created = client.create(NODES, NODE);
    while (clock.sleepers === 0 || server.seen.length === 0 || client.requester.counts.retries === 0) await Bun.sleep(1);
    await clock.advance(999);
    // What is sent reaches the server later; it is counted at once.
    expect(client.requester.counts.requests).toBe(1);
    await clock.advance(200);
    expect(await created).toEqual(NODE);
    expect(client.requester.counts).toEqual({ requests: 2, retries: 1 });
  });

  test("that is turned away until its time is over fails with code 11", async () => {
    await using server = answering(() => busy());
    const error = await failureOf(clientOf(server).get(NODES, { name: "n" }, { limitMs: 600 }), KubeError);
    expect(error.code).toBe(11);
    // The last try may be cut off by the limit; then the one before tells why.
    expect(`${error.message} ${error.details}`).toContain('get nodes "n": the API server answers 429 TooManyRequests: later');
    expect(server.seen.length).toBeGreaterThan(1);
    // It said "at once", and is given time all the same.
    expect(server.seen.length).toBeLessThan(8);
  });

  test("is not made again when the server wants more time than there is", async () => {
    await using server = answering(() => busy("60"));
    const start = performance.now();
    const error = await failureOf(clientOf(server).get(NODES, { name: "n" }), KubeError);
    expect(error).toMatchObject({ code: 11, retryAfterMs: 60_000 });
    expect(server.seen).toHaveLength(1);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test.each([408, 409, 500, 502, 503, 504])("that reads is made again after %i", async (status) => {
    await using server = answering(
      () => statusAnswer(status, "InternalError", "etcdserver: leader changed"),
      () => Response.json(NODE),
    );
    expect(await clientOf(server).get(NODES, { name: "n" })).toEqual(NODE);
  });

  test.each([
    ["create", (client: KubeClient) => client.create(NODES, NODE)],
    ["update", (client: KubeClient) => client.update(NODES, NODE)],
    ["patch", (client: KubeClient) => client.patch(NODES, { name: "n" }, { type: "merge", body: {} })],
    ["delete", (client: KubeClient) => client.delete(NODES, { name: "n" })],
  ])("that writes (%s) is not made again after 500: it may have been carried out", async (_name, write) => {
    await using server = answering(() => statusAnswer(500, "InternalError", "etcdserver: request timed out"));
    expect(await failureOf(write(clientOf(server)))).toMatchObject({ code: 11, reason: "serverFault", isOutcomeUnknown: true });
    expect(server.seen).toHaveLength(1);
  });

  test.each([
    ["apply", (client: KubeClient) => client.apply(NODES, NODE, { fieldManager: "m" })],
    ["delete by UID", (client: KubeClient) => client.delete(NODES, { name: "n" }, { uid: "u" })],
  ])("that may be carried out twice (%s) is made again after 500", async (_name, write) => {
    await using server = answering(
      () => statusAnswer(500, "InternalError", "x"),
      () => Response.json(NODE),
    );
    await write(clientOf(server));
    expect(server.seen).toHaveLength(2);
  });

  test("that may be carried out twice and fails for good leaves the outcome unknown when an earlier try did", async () => {
    await using server = answering(
      () => statusAnswer(500, "InternalError", "x"),
      () => statusAnswer(403, "Forbidden", "quota"),
    );
    expect(await failureOf(clientOf(server).apply(NODES, NODE, { fieldManager: "m" }))).toMatchObject({
      reason: "forbidden",
      isOutcomeUnknown: true,
    });
  });

  test("that writes is made again after 503 with Retry-After: nothing was done", async () => {
    await using server = answering(
      () => statusAnswer(503, "ServiceUnavailable", "starting", { headers: { "retry-after": "0" } }),
      () => Response.json(NODE),
    );
    expect(await clientOf(server).create(NODES, NODE)).toEqual(NODE);
  });

  test("that is not answered ends with its limit, and a write's outcome is unknown", async () => {
    await using server = answering(() => new Promise(() => undefined));
    const client = clientOf(server);
    const start = performance.now();
    const read = await failureOf(client.get(NODES, { name: "n" }, { limitMs: 100 }), KubeError);
    expect(read).toMatchObject({ code: 11, reason: "lost", isOutcomeUnknown: false });
    expect(read.message).toBe(`get nodes "n": ${server.url}: no answer within 100 ms`);
    const write = await failureOf(client.create(NODES, NODE, { limitMs: 100 }), KubeError);
    expect(write).toMatchObject({ code: 11, reason: "lost", isOutcomeUnknown: true });
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test("whose answer stops in the middle ends with its limit", async () => {
    await using server = answering(
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('{"metadata":')),
          }),
        ),
    );
    expect(await failureOf(clientOf(server).get(NODES, { name: "n" }, { limitMs: 100 }))).toMatchObject({ reason: "lost" });
  });

  test("ends when its caller wants, with the caller's reason", async () => {
    const controller = new AbortController();
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 20 s");
    await using server = answering(() => {
      controller.abort(reason);
      return new Promise(() => undefined);
    });
    const pending = clientOf(server).get(NODES, { name: "n" }, { signal: controller.signal });
    expect(await failureOf(pending)).toBe(reason);
  });

  test("whose caller goes without a reason of ours leaves the outcome of a write unknown, not that of a read", async () => {
    let caller = new AbortController();
    await using server = answering(() => {
      caller.abort();
      return new Promise(() => undefined);
    });
    const client = clientOf(server);
    expect(await failureOf(client.update(NODES, NODE, { signal: caller.signal }))).toMatchObject({ isOutcomeUnknown: true });
    caller = new AbortController();
    expect(await failureOf(client.get(NODES, { name: "n" }, { signal: caller.signal }))).toMatchObject({ isOutcomeUnknown: false });
  });

  test("whose caller has gone already is never sent", async () => {
    await using server = answering(() => Response.json(NODE));
    expect(await failureOf(clientOf(server).get(NODES, { name: "n" }, { signal: AbortSignal.abort() }))).toMatchObject({ reason: "lost" });
    expect(server.seen).toHaveLength(0);
  });

  test("to a server that is not there is tried three times, then named", async () => {
    const [port] = freePorts(1);
    const client = clientOf({ url: `http://127.0.0.1:${port}` });
    const error = await failureOf(client.create(NODES, NODE), KubeError);
    expect(error).toMatchObject({ code: 11, reason: "unreachable", isOutcomeUnknown: false });
    expect(error.message).toBe(`create nodes "n": http://127.0.0.1:${port}: connection refused`);
    expect(client.requester.counts).toEqual({ requests: 3, retries: 2 });
  });

  test("that is answered by something else than an API server says so", async () => {
    await using server = answering(() => new Response("<html>welcome</html>", { headers: { "content-type": "text/html" } }));
    expect(await failureOf(clientOf(server).get(NODES, { name: "n" }))).toMatchObject({
      message: 'get nodes "n": the answer is no JSON; is there an API server?',
      isOutcomeUnknown: false,
    });
    expect(await failureOf(clientOf(server).create(NODES, NODE))).toMatchObject({ reason: "lost", isOutcomeUnknown: true });
  });

  test.each([
    ["update", (client: KubeClient) => client.update(NODES, NODE), "PUT"],
    ["delete", (client: KubeClient) => client.delete(NODES, { name: "n" }), "DELETE"],
    ["create", (client: KubeClient) => client.create(NODES, NODE), "POST"],
    ["patch", (client: KubeClient) => client.patch(NODES, { name: "n" }, { type: "merge", body: {} }), "PATCH"],
  ])("that writes (%s) is sent once when a kept connection closes under it", async (_name, write, method) => {
    const methods: string[] = [];
    const used = new WeakSet<object>();
    const listener = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, data) {
          const [first = ""] = new TextDecoder().decode(data).split(" ");
          // A streamed body may come in a piece of its own.
          if (/^[A-Z]+$/.test(first)) methods.push(first);
          if (used.has(socket)) socket.end();
          else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 25\r\n\r\n{"metadata":{"name":"n"}}');
          used.add(socket);
        },
      },
    });
    const client = clientOf({ url: `http://127.0.0.1:${listener.port}` });
    await client.get(NODES, { name: "n" });
    expect(await failureOf(write(client))).toMatchObject({ reason: "lost", isOutcomeUnknown: true });
    expect(methods).toEqual(["GET", method]);
    client.close();
    listener.stop(true);
  });

  test("does not follow a redirection, which would show our credentials to others", async () => {
    await using server = answering(() => Response.redirect("http://127.0.0.1:1/elsewhere"));
    expect(await failureOf(clientOf(server).get(NODES, { name: "n" }))).toMatchObject({ reason: "unexpected", status: 302 });
    expect(server.seen).toHaveLength(1);
  });

  test("waits for its turn when there were too many, and fails when that takes too long", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server, { qps: 20, burst: 2 });
    const start = performance.now();
    await Promise.all(Array.from({ length: 4 }, () => client.get(NODES, { name: "n" })));
    expect(performance.now() - start).toBeGreaterThan(90);
    const slow = clientOf(server, { qps: 0.01, burst: 1 });
    await slow.get(NODES, { name: "n" });
    const error = await failureOf(slow.get(NODES, { name: "n" }), KubeError);
    expect(error).toMatchObject({ code: 11, reason: "throttled" });
    expect(error.message).toBe('get nodes "n": not sent within 5 s, for so many requests are waiting; raise qps and burst');
  });

  test("that was not sent leaves its turn to others", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server, { qps: 1, burst: 1 });
    await client.get(NODES, { name: "n" });
    for (let i = 0; i < 10; i++) await failureOf(client.get(NODES, { name: "n" }, { limitMs: 10 }));
    // Behind ten others it would be 11 s, which is beyond the limit.
    await client.get(NODES, { name: "n" });
    expect(server.seen).toHaveLength(2);
  });

  test("whose caller goes while it waits for its turn leaves the turn to others", async () => {
    await using server = answering(() => Response.json(NODE));
    const client = clientOf(server, { qps: 1, burst: 1 });
    await client.get(NODES, { name: "n" });
    const gone = new AbortController();
    const waiting = Array.from({ length: 10 }, () => failureOf(client.get(NODES, { name: "n" }, { signal: gone.signal })));
    gone.abort();
    await Promise.all(waiting);
    // Behind ten others it would be 11 s, which is beyond the limit.
    await client.get(NODES, { name: "n" });
    expect(server.seen).toHaveLength(2);
  });
});

describe("an object that is not there", () => {
  const missing = (): Response => statusAnswer(404, "NotFound", 'nodes "n" not found');

  test("is undefined to whoever gets it, false to whoever deletes it, an error to others", async () => {
    await using server = answering(missing);
    const client = clientOf(server);
    expect(await client.get(NODES, { name: "n" })).toBeUndefined();
    expect(await client.delete(NODES, { name: "n" })).toBe(false);
    expect(await failureOf(client.update(NODES, NODE))).toMatchObject({ reason: "notFound" });
  });
});
