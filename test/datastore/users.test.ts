/** Users and passwords, and tokens that do not last. */

import { beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CLUSTER_INFORMATION } from "../../src/datastore/cluster-state.ts";
import type { EtcdConfig } from "../../src/datastore/config/datastore-config.ts";
import { Access } from "../../src/datastore/etcd/client/access.ts";
import { LogIn } from "../../src/datastore/etcd/client/log-in.ts";
import { createGateway } from "../../src/datastore/etcd/wire/gateway/transport.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { eventually } from "../support/time/eventually.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { freePorts } from "../support/servers/free-ports.ts";
import { share } from "../support/share.ts";
import { IMPATIENT, inGivenOrder, openEtcd, testFiles } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn, use } from "./steps.ts";
import { AS_NETPLUG, AS_ROOT, endTokensOf, PASSWORD, switchUsersOn } from "./users.ts";
import { startWatch } from "./watch-events.ts";

const QUICK = { quick: true };

const server = share(() => startEtcd(QUICK), switchUsersOn);
beforeEach(() => server.ctl(["del", "--prefix", "/netplug/"], AS_ROOT));

function open(config: Partial<EtcdConfig> = {}) {
  return openEtcd({ endpoints: [server.endpoint], ...config });
}

async function refusalOf(operation: Promise<unknown>) {
  const error = await failureOf(operation);
  expect(`${String(error)} ${Bun.inspect(error)}`).not.toContain(PASSWORD);
  expect(error).toMatchObject({ kind: "accessDenied", code: 108 });
  return error.message;
}

describe("a user", () => {
  test("logs in once, however many requests wait for that", async () => {
    const datastore = open(AS_NETPLUG);
    await Promise.all(Array.from({ length: 5 }, () => namesIn(datastore)));
    expect(datastore.requests).toEqual({ roundTrips: 6, retries: 0 });
    expect(await use(datastore, "a")).toBe("works");
  });

  test("logs in again when the password has changed, with however many requests under way", async () => {
    const datastore = open(AS_NETPLUG);
    expect(await use(datastore, "a")).toBe("works");
    await endTokensOf(server, "netplug");
    const names = await Promise.all(Array.from({ length: 5 }, () => namesIn(datastore)));
    expect(names).toEqual(Array.from({ length: 5 }, () => ["a"]));
    expect(datastore.requests.retries).toBeGreaterThan(0);
    await endTokensOf(server, "netplug");
    expect(await use(datastore, "b")).toBe("works");
  });

  test("logs in each time when its tokens end twice in a request that finds out, too, that there is gRPC only", async () => {
    await using grpcOnly = await startEtcd({ ...QUICK, args: ["--enable-grpc-gateway=false"] });
    await switchUsersOn(grpcOnly);
    const access = new Access({ endpoints: [], ...AS_NETPLUG }, { clock: systemClock, files: testFiles }, { roundTrips: 0, retries: 0 });
    const tokens: unknown[] = [];
    const answer = access.call(grpcOnly.endpoint, AbortSignal.timeout(10_000), async (transport, target) => {
      tokens.push(target.token);
      if (tokens.length <= 2) await endTokensOf(grpcOnly, "netplug");
      return await transport.read({ ranges: [{ key: "/netplug/" }] }, target);
    });
    expect(await answer).toMatchObject({ ranges: [{}] });
    expect(new Set(tokens).size).toBe(3);
    access.close();
  });

  test("keeps a new token when an answer to the old one comes late", async () => {
    let roundTrips = 0;
    const transport = createGateway();
    const target = { endpoint: server.endpoint, signal: AbortSignal.timeout(10_000) };
    const logIn = new LogIn({ endpoints: [server.endpoint], ...AS_NETPLUG }, testFiles, () => void roundTrips++);
    const old = await logIn.getToken(transport, target);
    logIn.forget(old);
    const token = await logIn.getToken(transport, target);
    logIn.forget(old);
    expect([await logIn.getToken(transport, target), roundTrips]).toEqual([token, 2]);
    transport.close();
  });

  test("with a wrong password is refused for good, with a word on what to check", async () => {
    expect(await refusalOf(namesIn(open({ username: "netplug", password: `${PASSWORD}x` })))).toBe(
      `read from etcd: ${server.endpoint}: etcdserver: authentication failed, invalid user ID or password; check the etcd user, its password and its roles`,
    );
  });

  test("that has no password is refused for good, too, when we give one", async () => {
    await server.ctl(["user", "add", "certificate", "--no-password"], AS_ROOT);
    expect(await refusalOf(namesIn(open({ username: "certificate", password: PASSWORD })))).toBe(
      `read from etcd: ${server.endpoint}: auth: authentication failed, password was given for no password user; check the etcd user, its password and its roles`,
    );
  });

  test("without permission is refused a read or a commit", async () => {
    const readOnly = open({ username: "reader", password: PASSWORD });
    expect(await namesIn(readOnly)).toEqual([]);
    expect(await refusalOf(create(readOnly, "a"))).toContain("commit to etcd: ");
    expect(await refusalOf(namesIn(open({ username: "nobody", password: PASSWORD })))).toContain(
      "etcdserver: permission denied; check the etcd user, its password and its roles: it needs readwrite on the prefix /netplug/",
    );
  });

  test("without permission to read what a commit is decided by is told so when a commit is probed", async () => {
    const probe = (username: string): Promise<unknown> =>
      open({ username, password: PASSWORD }).probeCommit(CLUSTER_INFORMATION, { targets: ["blocks"], isThorough: true });
    expect(await probe("reader")).toBeUndefined();
    expect(await refusalOf(probe("nobody"))).toContain("etcdserver: permission denied");
  });

  test("is asked for when there is none", async () => {
    const datastore = open();
    expect(await refusalOf(namesIn(datastore))).toContain("user name is empty; give etcd_username and etcd_password");
    expect(datastore.requests).toEqual({ roundTrips: 1, retries: 0 });
  });

  test("may watch what it may read, and is told when it may not", async () => {
    const ending = new AbortController();
    const watch = (username: string) => startWatch(open({ username, password: PASSWORD }), ["IPPool"], ending.signal);
    const reader = watch("reader");
    expect((await reader.next()).value).toEqual({ type: "reset" });
    expect((await reader.next()).value).toEqual({ type: "in-sync" });
    const next = reader.next();
    await create(open(AS_NETPLUG), "a");
    expect((await next).value).toMatchObject({ type: "put" });
    await refusalOf(watch("nobody").next());
    ending.abort();
  });
});

