/** Certificates, names, proxies and the two HTTP versions, over real connections. */

import { afterAll, describe, expect, test } from "bun:test";
import { KubeClient } from "../../src/kube/client.ts";
import { NODES } from "../../src/kube/core-types.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import type { KubeOptions } from "../../src/kube/requests/requester.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/ports.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import type { KeyPair } from "../support/servers/certificates.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { failureOf } from "../support/failure-of.ts";
import { noProcesses, statusAnswer } from "./support/fake-api-server.ts";
import { clientOfFiles, serve, serveHttp1Only, serveInOrder, text } from "./support/tls-server.ts";
import { withVariables } from "./support/variables.ts";

const folder = createCertificateFolder();
const authority = folder.createAuthority("one");
const other = folder.createAuthority("other");
const byAddress = authority.issueServer("by-address");
const byName = authority.issueServer("by-name", "DNS:api.internal");
afterAll(() => folder[Symbol.dispose]());

const base64 = (path: string): string => Buffer.from(text(path)).toString("base64");

const clientFor = (cluster: object, user: object = {}, options: KubeOptions = {}): KubeClient =>
  clientOfFiles(folder.path, cluster, user, options);

const ask = (client: KubeClient): Promise<unknown> => client.get(NODES, { name: "n" });

describe.each(["http1.1", "http2"] as const)("over %s", (protocol) => {
  test("a server whose certificate the CA has signed is trusted, inline and by file, also among other CAs", async () => {
    await using server = serve(byAddress);
    const bundle = folder.bundle(`bundle-${protocol}`, [other.certFile, authority.certFile]);
    for (const ca of [
      { "certificate-authority": authority.certFile },
      { "certificate-authority-data": base64(authority.certFile) },
      { "certificate-authority": bundle },
    ]) {
      await ask(clientFor({ server: server.url, ...ca }, {}, { protocol }));
    }
    expect(server.seen).toEqual(Array.from({ length: 3 }, () => `${protocol === "http2" ? "h2" : "h1"} nobody`));
  });

  test("so is one whose CA is an intermediate one, which is named without its root", async () => {
    const intermediate = authority.issueAuthority(`intermediate-${protocol}`);
    await using server = serve(intermediate.issueServer(`below-${protocol}`));
    const cluster = { server: server.url, "certificate-authority": intermediate.certFile };
    expect(await ask(clientFor(cluster, {}, { protocol }))).toEqual({ metadata: { name: "n" } });
  });

  test("a server that another CA has signed is not, and nothing is sent", async () => {
    await using server = serve(byAddress);
    const client = clientFor({ server: server.url, "certificate-authority": other.certFile }, { token: "t" }, { protocol });
    const error = await failureOf(ask(client), KubeError);
    expect(error).toMatchObject({ code: 108, reason: "untrusted" });
    expect(error.message).toStartWith(`get nodes "n": ${server.url}: TLS handshake: `);
    expect(error.details).toStartWith("no authority that we trust has signed its certificate; its own belongs in ");
    expect(error.details).toMatch(/ certificate-authority "[^"]*\/other\.crt" of cluster "[^"]*" in kubeconfig "[^"]*"$/);
    expect(server.seen).toEqual([]);
  });

  test("a server with another name is not, unless tls-server-name says that name", async () => {
    await using server = serve(byName);
    const cluster = { server: server.url, "certificate-authority": authority.certFile };
    expect(await failureOf(ask(clientFor(cluster, {}, { protocol })))).toMatchObject({
      reason: "untrusted",
      details: "its certificate is for other names; one of them may be given as tls-server-name",
    });
    expect(await failureOf(ask(clientFor({ ...cluster, "tls-server-name": "api.external" }, {}, { protocol })))).toMatchObject({
      reason: "untrusted",
    });
    await ask(clientFor({ ...cluster, "tls-server-name": "api.internal" }, {}, { protocol }));
  });

  test("insecure-skip-tls-verify trusts anybody", async () => {
    await using server = serve(byName);
    await ask(clientFor({ server: server.url, "insecure-skip-tls-verify": true }, { token: "t" }, { protocol }));
    expect(server.seen).toEqual([`${protocol === "http2" ? "h2" : "h1"} Bearer t`]);
  });

  test("a client certificate opens what only it opens, inline and by file", async () => {
    await using server = serve(byAddress, { clientCa: authority.certFile });
    const cluster = { server: server.url, "certificate-authority": authority.certFile };
    const pair = authority.issueClient("me");
    await ask(clientFor(cluster, { "client-certificate": pair.certFile, "client-key": pair.keyFile }, { protocol }));
    const inline = { "client-certificate-data": base64(pair.certFile), "client-key-data": base64(pair.keyFile) };
    await ask(clientFor(cluster, inline, { protocol }));
    const stranger = other.issueClient("me");
    const wrong = { "client-certificate": stranger.certFile, "client-key": stranger.keyFile };
    expect(await failureOf(clientFor(cluster, wrong, { protocol }).get(NODES, { name: "n" }, { limitMs: 500 }))).toMatchObject({
      name: "KubeError",
    });
    expect(server.seen).toHaveLength(2);
  });

  test("a connection whose other end has vanished is not used again", async () => {
    await using server = serve(byAddress);
    using proxy = new TcpProxy(Number(new URL(server.url).port));
    const cluster = { server: `https://127.0.0.1:${proxy.port}`, "certificate-authority": authority.certFile };
    const client = clientFor(cluster, {}, { protocol });
    await ask(client);
    proxy.lose();
    expect(await failureOf(client.get(NODES, { name: "n" }, { limitMs: 200 }))).toMatchObject({ reason: "lost" });
    await ask(client);
    expect(server.seen).toHaveLength(2);
  });

  test.each([
    ["lost", "drop-next"],
    ["disturbed", "disturb-next"],
  ] as const)("a write whose reply is %s reaches the server once, and its outcome is unknown", async (_fault, mode) => {
    await using server = serve(byAddress);
    using proxy = new TcpProxy(Number(new URL(server.url).port));
    const cluster = { server: `https://127.0.0.1:${proxy.port}`, "certificate-authority": authority.certFile };
    const client = clientFor(cluster, {}, { protocol });
    const node = { metadata: { name: "n" } };
    const writes = [
      () => client.create(NODES, node),
      () => client.update(NODES, node),
      () => client.patch(NODES, node.metadata, { type: "merge", body: {} }),
      () => client.delete(NODES, node.metadata),
    ];
    for (const write of writes) {
      await ask(client);
      server.seen.length = 0;
      proxy.mode = mode;
      expect(await failureOf(write())).toMatchObject({ reason: "lost", isOutcomeUnknown: true });
      // Whoever sent it again would have done so by now.
      await ask(client);
      expect(server.seen).toHaveLength(2);
    }
  });

  test("requests that start together are all answered", async () => {
    await using server = serve(byAddress);
    const client = clientFor({ server: server.url, "certificate-authority": authority.certFile }, {}, { protocol, qps: 0 });
    await Promise.all(Array.from({ length: 30 }, () => ask(client)));
    expect(server.seen).toHaveLength(30);
  });
});

