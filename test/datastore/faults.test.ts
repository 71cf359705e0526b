/** What happens when etcd is away, slow, without a leader or full, and when a reply is lost. */

import { describe, expect, test } from "bun:test";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import { freePorts, startEtcd, startEtcdCluster } from "../support/etcd.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { makePool } from "./conformance.ts";
import { openEtcd } from "./open-etcd.ts";

async function failureOf(promise: Promise<unknown>): Promise<NetplugError> {
  return await promise.then(
    (value) => {
      throw new Error(`no failure: ${JSON.stringify(value)}`);
    },
    (thrown: NetplugError) => thrown,
  );
}

async function namesIn(datastore: Datastore): Promise<readonly string[]> {
  const [pools] = await datastore.read([{ type: "list", kind: "IPPool" }]);
  return pools.map(({ value }) => value.metadata.name);
}

function create(datastore: Datastore, name: string): ReturnType<Datastore["commit"]> {
  return datastore.commit([{ op: "create", resource: makePool(name) }]);
}

function since(start: number): number {
  return performance.now() - start;
}

describe("one server", () => {
  test("that is not there is asked a few times, then named", async () => {
    const [port = 0] = freePorts(1);
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${port}`] });
    for (const attempt of [namesIn(datastore), create(datastore, "a")]) {
      const start = performance.now();
      const error = await failureOf(attempt);
      expect(error).toMatchObject({ kind: "tryAgainLater", code: 11, retriable: true });
      expect(error).not.toBeInstanceOf(OutcomeUnknown);
      expect(error.message).toMatch(/^(read from|commit to) etcd: http:\/\/127\.0\.0\.1:\d+: connection refused$/);
      expect(since(start)).toBeLessThan(2_000);
    }
    expect(datastore.requests.retries).toBeGreaterThan(0);
  });

  test("that does not exist by name says so", async () => {
    const error = await failureOf(namesIn(openEtcd({ endpoints: ["http://no-such-host.invalid:2379"] })));
    expect(error.kind).toBe("tryAgainLater");
    expect(error.message).toContain("http://no-such-host.invalid:2379: ");
  });

  test("that comes back is used again, with nothing lost", async () => {
    await using server = await startEtcd();
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    await create(datastore, "a");
    await server.stop();
    expect(await failureOf(namesIn(datastore))).toMatchObject({ kind: "tryAgainLater" });
    await server.start();
    expect(await namesIn(datastore)).toEqual(["a"]);
  });

  test("that stands still fails a read after five seconds, and leaves a commit's outcome unknown", async () => {
    await using server = await startEtcd();
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    expect(await namesIn(datastore)).toEqual([]);
    server.pause();
    const start = performance.now();
    const [read, commit] = await Promise.all([failureOf(namesIn(datastore)), failureOf(create(datastore, "a"))]);
    expect(since(start)).toBeWithin(4_900, 6_500);
    expect(read.message).toBe(`read from etcd: ${server.endpoint}: no answer within 5 s`);
    expect(read).toMatchObject({ kind: "tryAgainLater" });
    expect(commit).toBeInstanceOf(OutcomeUnknown);
    expect(commit.message).toBe(`commit to etcd: ${server.endpoint}: no answer within 5 s; it may have been applied`);
    server.resume();
    expect(["a", undefined]).toContain((await namesIn(datastore))[0]);
  });

  test("that is no etcd is refused with what it said", async () => {
    using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("<html>", { status: 200 }) });
    const error = await failureOf(namesIn(openEtcd({ endpoints: [`http://127.0.0.1:${server.port}`] })));
    expect(error.message).toContain("the reply is not etcd's JSON");
  });

  test("that is out of space takes no commit, still answers, and is told how to recover", async () => {
    await using server = await startEtcd({ args: ["--quota-backend-bytes=1000000"] });
    const datastore = openEtcd({ endpoints: [server.endpoint] });
    const value = "x".repeat(100_000); // the longest argument that a process takes is a little more
    for (let i = 0; i < 20; i++) await server.ctl(["put", `/filler/${i}`, value]).catch(() => undefined);
    const error = await failureOf(create(datastore, "a"));
    expect(error).toMatchObject({ kind: "tryAgainLater" });
    expect(error).not.toBeInstanceOf(OutcomeUnknown);
    expect(error.message).toContain("etcdserver: mvcc: database space exceeded; compact and defragment etcd, then disarm its alarm");
    expect(await namesIn(datastore)).toEqual([]);
  });

  test("that cannot take so much at once is not sent it", async () => {
    await using server = await startEtcd({ args: ["--max-txn-ops=16"] });
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

describe("a lost reply", () => {
  test.each(["fresh", "kept-alive"])(
    "on a %s connection is not taken for a conflict, and the commit is not sent twice",
    async (connection) => {
      await using server = await startEtcd();
      await using proxy = await startTcpProxy(server.port);
      const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] });
      if (connection === "kept-alive") await namesIn(datastore);
      const before = proxy.sent;
      proxy.mode = "drop";
      const error = await failureOf(create(datastore, "a"));
      expect(error).toBeInstanceOf(OutcomeUnknown);
      expect(error).toMatchObject({ kind: "tryAgainLater", code: 11 });
      expect(proxy.sent - before).toBe(1);
      proxy.mode = "pass";
      expect(await namesIn(datastore)).toEqual(["a"]);
    },
  );

  test("of a read is asked for again", async () => {
    await using server = await startEtcd();
    await using proxy = await startTcpProxy(server.port);
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] });
    proxy.mode = "drop";
    const names = namesIn(datastore);
    await Bun.sleep(20); // lets at least one try fail; there is nothing to await
    proxy.mode = "pass";
    expect(await names).toEqual([]);
    expect(datastore.requests.retries).toBeGreaterThan(0);
  });

  test("because the connection was cut between two requests costs nothing but a new connection", async () => {
    await using server = await startEtcd();
    await using proxy = await startTcpProxy(server.port);
    const datastore = openEtcd({ endpoints: [`http://127.0.0.1:${proxy.port}`] });
    await namesIn(datastore);
    proxy.cut();
    expect(await namesIn(datastore)).toEqual([]);
  });
});

