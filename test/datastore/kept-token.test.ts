/** A token that one process of a node keeps for the next. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linuxFiles } from "../../src/linux/files.ts";
import { type EtcdServer, startEtcd } from "../support/etcd.ts";
import { openEtcd } from "./open-etcd.ts";
import { failureOf, namesIn } from "./steps.ts";
import { endTokensOf, PASSWORD, switchUsersOn } from "./users.ts";

const AS_NETPLUG = { username: "netplug", password: PASSWORD };
const [WITHOUT_LOG_IN, WITH_LOG_IN] = [
  { roundTrips: 1, retries: 0 },
  { roundTrips: 2, retries: 0 },
];

let server: EtcdServer;
let folder: string;
let tokenFile: string;
let users = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "npgt-token-"));
  server = await startEtcd({ quick: true });
  await switchUsersOn(server);
});
beforeEach(() => {
  tokenFile = join(folder, `etcd-token-${users++}.json`);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** What another process asks of etcd for one read. */
async function requestsOfAnother(config: object = {}) {
  const datastore = openEtcd({ endpoints: [server.endpoint], tokenFile, ...AS_NETPLUG, ...config }, { files: linuxFiles });
  try {
    expect(await namesIn(datastore)).toEqual([]);
    return { ...datastore.requests };
  } finally {
    datastore.close();
  }
}

const keptToken = (): unknown => (JSON.parse(readFileSync(tokenFile, "utf8")) as { token: unknown }).token;

describe("a kept token", () => {
  test("spares the next process its log-in, and can be read by nobody else", async () => {
    expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
    expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
    expect((statSync(tokenFile).mode & 0o777).toString(8)).toBe("600");
    expect(readFileSync(tokenFile, "utf8")).not.toContain(PASSWORD);
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
    const open = () => openEtcd({ endpoints: [server.endpoint], tokenFile, ...AS_NETPLUG }, { files: linuxFiles });
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
    const wrong = openEtcd({ endpoints: [server.endpoint], tokenFile, ...AS_NETPLUG, password: `${PASSWORD}x` }, { files: linuxFiles });
    expect(await failureOf(namesIn(wrong))).toMatchObject({ code: 108 });
    expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
  });

  test("of one user is not taken for another", async () => {
    await requestsOfAnother();
    expect(await requestsOfAnother({ username: "reader" })).toEqual(WITH_LOG_IN);
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
  writeFileSync(tokenFile, text);
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
  expect(await requestsOfAnother()).toEqual(WITHOUT_LOG_IN);
});

test("where no file can be, each process logs in", async () => {
  writeFileSync(join(folder, "file"), "");
  tokenFile = join(folder, "file", "token.json");
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
  expect(await requestsOfAnother()).toEqual(WITH_LOG_IN);
});

test("a server without users leaves nothing", async () => {
  await using free = await startEtcd({ quick: true });
  await requestsOfAnother({ endpoints: [free.endpoint] });
  expect(existsSync(tokenFile)).toBe(false);
});