test("a server that does not know HTTP/2 is spoken to in HTTP/1.1", async () => {
  await using server = serve(byAddress, { http2: false });
  const client = clientFor({ server: server.url, "certificate-authority": authority.certFile }, {}, { protocol: "http2" });
  await ask(client);
  await ask(client);
  expect(server.seen).toEqual(["h1 nobody", "h1 nobody"]);
});

test("so is one that refuses who offers HTTP/2 alone; a write is sent once", async () => {
  await using server = await serveHttp1Only(byAddress);
  const client = clientFor({ server: server.url, "certificate-authority": authority.certFile }, {}, { protocol: "http2" });
  await Promise.all([ask(client), ask(client)]);
  await client.update(NODES, { metadata: { name: "n" } });
  expect(server.seen).toEqual(["GET", "GET", "PUT"]);
  client.close();
});

test("one with which no handshake succeeds is not trusted, whatever is offered", async () => {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n") },
  });
  const url = `https://127.0.0.1:${server.port}`;
  const client = clientFor({ server: url, "certificate-authority": authority.certFile }, {}, { protocol: "http2" });
  expect(await failureOf(ask(client))).toMatchObject({ reason: "untrusted", message: `get nodes "n": ${url}: TLS handshake: EPROTO` });
  server.stop(true);
});