describe("a cluster", () => {
  test("of which members die goes on while it has a majority, then asks to try again", async () => {
    const members = await startEtcdCluster(3);
    await using cleanup = new AsyncDisposableStack();
    for (const member of members) cleanup.use(member);
    // Random order begins with the last member for 0: all requests go there first.
    const datastore = openEtcd({ endpoints: members.map((member) => member.endpoint) }, { random: () => 0 });
    await create(datastore, "a");
    const [first, second, third] = members;
    if (first === undefined || second === undefined || third === undefined) throw new Error("want three members");

    for (const member of [second, third]) {
      // Whichever is connected: one of these two dies while the other two live.
      await member.stop();
      const start = performance.now();
      expect(await namesIn(datastore)).toContain("a");
      await create(datastore, `after-${member.port}`);
      expect(since(start)).toBeLessThan(10_000);
      await member.start();
    }

    // A member that stands still is left after a try of 1.5 s, and not asked first again.
    await namesIn(datastore);
    first.pause();
    second.pause();
    second.resume();
    const start = performance.now();
    expect(await namesIn(datastore)).toContain("a");
    expect(since(start)).toBeLessThan(5_000);
    first.resume();

    await Promise.all([second.stop(), third.stop()]);
    const error = await failureOf(namesIn(datastore));
    expect(error).toMatchObject({ kind: "tryAgainLater" });
    expect(error.message).toContain(first.endpoint);
    expect(await failureOf(create(datastore, "b"))).toMatchObject({ kind: "tryAgainLater" });
  });

  test("with one dead endpoint in the list is reached by the others at once", async () => {
    await using server = await startEtcd();
    const dead = freePorts(3).map((port) => `http://127.0.0.1:${port}`);
    const datastore = openEtcd({ endpoints: [...dead, server.endpoint] });
    const start = performance.now();
    expect(await namesIn(datastore)).toEqual([]);
    await create(datastore, "a");
    expect(since(start)).toBeLessThan(1_000);
  });
});
