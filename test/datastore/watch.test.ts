/** Watches of real etcd that outlive their connections, their history and their log-in. */

import { describe, expect, test } from "bun:test";
import type { Datastore, WatchEvent } from "../../src/datastore/datastore.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd.ts";
import { fakeClock } from "../support/time/fake-clock.ts";
import { fastClock } from "../support/time/fast-clock.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { IMPATIENT, openEtcd } from "./open-etcd.ts";
import { poolRef } from "./resources.ts";
import { failureOf } from "../support/failure-of.ts";
import { commit, create } from "./steps.ts";
import { AS_ROOT, endTokensOf, PASSWORD, switchUsersOn } from "./users.ts";
import { startWatch, take, toText } from "./watch-events.ts";

/** A watch of pools that ends with the test. */
class PoolWatch implements Disposable {
  readonly #ending = new AbortController();
  readonly #events: AsyncIterator<WatchEvent>;

  constructor(datastore: Datastore) {
    this.#events = startWatch(datastore, ["IPPool"], this.#ending.signal);
  }

  async next(count: number): Promise<readonly string[]> {
    return (await take(this.#events, count)).map(toText);
  }

  /** The next that are neither an interruption nor its end: on a busy machine a client without patience is interrupted also by a server that is well. */
  async nextChanges(count: number): Promise<readonly string[]> {
    const changes: string[] = [];
    while (changes.length < count) changes.push(...(await this.next(1)).filter((text) => text !== "interrupted" && text !== "resumed"));
    return changes;
  }

  async nextEvent(): Promise<WatchEvent | undefined> {
    return (await take(this.#events, 1))[0];
  }

  [Symbol.dispose](): void {
    this.#ending.abort();
  }
}

/** Throws the history away up to now. */
async function compact(server: EtcdServer): Promise<void> {
  const revision = /"revision":(\d+)/.exec(await server.ctl(["get", "x", "-w", "json"]))?.[1] ?? "";
  await server.ctl(["compact", "--physical", revision]);
}

describe.concurrent.each(["gateway", "gRPC"])("a watch over the %s", (way) => {
  const options = { quick: true, args: way === "gRPC" ? ["--enable-grpc-gateway=false"] : [] };

  test("goes on where it was when its connection is cut, with nothing lost and nothing twice", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const direct = openEtcd({ endpoints: [server.endpoint] });
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }));
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await create(direct, "a");
    expect(await watch.next(1)).toEqual(["put a"]);
    for (const name of ["b", "c", "d"]) {
      proxy.cut();
      await create(direct, name);
      await commit(direct, { op: "delete", ref: poolRef(name) });
      expect(await watch.next(2)).toEqual([`put ${name}`, `delete ${name}`]);
    }
  });

  test("goes on when the server was away", async () => {
    await using server = await startEtcd(options);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    using watch = new PoolWatch(datastore);
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await server.stop();
    await server.start();
    await create(datastore, "a");
    expect(await watch.next(1)).toEqual(["put a"]);
  });

  test("tells that the server is away when it stays so, and when it is back", async () => {
    await using server = await startEtcd(options);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    using watch = new PoolWatch(datastore);
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    const interrupted = watch.next(1);
    await server.stop();
    expect(await interrupted).toEqual(["interrupted"]);
    await server.start();
    expect(await watch.next(1)).toEqual(["resumed"]);
    await create(datastore, "a");
    expect(await watch.next(1)).toEqual(["put a"]);
  });

  test("begins anew when the history that it missed is gone", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const direct = openEtcd({ endpoints: [server.endpoint] });
    await create(direct, "a");
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }));
    expect(await watch.next(3)).toEqual(["reset", "put a", "in-sync"]);
    proxy.mode = "drop";
    proxy.cut();
    await create(direct, "b");
    await commit(direct, { op: "delete", ref: poolRef("a") });
    await compact(server);
    proxy.mode = "pass";
    expect(await watch.next(3)).toEqual(["reset", "put b", "in-sync"]);
    await create(direct, "c");
    expect(await watch.next(1)).toEqual(["put c"]);
  });

  test("begins anew when the server's history is that of an older backup, in which what it waits for is far ahead", async () => {
    await using server = await startEtcd(options);
    await using restored = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    await create(openEtcd({ endpoints: [restored.endpoint] }), "old");
    const direct = openEtcd({ endpoints: [server.endpoint] });
    for (const name of ["a", "b", "c", "d"]) await create(direct, name);
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }));
    expect(await watch.next(6)).toEqual(["reset", "put a", "put b", "put c", "put d", "in-sync"]);
    proxy.target = restored.port;
    proxy.cut();
    expect(await watch.next(3)).toEqual(["reset", "put old", "in-sync"]);
    await create(openEtcd({ endpoints: [restored.endpoint] }), "new");
    expect(await watch.next(1)).toEqual(["put new"]);
  });

  test("reads no snapshots one right after the other where history is gone behind each", async () => {
    await using server = await startEtcd(options);
    const direct = openEtcd({ endpoints: [server.endpoint] });
    const pauses: number[] = [];
    const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
      if (ms < 30_000) pauses.push(ms);
      await systemClock.sleep(ms, signal);
    };
    using watch = new PoolWatch(openEtcd({ endpoints: [server.endpoint] }, { clock: { ...systemClock, monotonic: () => 0, sleep } }));
    const told: (string | undefined)[] = [];
    // Each history is gone before it is followed: that begins when the next event is asked for.
    for (const name of ["a", "b", "c"]) {
      for (let last; last !== "in-sync"; told.push(last)) [last] = await watch.next(1);
      await create(direct, name);
      await commit(direct, { op: "delete", ref: poolRef(name) });
      await compact(server);
    }
    expect([told, pauses]).toEqual([
      ["reset", "in-sync", "reset", "in-sync", "interrupted", "resumed", "reset", "in-sync"],
      [expect.any(Number)],
    ]);
    expect(await watch.next(4)).toEqual(["interrupted", "resumed", "reset", "in-sync"]);
    await create(direct, "d");
    expect(await watch.next(1)).toEqual(["put d"]);
  });

  test("is not disturbed by a compaction while it is up to date", async () => {
    await using server = await startEtcd(options);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    using watch = new PoolWatch(datastore);
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await create(datastore, "a");
    expect(await watch.next(1)).toEqual(["put a"]);
    await compact(server);
    await create(datastore, "b");
    expect(await watch.next(1)).toEqual(["put b"]);
  });

  test("logs in again when its token is no longer taken", async () => {
    await using server = await startEtcd(options);
    await switchUsersOn(server);
    using proxy = new TcpProxy(server.port);
    const as = (username: string, port: number) => openEtcd({ endpoints: [`http://127.0.0.1:${port}`], username, password: PASSWORD });
    using watch = new PoolWatch(as("reader", proxy.port));
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await endTokensOf(server, "reader");
    proxy.cut();
    await create(as("netplug", server.port), "a");
    expect(await watch.next(1)).toEqual(["put a"]);
  });

  test("lives longer than the time limit of a request", async () => {
    await using server = await startEtcd(options);
    const datastore = openEtcd({ endpoints: [server.endpoint] }, { limits: { requestMs: 600, tryMs: 600 } });
    using watch = new PoolWatch(datastore);
    expect(await watch.nextChanges(2)).toEqual(["reset", "in-sync"]);
    const direct = openEtcd({ endpoints: [server.endpoint] });
    await create(direct, "a");
    expect(await watch.nextChanges(1)).toEqual(["put a"]);
    const put = watch.next(1);
    const before = { ...datastore.requests };
    await Bun.sleep(1_000);
    await create(direct, "b");
    expect([await put, datastore.requests]).toEqual([["put b"], before]);
  });

  test("ends with what is wrong when its user may no longer read", async () => {
    await using server = await startEtcd(options);
    await switchUsersOn(server);
    using proxy = new TcpProxy(server.port);
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`], username: "reader", password: PASSWORD }));
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await server.ctl(["user", "revoke-role", "reader", "reader"], AS_ROOT);
    proxy.cut();
    expect(await failureOf(watch.nextEvent())).toMatchObject({
      kind: "accessDenied",
      message: expect.stringMatching(/^watch etcd: .*it needs readwrite on the prefix \/netplug\/$/),
    });
  });

  test("ends with what is wrong when the server has users since, and we are none", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }));
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await switchUsersOn(server);
    proxy.cut();
    expect(await failureOf(watch.nextEvent())).toMatchObject({
      kind: "accessDenied",
      message: expect.stringContaining("user name is empty; give etcd_username and etcd_password"),
    });
  });

  // Over gRPC the server, asked after 30 s, does not answer over the dead connection; the gateway does, over another one, which may be an idle one.
  test("goes on after its connection went as in a power cut: nobody answers there, or nothing is said for 12 minutes", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    const clock = fastClock();
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, { clock, limits: IMPATIENT }));
    expect(await watch.nextChanges(2)).toEqual(["reset", "in-sync"]);
    clock.speedUp(1_000);
    const direct = openEtcd({ endpoints: [server.endpoint] });
    await create(direct, "a");
    expect(await watch.nextChanges(1)).toEqual(["put a"]);
    const put = watch.nextChanges(1);
    proxy.lose(way === "gateway" ? "/v3/watch" : "");
    await create(direct, "b");
    expect(await put).toEqual(["put b"]);
  });

  test("goes on after a server that takes its connection and says nothing", async () => {
    await using server = await startEtcd(options);
    using proxy = new TcpProxy(server.port);
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { open: () => asked.resolve(), data: () => undefined } });
    const asked = Promise.withResolvers<void>();
    using watch = new PoolWatch(openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] }, { limits: IMPATIENT }));
    expect(await watch.nextChanges(2)).toEqual(["reset", "in-sync"]);
    const next = watch.nextChanges(1);
    proxy.target = silent.port;
    proxy.cut();
    await asked.promise;
    proxy.target = server.port;
    await create(openEtcd({ endpoints: [server.endpoint] }), "a");
    expect(await next).toEqual(["put a"]);
  });

  test("stays when its token expires while nothing happens", async () => {
    await using server = await startEtcd(options);
    await switchUsersOn(server);
    const as = (username: string, ports = {}) => openEtcd({ endpoints: [server.endpoint], username, password: PASSWORD }, ports);
    const clock = fakeClock();
    const datastore = as("reader", { clock });
    using watch = new PoolWatch(datastore);
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    const put = watch.next(1);
    while (clock.sleepers === 0) await systemClock.sleep(1);
    await endTokensOf(server, "reader");
    const { retries } = datastore.requests;
    await clock.advance(30_000);
    // Whether it lives is asked with a new token, and the watch sleeps again.
    while (clock.sleepers === 0) await Promise.race([systemClock.sleep(1), put]);
    expect(datastore.requests.retries).toBe(retries + 1);
    await create(as("netplug"), "a");
    expect(await put).toEqual(["put a"]);
  });

  test("tells of what somebody else has put there, and goes on", async () => {
    await using server = await startEtcd(options);
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    using watch = new PoolWatch(datastore);
    expect(await watch.next(2)).toEqual(["reset", "in-sync"]);
    await server.ctl(["put", "/netplug/v3/ippools/strange", "no JSON"]);
    const key = "/netplug/v3/ippools/strange";
    expect(await watch.nextEvent()).toEqual({
      type: "unreadable",
      key,
      ref: { kind: "IPPool", name: "strange" },
      reason: expect.stringContaining(`read "${key}" in etcd: `),
    });
    await server.ctl(["put", "/netplug/v3/ippools/a/b", "{}"]);
    await server.ctl(["del", "/netplug/v3/ippools/a/b"]);
    expect(await watch.next(2)).toEqual(["unreadable", "unreadable"]);
    await create(datastore, "a");
    expect(await watch.next(1)).toEqual(["put a"]);
  });
});