describe("a token that is refused", () => {
  /** A client whose token file holds another token at each look. */
  function clientWithTokens(
    url: string,
    tokens: readonly string[],
    clock: Clock = systemClock,
  ): { readonly client: KubeClient; readonly looks: () => number } {
    let looks = 0;
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
      clusters: [{ name: "k", cluster: { server: url, "certificate-authority": authority.certFile } }],
      users: [{ name: "u", user: { tokenFile: "/token" } }],
    };
    const readText = (path: string): string | undefined => {
      if (path === "/token") return tokens[Math.min(looks++, tokens.length - 1)];
      return path === "/kubeconfig" ? JSON.stringify(config) : linuxFiles.readText(path);
    };
    const ports = { clock, random: () => 0.5, files: { ...linuxFiles, readText }, processes: noProcesses, env: {} };
    return { client: new KubeClient({ kubeconfig: "/kubeconfig" }, ports), looks: () => looks };
  }

  test("is read again, and a write made again: it was not carried out", async () => {
    await using server = serve(byAddress, { token: "new" });
    const { client } = clientWithTokens(server.url, ["old", "new"]);
    await client.create(NODES, { metadata: { name: "n" } });
    expect(server.seen.map((words) => words.slice("h1 ".length))).toEqual(["Bearer old", "Bearer new"]);
    expect(client.requester.counts).toEqual({ requests: 2, retries: 1 });
    client.close();
  });

  const ok = (): Response => Response.json({ metadata: { name: "n" } });
  const refused = (): Response => statusAnswer(401, "Unauthorized", "Unauthorized");
  const busy = (): Response => statusAnswer(503, "ServiceUnavailable", "later", { headers: { "retry-after": "0" } });
  const denied = (): Response => statusAnswer(403, "Forbidden", 'User "u" cannot get resource "nodes" in API group ""');

  test("is a try like others, but no pause is made after it, and nothing is told of it in the end", async () => {
    const odd = (): Response => new Response("sorry", { status: 421 });
    await using server = serveInOrder(byAddress, [refused, busy, ok, refused, odd]);
    const pauses: number[] = [];
    const sleep: Clock["sleep"] = (ms, signal) => {
      if (ms < 1_000) pauses.push(ms);
      return systemClock.sleep(ms, signal);
    };
    const { client } = clientWithTokens(server.url, ["old", "new", "newest"], { ...systemClock, sleep });
    await ask(client);
    // the second one
    expect(pauses).toEqual([75]);
    expect(await failureOf(ask(client))).toMatchObject({ reason: "unexpected", details: undefined });
    expect(client.requester.counts).toEqual({ requests: 5, retries: 3 });
    client.close();
  });

  test.each([
    ["is read again after a denial, too", [denied, ok, refused, ok], 2],
    ["is all that makes it read again", [busy, ok], 1],
  ])("%s", async (_what, answers, expected) => {
    await using server = serveInOrder(byAddress, answers);
    const { client, looks } = clientWithTokens(server.url, ["old", "new"]);
    await ask(client);
    expect(looks()).toBe(expected);
    client.close();
  });

  test("once in a request, also where it changes all the time", async () => {
    await using server = serve(byAddress, { token: "none of them" });
    const { client } = clientWithTokens(
      server.url,
      Array.from({ length: 50 }, (_, i) => `t${i}`),
    );
    expect(await failureOf(client.get(NODES, { name: "n" }))).toMatchObject({ reason: "unauthorized", code: 108 });
    expect(server.seen).toHaveLength(2);
    expect(await failureOf(client.get(NODES, { name: "n" }))).toMatchObject({ reason: "unauthorized" });
    expect(server.seen).toHaveLength(4);
    client.close();
  });

  test("and is the same when it is read again is not shown again", async () => {
    await using server = serve(byAddress, { token: "another" });
    const { client, looks } = clientWithTokens(server.url, ["old"]);
    expect(await failureOf(client.get(NODES, { name: "n" }))).toMatchObject({ reason: "unauthorized" });
    expect(server.seen).toHaveLength(1);
    expect(looks()).toBe(2);
    client.close();
  });
});

