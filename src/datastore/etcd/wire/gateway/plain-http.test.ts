import { afterEach, expect, test } from "bun:test";
import { failureOf } from "../../../../../test/support/failure-of.ts";
import { systemClock } from "../../../../lib/clock.ts";
import type { ByteStream } from "../../../../lib/ports.ts";
import { Fd } from "../../../../linux/fd.ts";
import { KernelError } from "../../../../linux/kernel-error.ts";
import { connectTcp } from "../../../../linux/tcp.ts";
import { EtcdFailure } from "../../protocol/failure.ts";
import { PlainHttp } from "./plain-http.ts";

const stops: (() => void)[] = [];

afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

type Socket = Bun.Socket;

/** A server of bytes. @returns its endpoint */
function listen(handler: Partial<{ open(socket: Socket): void; data(socket: Socket, bytes: Uint8Array): void }>): string {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined, ...handler } });
  stops.push(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

function serve(handler: (request: Request) => Response | Promise<Response>, hostname = "127.0.0.1"): string {
  const server = Bun.serve({ hostname, port: 0, fetch: handler });
  stops.push(() => void server.stop(true));
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${server.port}`;
}

function open(): PlainHttp {
  const http = new PlainHttp(connectTcp, systemClock);
  stops.push(() => http.close());
  return http;
}

const never = new AbortController().signal;
const post = (http: PlainHttp, endpoint: string, body: string, signal = never) =>
  http.post({ endpoint, path: "/v3/kv/txn", headers: { "content-type": "application/json" }, body, signal });

test.each(["127.0.0.1", "::1"])("a body goes to %s and comes back whole, also when it is larger than any buffer", async (hostname) => {
  const endpoint = serve(async (request) => new Response(`${request.method} ${await request.text()}`), hostname);
  const http = open();
  const body = "Zürich 東京 ".repeat(400_000);
  expect(await post(http, endpoint, body)).toEqual({ status: 200, body: `POST ${body}`, isKept: true });
});

test("requests one after the other share a connection, and those at once do not", async () => {
  let connections = 0;
  const reply = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  const endpoint = listen({ open: () => void connections++, data: (socket) => void socket.write(reply) });
  const descriptors = Fd.openCount();
  const http = open();
  await post(http, endpoint, "1");
  await post(http, endpoint, "2");
  expect(connections).toBe(1);
  await Promise.all([post(http, endpoint, "3"), post(http, endpoint, "4")]);
  expect(connections).toBe(2);
  http.close();
  expect(Fd.openCount()).toBe(descriptors);
});

test("a connection that the server has closed, or spoken on unasked, is not used again", async () => {
  let replies = 0;
  const sockets: Socket[] = [];
  const endpoint = listen({
    open: (socket) => void sockets.push(socket),
    data: (socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n${++replies}`),
  });
  const descriptors = Fd.openCount();
  const http = open();
  expect((await post(http, endpoint, "")).body).toBe("1");
  sockets.at(-1)?.end();
  expect((await post(http, endpoint, "")).body).toBe("2");
  sockets.at(-1)?.write("HTTP/1.1 408 Request Timeout\r\ncontent-length: 7\r\n\r\nUNASKED");
  expect((await post(http, endpoint, "")).body).toBe("3");
  expect((await post(http, endpoint, "")).body).toBe("4");
  expect(sockets).toHaveLength(3);
  http.close();
  expect(Fd.openCount()).toBe(descriptors);
});

test("requests arrive in the order in which they were made", async () => {
  const arrived: string[] = [];
  const endpoint = serve(async (request) => {
    arrived.push(await request.text());
    return new Response("done");
  });
  const http = open();
  await post(http, endpoint, "warm");
  expect((await post(http, endpoint, "again")).body).toBe("done");
  expect(arrived).toEqual(["warm", "again"]);
});

test("timers have their turn while a reply takes long", async () => {
  const endpoint = serve(async () => {
    await ran.promise;
    return new Response("late");
  });
  const ran = Promise.withResolvers<void>();
  let times = 0;
  const timer = setInterval(() => ++times > 3 && ran.resolve(), 1);
  expect((await post(open(), endpoint, "")).body).toBe("late");
  clearInterval(timer);
});

test("an abort ends the wait with its reason and closes the connection", async () => {
  const abort = new AbortController();
  const reason = new EtcdFailure("lost", "no answer within 20 ms");
  const endpoint = listen({ data: () => abort.abort(reason) });
  const descriptors = Fd.openCount();
  expect(await failureOf(post(open(), endpoint, "", abort.signal), EtcdFailure)).toBe(reason);
  expect(Fd.openCount()).toBe(descriptors);
});

/** A connection that gives these pieces one by one, and counts what is done with it. */
function script(pieces: Iterable<string>, msPerRead: number) {
  const counts = { reads: 0, turns: 0 };
  const rest = pieces[Symbol.iterator]();
  let now = 0;
  const stream: ByteStream = {
    write: (bytes) => bytes.length,
    read() {
      if (++counts.reads > 100_000) throw new Error("nobody else has a turn");
      now += msPerRead;
      return new TextEncoder().encode(rest.next().value ?? "");
    },
    [Symbol.dispose]: () => undefined,
  };
  const sleep = async (): Promise<void> => {
    counts.turns++;
    await systemClock.sleep(0);
  };
  const http = new PlainHttp(() => stream, { sleep, monotonic: () => now });
  stops.push(() => http.close());
  return { http, counts };
}

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