describe.concurrent("a server", () => {
  test("without users lets everyone in, and when it gets users the same process logs in", async () => {
    await using free = await startEtcd(QUICK);
    const datastore = openEtcd({ endpoints: [free.endpoint], ...AS_NETPLUG });
    await create(datastore, "a");
    await switchUsersOn(free);
    await create(datastore, "b");
    await free.ctl(["auth", "disable"], AS_ROOT);
    expect(await namesIn(datastore)).toEqual(["a", "b"]);
  });

  test("that dies during the log-in of a commit leaves no doubt: the next one gets it", async () => {
    const [dead] = freePorts(1);
    await using standing = await startEtcd(QUICK);
    await standing.pause();
    const endpoints = [standing.endpoint, `http://127.0.0.1:${dead}`];
    const limits = { limits: IMPATIENT, random: inGivenOrder };
    const error = await failureOf(create(openEtcd({ endpoints, ...AS_NETPLUG }, limits), "a"));
    expect(error).toMatchObject({ kind: "tryAgainLater" });
    expect(error).not.toBeInstanceOf(OutcomeUnknown);
    expect(error.message).toContain(`${standing.endpoint}: log in: no answer within `);
  });

  test("whose tokens expire is logged in to again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "npgt-users-"));
    using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
    const log = join(folder, "log");
    // Long enough for the new token to last from one use to the next.
    const args = ["--auth-token-ttl=5", "--log-level=debug", `--log-outputs=stderr,${log}`];
    await using forgetful = await startEtcd({ ...QUICK, args });
    await switchUsersOn(forgetful);
    const datastore = openEtcd({ endpoints: [forgetful.endpoint], ...AS_NETPLUG });
    expect(await namesIn(datastore)).toEqual([]);
    // each use lets a token live longer, so only the log is asked
    const isGone = (line: string): boolean => line.includes("deleted a simple token") && line.includes('"netplug"');
    await eventually(() => expect(readFileSync(log, "utf8").split("\n").some(isGone)).toBe(true));
    expect(await use(datastore, "a")).toBe("works");
    expect(datastore.requests.retries).toBe(1);
  });
});