test("a renewed client certificate is used without a new client", async () => {
  await using server = serve(byAddress, { clientCa: authority.certFile });
  const pair = authority.issueClient("renewed");
  const expired = other.issueClient("old");
  const [certFile, keyFile] = [`${folder.path}/current.crt`, `${folder.path}/current.key`];
  const write = (from: KeyPair): void => {
    linuxFiles.writeAtomically(certFile, text(from.certFile), 0o600);
    linuxFiles.writeAtomically(keyFile, text(from.keyFile), 0o600);
  };
  write(pair);
  let elapsedMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + elapsedMs };
  const cluster = { server: server.url, "certificate-authority": authority.certFile };
  const path = `${folder.path}/renewed-config`;
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster }],
    users: [{ name: "u", user: { "client-certificate": certFile, "client-key": keyFile } }],
  };
  linuxFiles.writeAtomically(path, JSON.stringify(config), 0o600);
  const client = new KubeClient({ kubeconfig: path }, { clock, random: Math.random, files: linuxFiles, processes: noProcesses, env: {} });
  await ask(client);
  write(expired);
  await ask(client);
  elapsedMs = 61_000;
  expect(await failureOf(client.get(NODES, { name: "n" }, { limitMs: 500 }))).toMatchObject({ name: "KubeError" });
  write(pair);
  elapsedMs = 122_000;
  await ask(client);
  expect(server.seen).toHaveLength(3);
});

test("nothing in the environment makes a server trusted, or has the token printed", async () => {
  await using server = serve(byAddress);
  const ask = async (authorityFile: string): Promise<readonly string[]> => {
    const code = `import { clientOfFiles } from "${import.meta.dir}/support/tls-server.ts";
      import { NODES } from "${import.meta.dir}/../../src/kube/core-types.ts";
      const cluster = { server: "${server.url}", "certificate-authority": "${authorityFile}" };
      const client = clientOfFiles("${folder.path}", cluster, { token: "s3cret" });
      console.log(await client.get(NODES, { name: "n" }).then(() => "trusted", (thrown) => thrown.reason));`;
    const env = { PATH: process.env["PATH"] ?? "", NODE_TLS_REJECT_UNAUTHORIZED: "0", BUN_CONFIG_VERBOSE_FETCH: "curl" };
    const child = Bun.spawn([process.execPath, "-e", code], { env, stdout: "pipe", stderr: "pipe" });
    return [await child.stdout.text(), await child.stderr.text()];
  };
  expect(await ask(other.certFile)).toEqual(["untrusted\n", ""]);
  expect(await ask(authority.certFile)).toEqual(["trusted\n", ""]);
  expect(server.seen).toEqual(["h1 Bearer s3cret"]);
});

