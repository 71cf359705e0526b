/** Where etcd's JSON gateway does not serve us: certificates whose name is the user, and gateways that are off. */

import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EtcdClient } from "../../src/datastore/etcd/client/client.ts";
import { createGateway } from "../../src/datastore/etcd/wire/gateway/transport.ts";
import { createGrpcTransport } from "../../src/datastore/etcd/wire/grpc/transport.ts";
import type { Transport } from "../../src/datastore/etcd/wire/transport.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/ports.ts";
import { systemRandom } from "../../src/lib/random.ts";
import type { KeyPair } from "../support/servers/certificates.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { eventually } from "../support/time/eventually.ts";
import { share } from "../support/share.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { openEtcd, testFiles } from "./open-etcd.ts";
import { makePool, poolRef } from "./resources.ts";
import { failureOf } from "../support/failure-of.ts";
import { commit, create, namesIn, use } from "./steps.ts";
import { AS_NETPLUG, switchUsersOn } from "./users.ts";
import { startWatch, take, toText } from "./watch-events.ts";

const QUICK = { quick: true };

const certificates = createCertificateFolder();
const ca = certificates.createAuthority("ca");
const root = ca.issueClient("root");
const plugin = ca.issueClient("netplug");

/** Takes its users from client certificates. */
const server = share(
  () => startEtcd({ ...QUICK, tls: { ...ca.issueServer("server"), clientCaFile: ca.certFile } }),
  (server) => switchUsersOn(server, access(root)),
);
afterAll(() => certificates[Symbol.dispose]());

function access(pair: KeyPair): readonly string[] {
  return [`--cacert=${ca.certFile}`, `--cert=${pair.certFile}`, `--key=${pair.keyFile}`];
}

function open(pair: KeyPair, user = {}) {
  return openEtcd({ endpoints: [server.endpoint], ...pair, caCertFile: ca.certFile, ...user });
}

const denial = (name: string, { certFile }: KeyPair): string =>
  `${server.endpoint}: etcdserver: permission denied; check the etcd user "${name}", the common name in etcd_cert_file "${certFile}", and its roles: it needs readwrite on the prefix /netplug/`;

