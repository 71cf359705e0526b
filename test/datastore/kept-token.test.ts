/** A token that one process of a node keeps for the next. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { connectTcp } from "../../src/linux/tcp.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { IMPATIENT, openEtcd } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { namesIn } from "./steps.ts";
import { AS_NETPLUG, AS_ROOT, endTokensOf, PASSWORD, switchUsersOn } from "./users.ts";

const [WITHOUT_LOG_IN, WITH_LOG_IN] = [
  { roundTrips: 1, retries: 0 },
  { roundTrips: 2, retries: 0 },
];

let folder: string;
let tokenFolder: string;
let nodes = 0;
const server = share(() => startEtcd({ quick: true }), switchUsersOn);
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "npgt-token-"))));
beforeEach(() => {
  tokenFolder = join(folder, String(nodes++));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What another process asks of etcd for one read. */
async function requestsOfAnother(config: object = {}) {
  const datastore = openEtcd({ endpoints: [server.endpoint], tokenFolder, ...AS_NETPLUG, ...config }, { files: linuxFiles });
  try {
    expect(await namesIn(datastore)).toEqual([]);
    return { ...datastore.requests };
  } finally {
    datastore.close();
  }
}

/** Of the one user of the one list of endpoints. */
const tokenFile = (): string => join(tokenFolder, ...readdirSync(tokenFolder));
const keptToken = (): unknown => (JSON.parse(readFileSync(tokenFile(), "utf8")) as { token: unknown }).token;