test("a proxy is asked for the connection when the cluster names one, and because of the environment only where that is wanted", async () => {
  await using server = serve(byAddress);
  using proxy = startProxy();
  const { asked } = proxy;
  using _variables = withVariables({ HTTPS_PROXY: proxy.url, https_proxy: proxy.url });
  const cluster = { server: server.url, "certificate-authority": authority.certFile };
  await ask(clientFor(cluster));
  expect(asked).toEqual([]);
  const viaProxy = clientFor({ ...cluster, "proxy-url": proxy.url });
  while (asked.length === 0) await failureOf(viaProxy.get(NODES, { name: "n" }, { limitMs: 200 }));
  const wanted = new Set([`CONNECT ${server.url.slice("https://".length)} HTTP/1.1`]);
  expect(new Set(asked.splice(0))).toEqual(wanted);
  const viaVariable = clientFor({ ...cluster, server: onEveryAddress(server.url) }, {}, { usesProxyVariables: true });
  while (asked.length === 0) await failureOf(viaVariable.get(NODES, { name: "n" }, { limitMs: 200 }));
  expect(new Set(asked)).toEqual(new Set([`CONNECT ${onEveryAddress(server.url).slice("https://".length)} HTTP/1.1`]));
});

test.each(["127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]"])(
  "the proxy of the environment is not asked for %s",
  async (host) => {
    await using server = serve(byName);
    using proxy = startProxy();
    using _variables = withVariables({ HTTPS_PROXY: proxy.url, https_proxy: proxy.url });
    const cluster = { "certificate-authority": authority.certFile, "tls-server-name": "api.internal" };
    await ask(clientFor({ ...cluster, server: server.url.replace("127.0.0.1", host) }, {}, { usesProxyVariables: true }));
    expect(proxy.asked).toEqual([]);
  },
);

test("nor that of ALL_PROXY for any server, as kubectl has it", async () => {
  await using server = serve(byName);
  using proxy = startProxy();
  using _variables = withVariables({ ALL_PROXY: proxy.url, all_proxy: proxy.url, HTTPS_PROXY: "", https_proxy: "" });
  const cluster = { server: onEveryAddress(server.url), "certificate-authority": authority.certFile, "tls-server-name": "api.internal" };
  await ask(clientFor(cluster, {}, { usesProxyVariables: true }));
  expect(proxy.asked).toEqual([]);
});

test("NO_PROXY excepts a server from the proxy of the environment, not from that of its cluster", async () => {
  await using server = serve(byName);
  using proxy = startProxy();
  using _variables = withVariables({ HTTPS_PROXY: proxy.url, https_proxy: proxy.url, NO_PROXY: "0.0.0.0/8", no_proxy: "0.0.0.0/8" });
  const cluster = { server: onEveryAddress(server.url), "certificate-authority": authority.certFile, "tls-server-name": "api.internal" };
  await ask(clientFor(cluster, {}, { usesProxyVariables: true }));
  expect(proxy.asked).toEqual([]);
  const { message } = await failureOf(ask(clientFor({ ...cluster, "proxy-url": proxy.url })));
  expect(message).toEndWith("the proxy opens no tunnel, it answers 403 Forbidden");
  expect(proxy.asked).not.toEqual([]);
});

test.each(["socks5://127.0.0.1:1", "http://["])("so it does from one that cannot be used: %s", async (url) => {
  await using server = serve(byName);
  using _variables = withVariables({ HTTPS_PROXY: url, https_proxy: url, NO_PROXY: "0.0.0.0", no_proxy: "0.0.0.0" });
  const cluster = { server: onEveryAddress(server.url), "certificate-authority": authority.certFile, "tls-server-name": "api.internal" };
  await ask(clientFor(cluster, {}, { usesProxyVariables: true }));
  expect(server.seen).toHaveLength(1);
});

/** The same server by an address that does not count as this machine: for 127.0.0.1 no proxy of the environment is asked. */
function onEveryAddress(url: string): string {
  return url.replace("127.0.0.1", "0.0.0.0");
}

/** A proxy that opens no tunnel, and what it is asked for. */
function startProxy(): Disposable & { readonly url: string; readonly asked: string[] } {
  const asked: string[] = [];
  const proxy = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, data) {
        asked.push(new TextDecoder().decode(data).split("\r\n")[0] ?? "");
        socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      },
    },
  });
  return { url: `http://127.0.0.1:${proxy.port}`, asked, [Symbol.dispose]: () => proxy.stop(true) };
}