describe.concurrent("a certificate's name", () => {
  test("is the user: reads, commits, conflicts, watches", async () => {
    const datastore = open(plugin);
    // Many at once, all of which find out that the gateway does not do.
    await Promise.all(Array.from({ length: 5 }, () => namesIn(datastore)));
    const before = { ...datastore.requests };
    expect(await create(datastore, "a")).toMatchObject({ committed: true });
    const again = await datastore.commit([{ op: "create", resource: makePool("a") }], {
      readOnConflict: [{ type: "get", ref: poolRef("a") }],
    });
    expect(again).toMatchObject({ committed: false, current: [{ value: { metadata: { name: "a" } } }] });
    expect(datastore.requests).toEqual({ roundTrips: before.roundTrips + 2, retries: before.retries });
    const ending = new AbortController();
    const events = startWatch(datastore, ["Node"], ending.signal);
    expect((await take(events, 2)).map(toText)).toEqual(["reset", "in-sync"]);
    const put = take(events, 1);
    await commit(datastore, { op: "create", resource: { ...makePool("b"), kind: "Node" } });
    expect((await put).map(toText)).toEqual(["put b"]);
    const last = events.next();
    ending.abort();
    expect((await last).done).toBe(true);
    datastore.close();
  });

  test("lets in to a commit that may be carried out, although its reply is disturbed on the way", async () => {
    using proxy = new TcpProxy(Number(new URL(server.endpoint).port));
    const datastore = open(plugin, { endpoints: [`https://127.0.0.1:${proxy.port}`] });
    await namesIn(datastore);
    proxy.mode = "disturb-next";
    expect(await failureOf(create(datastore, "disturbed"))).toBeInstanceOf(OutcomeUnknown);
    expect(await namesIn(datastore)).toContain("disturbed");
    datastore.close();
  });

  test("is another user's a minute after its files are", async () => {
    const [certFile, keyFile] = [join(certificates.path, "renewed.crt"), join(certificates.path, "renewed.key")];
    const install = async (pair: KeyPair) => {
      await Bun.write(certFile, Bun.file(pair.certFile));
      await Bun.write(keyFile, Bun.file(pair.keyFile));
    };
    await install(ca.issueClient("nobody"));
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const datastore = openEtcd({ endpoints: [server.endpoint], caCertFile: ca.certFile, certFile, keyFile }, { clock });
    expect(await failureOf(create(datastore, "e"))).toMatchObject({ kind: "accessDenied" });
    await install(plugin);
    aheadMs = 61_000;
    expect(await create(datastore, "e")).toMatchObject({ committed: true });
    datastore.close();
  });

  test("of nobody is refused with the reason, and the message says whom etcd takes us for", async () => {
    for (const name of ["mallory", "j\u00fcrgen"]) {
      const pair = ca.issueClient(name);
      expect(await failureOf(namesIn(open(pair)))).toMatchObject({ code: 108, message: `read from etcd: ${denial(name, pair)}` });
      const watch = startWatch(open(pair), ["IPPool"], new AbortController().signal);
      expect((await failureOf(watch.next())).message).toContain(`; check the etcd user "${name}", the common name in `);
    }
  });

  test("is told, too, where a watch that has begun is ended for want of a permission", async () => {
    const pair = ca.issueClient("reader");
    const ports = { clock: systemClock, random: systemRandom, files: testFiles };
    const client = new EtcdClient({ endpoints: [server.endpoint], ...pair, caCertFile: ca.certFile }, ports);
    const ranges = ["/netplug/", "/another/"].map((key) => ({ key, end: `${key.slice(0, -1)}0`, startRevision: 1n }));
    const all = Array.fromAsync(client.watch(ranges, AbortSignal.timeout(10_000)));
    expect((await failureOf(all)).message).toEndWith(denial("reader", pair).slice(denial("reader", pair).indexOf("; ")));
    client.close();
  });

  test("is not told where there is a user besides", async () => {
    const { message } = await failureOf(namesIn(open(plugin, { ...AS_NETPLUG, username: "nobody" })));
    expect(message).toEndWith(
      "permission denied; check the etcd user, its password and its roles: it needs readwrite on the prefix /netplug/",
    );
  });

  test("that only reads is refused a commit, at once and with the reason", async () => {
    const pair = ca.issueClient("reader");
    for (const isFirst of [true, false]) {
      const datastore = open(pair);
      if (!isFirst) await namesIn(datastore);
      const error = await failureOf(create(datastore, "c"));
      expect(error).toMatchObject({ code: 108, message: `commit to etcd: ${denial("reader", pair)}` });
      datastore.close();
    }
  });

  test("stands behind user and password", async () => {
    expect(await use(open(ca.issueClient("reader"), AS_NETPLUG), "d")).toBe("works");
  });
});

