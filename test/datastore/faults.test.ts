/** One server that is away, slow, full or no etcd, and replies that are lost. */

import { describe, expect, test } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { EtcdConfig } from "../../src/datastore/config/datastore-config.ts";
import { REQUEST_LIMITS } from "../../src/datastore/etcd/client/client.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import type { DatastorePorts } from "../../src/datastore/open.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { connectTcp } from "../../src/linux/tcp.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { freePorts } from "../support/servers/free-ports.ts";
import { durationOf } from "../support/time/duration.ts";
import { eventually } from "../support/time/eventually.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { IMPATIENT, openEtcd as openWith } from "./open-etcd.ts";
import { makePool, poolRef } from "./resources.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn } from "./steps.ts";

const QUICK = { quick: true };

describe.concurrent.each([
  ["over fetch", {}],
  ["over sockets of our own", { connect: connectTcp }],
] as const)("one server, %s,", (_, ports) => {
  const openEtcd = (etcd: EtcdConfig, more: Partial<DatastorePorts> = {}): Datastore => openWith(etcd, { ...ports, ...more });

  // Alone, as all whose time is taken: those beside it would be a part of that time.
  test.serial("that is not there is asked a few times, then named", async () => {
    const [port = 0] = freePorts(1);
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${port}`] });
    for (const attempt of [() => namesIn(datastore), () => create(datastore, "a")]) {
      const beRefused = async (): Promise<void> => {
        const error = await failureOf(attempt());
        expect(error).toMatchObject({ kind: "tryAgainLater", code: 11, retriable: true });
        expect(error).not.toBeInstanceOf(OutcomeUnknown);
        expect(error.message).toMatch(/^(read from|commit to) etcd: http:\/\/127\.0\.0\.1:\d+: connection refused$/);
      };
      expect(await durationOf(beRefused)).toBeLessThan(4_000);
    }
    expect(datastore.requests.retries).toBeGreaterThan(0);
  });

  test("that does not exist by name says so", async () => {
    const error = await failureOf(namesIn(openEtcd({ endpoints: ["http://no-such-host.invalid:2379"] })));
    expect(error.kind).toBe("tryAgainLater");
    expect(error.message).toContain("http://no-such-host.invalid:2379: ");
  });

  test("that comes back is used again, with nothing lost", async () => {
    await using server = await startEtcd(QUICK);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    await create(datastore, "a");
    await server.stop();
    expect(await failureOf(namesIn(datastore))).toMatchObject({ kind: "tryAgainLater" });
    await server.start();
    expect(await namesIn(datastore)).toEqual(["a"]);
  });

  test("is waited for no longer than five seconds, whatever it does", () => {
    expect(REQUEST_LIMITS).toEqual({ requestMs: 5_000, tryMs: 1_500 });
  });

  test.serial("that stands still fails a read when its time is up, and leaves a commit's outcome unknown", async () => {
    await using server = await startEtcd(QUICK);
    const datastore = openEtcd({ endpoints: [server.endpoint] }, { limits: IMPATIENT });
    const patient = openEtcd({ endpoints: [server.endpoint] });
    expect(await namesIn(patient)).toEqual([]);
    await server.pause();
    const beLost = async (): Promise<void> => {
      const [read, commit] = await Promise.all([failureOf(namesIn(datastore)), failureOf(create(datastore, "a"))]);
      expect(read.message).toMatch(/^read from etcd: http:\/\/127\.0\.0\.1:\d+: no answer within \d+ ms$/);
      expect(read).toMatchObject({ kind: "tryAgainLater" });
      expect(commit).toBeInstanceOf(OutcomeUnknown);
      expect(commit.message).toMatch(/^commit to etcd: http:\/\/127\.0\.0\.1:\d+: no answer within \d+ ms; it may have been applied$/);
    };
    expect(await durationOf(beLost)).toBeWithin(750, 4_000);
    server.resume();
    expect(["a", undefined]).toContain((await namesIn(patient))[0]);
  });

  test("is not asked for a caller whose time is up already, and a commit is known not to be applied", async () => {
    let requests = 0;
    const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(`{"token":"${++requests}"}`) });
    try {
      const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 5 s");
      for (const user of [{}, { username: "netplug", password: "secret" }]) {
        const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${server.port}`], ...user });
        const signal = AbortSignal.abort(reason);
        expect(await failureOf(datastore.commit([{ op: "delete", ref: poolRef("a") }], { signal }))).toBe(reason);
      }
      expect(requests).toBe(0);
    } finally {
      await server.stop(true);
    }
  });

  test("that stands still is waited for no longer than the caller wants", async () => {
    await using server = await startEtcd(QUICK);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    await server.pause();
    const list = [{ type: "list", kind: "IPPool" }] as const;
    expect(await failureOf(datastore.read(list, { signal: AbortSignal.timeout(50) }))).toMatchObject({ kind: "tryAgainLater" });
    const writes = [{ op: "create", resource: makePool("a") }] as const;
    expect(await failureOf(datastore.commit(writes, { signal: AbortSignal.timeout(50) }))).toBeInstanceOf(OutcomeUnknown);
  });

  test("that is slow has all of the time that there is for a commit, and for a read where no other is left", async () => {
    await using server = await startEtcd(QUICK);
    using proxy = new TcpProxy(server.port);
    proxy.delayMs = 600;
    const [one, other] = ["127.0.0.1", "localhost"].map((name) => `http://${name}:${proxy.port}`) as [string, string];
    for (const [endpoints, read, retries] of [
      [[one], true, 0],
      [[one, other], true, 1],
      [[one, other], false, 0],
    ] as const) {
      const datastore = openEtcd({ endpoints }, { limits: { requestMs: 4_000, tryMs: 250 } });
      if (read) expect(await namesIn(datastore)).toEqual([]);
      else expect(await create(datastore, "a")).toMatchObject({ committed: true });
      expect([endpoints, read, datastore.requests.retries]).toEqual([endpoints, read, retries]);
    }
  });

  test("that is not there is not asked on for a caller who has gone while nobody asks", async () => {
    const failureBy = async (reason: Error): Promise<NetplugError> => {
      const ending = new AbortController();
      const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
        ending.abort(reason);
        await systemClock.sleep(ms, signal);
      };
      const datastore = openEtcd({ endpoints: ["http://127.0.0.1:1"] }, { clock: { ...systemClock, sleep } });
      return await failureOf(datastore.read([{ type: "list", kind: "IPPool" }], { signal: ending.signal }));
    };
    const own = new NetplugError("tryAgainLater", "wait for etcd: not done within 5 s");
    expect(await failureBy(own)).toBe(own);
    expect(await failureBy(new Error("gone"))).toMatchObject({ kind: "tryAgainLater", message: "read from etcd: interrupted" });
  });

  test("that is no etcd is refused with what it said", async () => {
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("<html>", { status: 200 }) });
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${server.port}`] }, { limits: IMPATIENT });
    let { message } = await failureOf(namesIn(datastore));
    // the time can be over in the middle of the last of its tries
    while (/no (?:answer within|time left)/.test(message)) ({ message } = await failureOf(namesIn(datastore)));
    expect(message).toContain("the reply is not etcd's JSON");
  });

  test("that is out of space takes no commit, still answers, and is told how to recover", async () => {
    await using server = await startEtcd({ ...QUICK, args: ["--quota-backend-bytes=1000000"] });
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    await create(datastore, "before");
    const value = "x".repeat(100_000); // the longest argument that a process takes is a little more
    for (let i = 0; i < 20; i++) await server.ctl(["put", `/filler/${i}`, value]).catch(() => undefined);
    expect(await server.ctl(["alarm", "list"])).toContain("alarm:NOSPACE");
    const error = await failureOf(create(datastore, "a"));
    expect(error).toMatchObject({ kind: "tryAgainLater" });
    expect(error).not.toBeInstanceOf(OutcomeUnknown);
    expect(error.message).toContain("etcdserver: mvcc: database space exceeded; compact and defragment etcd, then disarm its alarm");
    expect(await namesIn(datastore)).toEqual(["before"]);

    await server.ctl(["del", "--prefix", "/filler/"]);
    const revision = /"revision":(\d+)/.exec(await server.ctl(["get", "x", "-w", "json"]))?.[1] ?? "";
    await server.ctl(["compact", "--physical", revision]);
    await server.ctl(["defrag"]);
    await server.ctl(["alarm", "disarm"]);
    await create(datastore, "after");
    expect(await namesIn(datastore)).toEqual(["after", "before"]);
  });

  test("that takes fewer operations than a commit has refuses it; more than 128 are not even sent", async () => {
    await using server = await startEtcd({ ...QUICK, args: ["--max-txn-ops=16"] });
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    const writes = Array.from({ length: 129 }, (_, index) => ({ op: "create", resource: makePool(`p${index}`) }) as const);
    const tooMany = await failureOf(datastore.commit(writes));
    expect(tooMany).toMatchObject({
      kind: "internal",
      message: "commit 129 writes: got 129 operations, etcd takes 128 in one transaction",
    });
    expect(datastore.requests.roundTrips).toBe(0);
    expect((await failureOf(datastore.commit(writes.slice(0, 17)))).message).toContain("too many operations in txn request");
  });
});

const WAYS = [
  ["gateway over fetch", {}],
  ["gateway over sockets of our own", { connect: connectTcp }],
  ["gRPC", {}],
] as const;

const argsFor = (way: string): readonly string[] => (way === "gRPC" ? ["--enable-grpc-gateway=false"] : []);

// its own limit, and that of its connections
test.each([
  [1_600_000, "request is too large"],
  [2_200_000, "received message larger than max"],
])("a commit of %i bytes is refused for good, not sent again and again", async (size, reason) => {
  for (const [way, ports] of WAYS) {
    await using server = await startEtcd({ ...QUICK, args: argsFor(way) });
    const datastore = openWith({ endpoints: [server.endpoint] }, ports);
    await namesIn(datastore);
    const { roundTrips } = datastore.requests;
    const pool = makePool("a");
    const resource = { ...pool, metadata: { ...pool.metadata, annotations: { note: "x".repeat(size) } } };
    expect(await failureOf(datastore.commit([{ op: "create", resource }]))).toMatchObject({
      kind: "internal",
      message: expect.stringMatching(new RegExp(`${reason}.*; .* longer blockSize$`)),
    });
    expect(datastore.requests.roundTrips - roundTrips).toBe(1);
    datastore.close();
  }
});

describe.concurrent.each(WAYS)("a reply of the %s that is lost", (way, ports) => {
  const options = { ...QUICK, args: argsFor(way) };

  test.each(["fresh", "kept-alive"])(
    "on a %s connection is not taken for a conflict, and the commit is not sent twice",
    async (connection) => {
      await using server = await startEtcd(options);
      using proxy = new TcpProxy(server.port);
      const datastore = openWith({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, ports);
      // The first request of all finds out that the gateway is off, and is safe to repeat.
      if (connection === "kept-alive" || way === "gRPC") await namesIn(datastore);
      if (connection === "fresh") proxy.cut();
      const before = await revisionOf(server);
      proxy.mode = "swallow";
      const failing = failureOf(create(datastore, "a"));
      // Not with the server's first bytes: those of HTTP/2 are a greeting, and may come before it has the request.
      while ((await revisionOf(server)) === before) await Bun.sleep(5);
      proxy.cut();
      const error = await failing;
      expect(error).toBeInstanceOf(OutcomeUnknown);
      expect(error).toMatchObject({ kind: "tryAgainLater", code: 11 });
      proxy.mode = "pass";
      expect(await namesIn(datastore)).toEqual(["a"]);
      expect(await revisionOf(server)).toBe(before + 1);
    },
  );

  test("is asked for again when it is a read's", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const datastore = openWith({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, ports);
    proxy.mode = "drop";
    const names = namesIn(datastore);
    await proxy.firstFault;
    proxy.mode = "pass";
    expect(await names).toEqual([]);
    expect(datastore.requests.retries).toBeGreaterThan(0);
  });

  test("because the connection was cut between two requests costs nothing but a new connection", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const datastore = openWith({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, ports);
    await namesIn(datastore);
    proxy.cut();
    expect(await namesIn(datastore)).toEqual([]);
  });

  test("because the connection went as in a power cut, without a word, costs the request that found out, and no other", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const datastore = openWith({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, { ...ports, limits: IMPATIENT });
    // A server that has only just started may be slower than that.
    await eventually(() => namesIn(datastore));
    proxy.lose();
    expect((await failureOf(namesIn(datastore))).message).toContain("no answer within");
    expect(await namesIn(datastore)).toEqual([]);
  });
});

async function revisionOf(server: Awaited<ReturnType<typeof startEtcd>>): Promise<number> {
  return Number(/"revision":(\d+)/.exec(await server.ctl(["get", "x", "-w", "json"]))?.[1]);
}