describe("a kept token", () => {
  test("spares the next process its log-in, and can be read by nobody else", async () => {
    expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
    expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
    expect((statSync(tokenFile()).mode & 0o777).toString(8)).toBe("600");
    expect(readFileSync(tokenFile(), "utf8")).not.toContain(PASSWORD);
  });

  test("that has ended costs one request, and is replaced", async () => {
    await requestsOfAnother();
    const ended = keptToken();
    await endTokensOf(server, "netplug");
    expect(await requestsOfAnother()).toEqual({ roundTrips: 3, retries: 1 });
    expect(keptToken()).not.toBe(ended);
    expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
  });

  test("that has ended in two processes is replaced by one log-in", async () => {
    await requestsOfAnother();
    const open = () => openEtcd({ endpoints: [server.endpoint], tokenFolder, ...AS_NETPLUG }, { files: linuxFiles });
    const [one, other] = [open(), open()];
    await Promise.all([one, other].map(namesIn));
    await endTokensOf(server, "netplug");
    await namesIn(one);
    await namesIn(other);
    expect(other.requests).toEqual({ roundTrips: 3, retries: 1 });
    one.close();
    other.close();
  });

  test("lets nobody in whose password is wrong", async () => {
    await requestsOfAnother();
    const wrong = openEtcd({ endpoints: [server.endpoint], tokenFolder, ...AS_NETPLUG, password: `${PASSWORD}x` }, { files: linuxFiles });
    expect(await failureOf(namesIn(wrong))).toMatchObject({ code: 108 });
    expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
  });

  test("of one user is not taken for another, and stays when another one logs in", async () => {
    await requestsOfAnother();
    expect(await requestsOfAnother({ username: "reader" })).toEqual(WITH_LOG_IN);
    for (const config of [{}, { username: "reader" }]) expect(await requestsOfAnother(config)).toEqual(WITHOUT_LOG_IN);
  });

  test("of one network is not taken away by another, whose endpoints are others", async () => {
    using proxy = new TcpProxy(server.port);
    const endpoints = [`http://127.0.0.1:${proxy.port}`];
    await requestsOfAnother();
    expect(await requestsOfAnother({ endpoints })).toEqual(WITH_LOG_IN);
    for (const config of [{}, { endpoints }]) expect(await requestsOfAnother(config)).toEqual(WITHOUT_LOG_IN);
  });

  test("that has ended is replaced in the same request that finds out that there is gRPC only", async () => {
    await using grpcOnly = await startEtcd({ quick: true, args: ["--enable-grpc-gateway=false"] });
    await switchUsersOn(grpcOnly);
    const endpoints = [grpcOnly.endpoint];
    await requestsOfAnother({ endpoints });
    await endTokensOf(grpcOnly, "netplug");
    expect(await requestsOfAnother({ endpoints })).toEqual({ roundTrips: 4, retries: 2 });
  });

  test("that etcd has taken is given as much time as one of its own log-in", async () => {
    using proxy = new TcpProxy(server.port);
    const endpoints = [`http://127.0.0.1:${proxy.port}`];
    await requestsOfAnother({ endpoints });
    const datastore = openEtcd({ endpoints, tokenFolder, ...AS_NETPLUG }, { files: linuxFiles });
    await namesIn(datastore);
    proxy.delayMs = 2_700;
    await namesIn(datastore);
    expect(datastore.requests).toEqual({ roundTrips: 2, retries: 0 });
    datastore.close();
  });

  describe("from before the cluster was made anew with a shorter log, in which etcd waits for the place of the log-in,", () => {
    /** Somebody logs in, and the cluster is another. */
    async function logInBefore(somebody: (endpoint: string) => Datastore) {
      await using stack = new AsyncDisposableStack();
      const anew = stack.use(await startEtcd({ quick: true }));
      await switchUsersOn(anew);
      for (let i = 0; i < 10; i++) await server.ctl(["put", "/a", "b"], AS_ROOT);
      const proxy = stack.use(new TcpProxy(server.port));
      const endpoint = `http://127.0.0.1:${proxy.port}`;
      const datastore = stack.adopt(somebody(endpoint), (one) => one.close());
      await namesIn(datastore);
      proxy.target = anew.port;
      proxy.cut();
      const all = stack.move();
      return { endpoint, datastore, [Symbol.asyncDispose]: () => all.disposeAsync() };
    }

    test.each([
      ["sockets of its own", { connect: connectTcp }],
      ["fetch", {}],
    ])("is replaced by the next process, over %s", async (_how, ports) => {
      const open = (endpoint: string): Datastore =>
        openEtcd({ endpoints: [endpoint], tokenFolder, ...AS_NETPLUG }, { files: linuxFiles, ...ports });
      await using before = await logInBefore(open);
      const next = open(before.endpoint);
      expect(await namesIn(next)).toEqual([]);
      expect(next.requests).toEqual({ roundTrips: 3, retries: 1 });
      next.close();
      expect(await requestsOfAnother({ endpoints: [before.endpoint] })).toEqual(WITHOUT_LOG_IN);
    });

    test("is replaced by its own process, after a request that fails", async () => {
      await using before = await logInBefore((endpoint) => openEtcd({ endpoints: [endpoint], ...AS_NETPLUG }, { limits: IMPATIENT }));
      expect(await failureOf(namesIn(before.datastore))).toMatchObject({ code: 11 });
      expect(await namesIn(before.datastore)).toEqual([]);
    });
  });
});

test.each([
  ["nothing", ""],
  ["no JSON", "{"],
  ["no object", "null"],
  ["no token", JSON.stringify({ token: "", proof: "" })],
  ["an end of a header", JSON.stringify({ token: "x\r\ny: z", proof: "" })],
  ["too much", JSON.stringify({ token: "x".repeat(20_000), proof: "" })],
  ["a token that somebody else put there", JSON.stringify({ token: "abc.1", proof: "0".repeat(64) })],
])("a file with %s is replaced by one log-in", async (_what, text) => {
  await requestsOfAnother();
  writeFileSync(tokenFile(), text);
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
  expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
});

test("where no folder can be, each process logs in", async () => {
  writeFileSync(join(folder, "file"), "");
  tokenFolder = join(folder, "file");
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
});

test("a server without users leaves nothing", async () => {
  await using free = await startEtcd({ quick: true });
  await requestsOfAnother({ endpoints: [free.endpoint] });
  expect(existsSync(tokenFolder)).toBe(false);
});