describe.concurrent("a gateway", () => {
  test("and gRPC read a key that is no UTF-8 alike, also at the end of a page", async () => {
    await using both = await startEtcd(QUICK);
    const folder = "/netplug/v3/ippools/";
    const keys = ["a", "b\xff", "c"].map((name) => folder + name);
    for (const key of keys) {
      await fetch(`${both.endpoint}/v3/kv/put`, { method: "POST", body: JSON.stringify({ key: btoa(key), value: btoa("{}") }) });
    }
    const range = { end: "/netplug/v3/ippools0", limit: 2 };
    const readAll = async (transport: Transport) => {
      const ask = async (key: string) =>
        (await transport.read({ ranges: [{ ...range, key }] }, { endpoint: both.endpoint, signal: AbortSignal.timeout(10_000) })).ranges[0];
      const first = (await ask(folder))?.kvs ?? [];
      const second = (await ask(`${first.at(-1)?.key}\0`))?.kvs ?? [];
      transport.close();
      return [...first, ...second].map(({ key }) => key);
    };
    expect(await readAll(createGateway())).toEqual(keys);
    expect(await readAll(createGrpcTransport())).toEqual(keys);
  });

  test("and gRPC answer alike to whatever is asked of a range", async () => {
    await using both = await startEtcd(QUICK);
    for (const [name, value] of Object.entries({ a: "ä", b: "", c: "3" })) await both.ctl(["put", `/netplug/v3/ippools/${name}`, value]);
    const all = { key: "/netplug/v3/ippools/", end: "/netplug/v3/ippools0" };
    const ranges = [
      all,
      { ...all, limit: 2 },
      { ...all, keysOnly: true },
      { ...all, countOnly: true },
      { key: `${all.key}a` },
      { key: "/" },
    ];
    const askAll = async (transport: Transport) => {
      const target = { endpoint: both.endpoint, signal: AbortSignal.timeout(10_000) };
      const { revision } = await transport.read({ ranges }, target);
      const [now, before] = [await transport.read({ ranges, revision }, target), await transport.read({ ranges, revision: "2" }, target)];
      transport.close();
      return [now, before];
    };
    const answers = await askAll(createGateway());
    const shown = answers[0]?.ranges.map(({ kvs, count, more }) => [kvs.map(({ key, value }) => `${key.at(-1)}=${value}`), count, more]);
    expect(shown).toEqual([
      [["a=ä", "b=", "c=3"], 3, false],
      [["a=ä", "b="], 3, true],
      [["a=", "b=", "c="], 3, false],
      [[], 3, false],
      [["a=ä"], 1, false],
      [[], 0, false],
    ]);
    expect(answers[1]?.ranges[0]?.count).toBe(1);
    expect(await askAll(createGrpcTransport())).toEqual(answers);
  });

  test("and gRPC are told now and then by a server on which nothing happens that all was told", async () => {
    // Otherwise every ten minutes: who hears nothing for longer takes the watch for dead.
    await using quiet = await startEtcd({ ...QUICK, args: ["--experimental-watch-progress-notify-interval=300ms"] });
    const range = { key: "/netplug/", end: "/netplug0", startRevision: 1n };
    const firstOf = async (transport: Transport) => {
      const told = new Set<string>();
      const target = { endpoint: quiet.endpoint, signal: AbortSignal.timeout(20_000) };
      for await (const reply of transport.watch([range, range], target)) {
        told.add(`${reply.range} ${reply.created ? "created" : `seen ${reply.revision}`} ${reply.events.length}`);
        if (told.size === 4) break;
      }
      transport.close();
      return [...told].sort();
    };
    const expected = ["0 created 0", "0 seen 1 0", "1 created 0", "1 seen 1 0"];
    expect(await firstOf(createGateway())).toEqual(expected);
    expect(await firstOf(createGrpcTransport())).toEqual(expected);
  });

  test("and gRPC leave no watch at the server when nobody reads it any more", async () => {
    await using both = await startEtcd(QUICK);
    const range = { key: "/netplug/", end: "/netplug0", startRevision: 1n };
    const watchers = async (): Promise<string | undefined> =>
      /^etcd_debugging_mvcc_watcher_total (.*)$/m.exec(await (await fetch(`${both.endpoint}/metrics`)).text())?.[1];
    for (const open of [createGateway, createGrpcTransport]) {
      const transport = open();
      const ending = new AbortController();
      const startOne = () => transport.watch([range], { endpoint: both.endpoint, signal: ending.signal })[Symbol.asyncIterator]();
      const left = startOne();
      await left.next();
      expect(await watchers()).toBe("1");
      await left.return?.();
      await eventually(async () => expect(await watchers()).toBe("0"));
      const aborted = startOne();
      await aborted.next();
      const last = failureOf(aborted.next(), Error);
      ending.abort();
      await last;
      await eventually(async () => expect(await watchers()).toBe("0"));
      transport.close();
    }
  });

  test("that is switched off is done without", async () => {
    await using off = await startEtcd({ ...QUICK, args: ["--enable-grpc-gateway=false"] });
    expect(await use(openEtcd({ endpoints: [off.endpoint] }), "a")).toBe("works");
    await switchUsersOn(off);
    expect(await use(openEtcd({ endpoints: [off.endpoint], ...AS_NETPLUG }), "b")).toBe("works");
  });

  test("that its own server does not let in is done without", async () => {
    const serverOnly = ca.issueServer("server-only", undefined, "serverAuth");
    await using shut = await startEtcd({ ...QUICK, tls: { ...serverOnly, clientCaFile: ca.certFile } });
    const config = { endpoints: [shut.endpoint], ...plugin, caCertFile: ca.certFile };
    expect(await use(openEtcd(config), "a")).toBe("works");
    await switchUsersOn(shut, access(root));
    expect(await use(openEtcd({ ...config, ...AS_NETPLUG }), "b")).toBe("works");
  });
});