test.each([0.01, 2, 4])("a reply that keeps coming, a piece each %d ms, ends when its time is up", async (msPerRead) => {
  function* pieces() {
    for (yield CHUNKED; ;) yield "1\r\nx\r\n";
  }
  const { http } = script(pieces(), msPerRead);
  const abort = new AbortController();
  const reason = new EtcdFailure("lost", "no answer within 5 ms");
  setTimeout(() => abort.abort(reason), 5);
  expect(await failureOf(post(http, "http://127.0.0.1:1", "", abort.signal), EtcdFailure)).toBe(reason);
});

test("a reply that comes soon is read in one go, in as many reads as it has pieces", async () => {
  const { http, counts } = script([CHUNKED, "2\r\no", "k\r\n", "0\r\n\r\n"], 1);
  expect((await post(http, "http://127.0.0.1:1", "")).body).toBe("ok");
  expect(counts).toEqual({ reads: 4, turns: 0 });
});

test("an abort before the first byte is sent says so, and a later one does not", async () => {
  const write = [() => 0, (bytes: Uint8Array) => Math.min(1, bytes.length)];
  const reasons = [];
  for (const [i, each] of write.entries()) {
    const abort = new AbortController();
    const stream: ByteStream = { write: each, read: () => undefined, [Symbol.dispose]: () => undefined };
    const http = new PlainHttp(() => stream, {
      monotonic: () => 0,
      sleep: async () => abort.abort(new EtcdFailure("lost", "no answer within 5 s")),
    });
    const { reason, message } = await failureOf(post(http, "http://127.0.0.1:1", "body", abort.signal), EtcdFailure);
    reasons.push([i, reason, message]);
  }
  expect(reasons).toEqual([
    [0, "unreachable", "no answer within 5 s"],
    [1, "lost", "no answer within 5 s"],
  ]);
  const { reason } = await failureOf(post(open(), "http://127.0.0.1:1", "", AbortSignal.abort(new Error("over"))), EtcdFailure);
  expect(reason).toBe("unreachable");
});

test("nobody listening is unreachable, so that a commit may be sent again", async () => {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
  const endpoint = `http://127.0.0.1:${server.port}`;
  server.stop(true);
  const { reason, message } = await failureOf(post(open(), endpoint, ""), EtcdFailure);
  expect([reason, message]).toEqual(["unreachable", "connection refused"]);
});

test.each([
  ["before the reply", "", "connection closed without a reply"],
  ["inside its head", "HTTP/1.1 200 OK\r\nconte", "the connection ended before it"],
  ["inside its body", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok", "the connection ended inside its body"],
])("a connection that ends %s leaves the outcome open", async (_, sent, text) => {
  const endpoint = listen({ data: (socket) => void socket.end(sent) });
  const { reason, message } = await failureOf(post(open(), endpoint, ""), EtcdFailure);
  expect([reason, message.includes(text)]).toEqual(["lost", true]);
});

const [EPIPE, ECONNRESET, ETIMEDOUT] = [32, 104, 110] as const;
const broken = (errno: number) => (): never => {
  throw new KernelError({ operation: "use", object: "connection", errno, kind: "ioFailure" });
};
/** Takes one byte, then breaks. */
function takesOne(errno: number): ByteStream["write"] {
  let taken = 0;
  return () => (taken++ === 0 ? 1 : broken(errno)());
}
const takesAll: ByteStream["write"] = (bytes) => bytes.length;
/** Gives the beginning of a reply, then breaks. */
function begins(errno: number): ByteStream["read"] {
  let given = 0;
  return () => (given++ === 0 ? new TextEncoder().encode("HTTP/1.1 200 OK") : broken(errno)());
}

test.each<[string, ByteStream["write"], ByteStream["read"], EtcdFailure["reason"], string]>([
  ["before the first byte is sent", broken(EPIPE), () => undefined, "unreachable", "broken pipe"],
  ["when a part is sent", takesOne(EPIPE), () => undefined, "lost", "connection lost (EPIPE)"],
  ["before the reply", takesAll, broken(ECONNRESET), "lost", "connection closed without a reply"],
  ["before the reply, otherwise", takesAll, broken(ETIMEDOUT), "lost", "connection lost (ETIMEDOUT)"],
  ["inside the reply", takesAll, begins(ECONNRESET), "lost", "connection lost (ECONNRESET)"],
])("a connection that breaks %s says whether the request may have arrived", async (_when, write, read, reason, message) => {
  let isOpen = true;
  const http = new PlainHttp(() => ({ write, read, [Symbol.dispose]: () => (isOpen = false) }), systemClock);
  expect(await failureOf(post(http, "http://127.0.0.1:1", "body"), EtcdFailure)).toMatchObject({ reason, message });
  expect(isOpen).toBe(false);
});

test("an exception of our own code is thrown as it is, not as a failure of etcd", async () => {
  const fault = new TypeError("a defect");
  const write = (): never => {
    throw fault;
  };
  const http = new PlainHttp(() => ({ write, read: () => undefined, [Symbol.dispose]: () => undefined }), systemClock);
  await expect(post(http, "http://127.0.0.1:1", "body")).rejects.toBe(fault);
});

test.each([
  ["http://127.0.0.1:2379", true],
  ["http://[fd00::1]:2379", true],
  ["https://127.0.0.1:2379", false],
  ["http://etcd.example:2379", false],
])("%s is one for us: %p", (endpoint, isServed) => {
  expect(PlainHttp.serves(endpoint)).toBe(isServed);
});

test("a request that is on its way when all is closed keeps no connection", async () => {
  const before = Fd.openCount();
  const http = new PlainHttp(connectTcp, systemClock);
  const reply = post(
    http,
    serve(() => new Response("late")),
    "",
  );
  http.close();
  expect((await reply).body).toBe("late");
  expect(Fd.openCount()).toBe(before);
});
