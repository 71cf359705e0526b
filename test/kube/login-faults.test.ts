/** Certificates, keys and tokens that no request can be made with, and proxies: what is wrong, and where it stands. */

import { afterAll, describe, expect, test } from "bun:test";
import { whyRefused } from "../../src/kube/access/login-fault.ts";
import { NODES } from "../../src/kube/core-types.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { createCertificateFolder, type KeyPair } from "../support/servers/certificates.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import { failureOf } from "../support/failure-of.ts";
import { clientOfFiles, serve, text } from "./support/tls-server.ts";
import { withVariables } from "./support/variables.ts";

const folder = createCertificateFolder();
const authority = folder.createAuthority("one");
afterAll(() => folder[Symbol.dispose]());

const base64 = (path: string): string => btoa(text(path));

/** As a file of which a part was lost. */
const damaged = (path: string): string => btoa(text(path).replace(/[A-Za-z0-9+/=\n]{40}(?=\n?-----END)/, "AAAA"));

/** What a request fails with that is made with this cluster and this user, with names instead of paths. */
async function refusal(cluster: object, user: object, protocol: "http1.1" | "http2"): Promise<object> {
  await using server = serve(authority.issueServer("server"));
  const trusting = { "certificate-authority": authority.certFile };
  const client = clientOfFiles(folder.path, { server: server.url, ...trusting, ...cluster }, user, { protocol });
  const { name, message, code } = await failureOf(client.get(NODES, { name: "n" }));
  expect(server.seen).toEqual([]);
  return { name, code, message: message.replace(/kubeconfig "[^"]*"/g, "FILE").replaceAll(`${folder.path}/`, "") };
}

describe.each(["http1.1", "http2"] as const)("over %s no request can be made, and the message says why, with", (protocol) => {
  test("a certificate authority that is damaged", async () => {
    const message = 'use certificate-authority-data of cluster "k" in FILE: it is damaged';
    const inline = { "certificate-authority": undefined, "certificate-authority-data": damaged(authority.certFile) };
    expect(await refusal(inline, {}, protocol)).toEqual({ name: "NetplugError", code: 7, message });
  });

  test("several certificate authorities of which the first is damaged, or ends on the line where the next one begins", async () => {
    const message = 'use certificate-authority-data of cluster "k" in FILE: it is damaged';
    const [bad, good] = [atob(damaged(authority.certFile)), text(authority.certFile)];
    for (const bundle of [bad + good, good.trimEnd() + good]) {
      const inline = { "certificate-authority": undefined, "certificate-authority-data": btoa(bundle) };
      expect(await refusal(inline, {}, protocol)).toEqual({ name: "NetplugError", code: 7, message });
    }
  });

  test("several certificate authorities of which one is damaged before that of the server", async () => {
    const other = text(folder.createAuthority(`other-${protocol}`).certFile);
    for (const bad of [atob(damaged(authority.certFile)), "-----BEGIN CERTIFICATE-----\n"]) {
      const inline = { "certificate-authority": undefined, "certificate-authority-data": btoa(other + bad + text(authority.certFile)) };
      const count = bad.includes("END") ? 3 : 2;
      const message = `use certificate-authority-data of cluster "k" in FILE: certificate 2 of ${count} is damaged, so what follows it does not count`;
      expect(await refusal(inline, {}, protocol)).toEqual({ name: "NetplugError", code: 7, message });
    }
  });

  test("a client certificate or a key that is damaged", async () => {
    const { certFile, keyFile } = authority.issueClient("me");
    const certificate = { "client-certificate-data": damaged(certFile), "client-key": keyFile };
    expect(await refusal({}, certificate, protocol)).toMatchObject({
      code: 7,
      message: 'use client-certificate-data of user "u" in FILE: it is damaged',
    });
    const key = { "client-certificate": certFile, "client-key-data": damaged(keyFile) };
    expect(await refusal({}, key, protocol)).toMatchObject({
      code: 7,
      message: 'use client-key-data of user "u" in FILE: it is damaged, or wants a passphrase, which it cannot have here',
    });
  });

  test("the key of another certificate", async () => {
    const [mine, yours] = [authority.issueClient("mine"), authority.issueClient("yours")];
    const user = { "client-certificate": mine.certFile, "client-key-data": base64(yours.keyFile) };
    const message = 'use client-key-data of user "u" in FILE: it does not belong to client-certificate "one-mine.crt" of user "u" in FILE';
    expect(await refusal({}, user, protocol)).toMatchObject({ code: 7, message });
  });

  test.each(["one\ntwo", "\u2603"])("the token %j", async (token) => {
    const message = 'use token of user "u" in FILE: it holds a line break or another character that no token has';
    expect(await refusal({}, { token }, protocol)).toMatchObject({ code: 108, message });
  });
});

const UNTRUSTED =
  "the server must trust the authority that has signed it, by its --client-ca-file; an intermediate one may be missing behind it";
const EXPIRED = "it expired at 20\\d\\d-\\d\\d-\\d\\dT[\\d:]{8}\\.000Z: renew it";
const OF_AUTHORITY = "the server may not accept an authority that follows it: ";
const FOR_SERVERS = "it is not for clients, whose extended key usage is clientAuth";

describe("a client certificate that the server does not accept", () => {
  const trusted = authority.issueClient("trusted");
  const expired = authority.issueServer("expired", undefined, "clientAuth", -1);

  test.each([
    ["that has expired is said to have, with the time", expired, EXPIRED],
    ["that has not leaves its authority", trusted, UNTRUSTED],
  ])("%s, whatever renews tokens", async (_what, { certFile, keyFile }, remedy) => {
    await using server = serve(authority.issueServer("server"), { token: "t" });
    const cluster = { server: server.url, "certificate-authority": authority.certFile };
    const user = { "client-certificate": certFile, "client-key": keyFile };
    const renewal = "run the installer again";
    const { code, message } = await failureOf(clientOfFiles(folder.path, cluster, user, { renewal }).get(NODES, { name: "n" }));
    expect([code, message]).toEqual([108, expect.stringMatching(new RegExp(`; ${remedy}$`))]);
    expect(message).toContain('the API server does not accept the client certificate of user "u" in kubeconfig ');
    expect(message).not.toContain(renewal);
    // beside a token it counts for nothing
    const both = clientOfFiles(folder.path, cluster, { ...user, token: "other" }, { renewal });
    expect((await failureOf(both.get(NODES, { name: "n" }))).message).toEndWith(`; ${renewal}`);
  });

  test("before its time, or damaged", () => {
    expect(whyRefused(text(trusted.certFile), 0)).toMatch(/^it is not valid before 20.+Z: set this machine's clock, or the server's$/);
    expect(whyRefused("-----BEGIN CERTIFICATE-----\n", 0)).toBeUndefined();
  });
});

/** Signed by an intermediate authority; what follows it in its file. */
function issueBelow(name: string, days?: number, { usage = "clientAuth", isAlone = false } = {}): KeyPair {
  const intermediate = authority.issueAuthority(name, days, usage);
  const { certFile, keyFile } = intermediate.issueClient("me");
  return { certFile: isAlone ? certFile : folder.bundle(`${name}-chain.crt`, [certFile, intermediate.certFile]), keyFile };
}

const [realTest, api] = onApiServer(() => startApiServer({ args: [`--client-ca-file=${authority.certFile}`] }));

describe.each(["http1.1", "http2"] as const)("over %s a real API server", (protocol) => {
  const refusalOf = async ({ certFile, keyFile }: KeyPair): Promise<NetplugError> => {
    return await refusalOfUser({ "client-certificate": certFile, "client-key": keyFile });
  };
  const refusalOfUser = async (user: object): Promise<NetplugError> => {
    const cluster = { server: api.url, "certificate-authority": api.caFile };
    const client = clientOfFiles(folder.path, cluster, user, { protocol });
    using _client = { [Symbol.dispose]: () => client.close() };
    return await failureOf(client.get(NODES, { name: "n" }));
  };

  realTest("knows the user of a certificate that an intermediate authority in its file has signed (needs cluster)", async () => {
    expect(await refusalOf(issueBelow(`there-${protocol}`))).toMatchObject({
      message: "get nodes is not permitted",
      details: expect.stringContaining('User "me"'),
    });
  });

  realTest.each([
    ["has expired", authority.issueServer(`old-${protocol}`, undefined, "clientAuth", -1), EXPIRED],
    ["is for servers", authority.issueServer(`for-servers-${protocol}`, undefined, "serverAuth"), FOR_SERVERS],
    ["a stranger has signed", folder.createAuthority(`stranger-${protocol}`).issueClient("me"), UNTRUSTED],
    ["comes without its intermediate authority", issueBelow(`alone-${protocol}`, 1, { isAlone: true }), UNTRUSTED],
    ["has an intermediate authority that has expired", issueBelow(`old-authority-${protocol}`, -1), `${OF_AUTHORITY}${EXPIRED}`],
    [
      "has an intermediate authority for servers",
      issueBelow(`server-authority-${protocol}`, 1, { usage: "serverAuth" }),
      `${OF_AUTHORITY}${FOR_SERVERS}`,
    ],
  ])("refuses a client certificate that %s, and the message says why (needs cluster)", async (_what, pair, remedy) => {
    const { code, message } = await refusalOf(pair);
    expect([code, message]).toEqual([108, expect.stringMatching(new RegExp(`; ${remedy}$`))]);
  });

  realTest("says nothing of that where the user asks to act as nobody (needs cluster)", async () => {
    const { code, message } = await refusalOfUser({ token: api.token, as: "system:anonymous" });
    expect([code, message]).toEqual([108, "get nodes is not permitted"]);
  });

  realTest.each([
    ["nothing", {}, "request without credentials (there are none in USER)"],
    ["a user name alone", { username: "me" }, "user name of USER (API servers take none since Kubernetes 1.19)"],
    ["a password", { username: "me", password: "p" }, "password of USER (API servers take none since Kubernetes 1.19)"],
  ])("knows nobody by %s, and its denial says so (needs cluster)", async (_what, user, shown) => {
    const { code, message } = await refusalOfUser(user);
    expect([code, message.replace(/user "u" in kubeconfig "[^"]*"/, "USER")]).toEqual([
      108,
      `get nodes is not permitted; the API server counts the ${shown} as system:anonymous`,
    ]);
  });
});

test("a proxy that is not there is named, without its password", async () => {
  await using server = serve(authority.issueServer("server"));
  const cluster = { server: server.url, "certificate-authority": authority.certFile, "proxy-url": "http://me:hunter2@127.0.0.1:1" };
  const { message } = await failureOf(clientOfFiles(folder.path, cluster).get(NODES, { name: "n" }));
  expect(message).toBe(`get nodes "n": ${server.url} by proxy http://127.0.0.1:1: connection refused`);
});

test("a proxy that wants a password of its own says so, and a write that it was asked for is known not to be done", async () => {
  await using server = serve(authority.issueServer("server"));
  const said = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n";
  using proxy = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end(said) } });
  const url = `http://127.0.0.1:${proxy.port}`;
  const cluster = { server: server.url, "certificate-authority": authority.certFile, "proxy-url": url };
  const node = { metadata: { name: "n" } };
  const error = await failureOf(clientOfFiles(folder.path, cluster).create(NODES, node, { limitMs: 1_000 }));
  expect(error).toMatchObject({
    message: `create nodes "n": ${server.url} by proxy ${url}: the proxy opens no tunnel, it answers 407 Proxy Authentication Required`,
    isOutcomeUnknown: false,
  });
});

test("a proxy of the environment is named by its variable, where such a variable counts", async () => {
  await using server = serve(authority.issueServer("server"));
  using _variables = withVariables({ HTTPS_PROXY: "http://me:hunter2@127.0.0.1:1" });
  const cluster = { server: server.url, "certificate-authority": authority.certFile };
  const elsewhere = { ...cluster, server: "https://api.invalid:6443" };
  const client = clientOfFiles(folder.path, elsewhere, {}, { usesProxyVariables: true });
  const { message } = await failureOf(client.get(NODES, { name: "n" }));
  expect(message).toBe('get nodes "n": https://api.invalid:6443, perhaps by the proxy of HTTPS_PROXY: connection refused');
  await clientOfFiles(folder.path, cluster).get(NODES, { name: "n" });
});

test("it is not named for a server on this machine, for which none is asked", async () => {
  using _variables = withVariables({ HTTPS_PROXY: "http://127.0.0.1:1" });
  const client = clientOfFiles(folder.path, { server: "https://localhost:1" }, {}, { usesProxyVariables: true });
  const { message } = await failureOf(client.get(NODES, { name: "n" }));
  expect(message).toBe('get nodes "n": https://localhost:1: connection refused');
});

test("whoever is impersonated is named in UTF-8, as the API server reads it", async () => {
  const seen: Uint8Array[] = [];
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, bytes) {
        seen.push(bytes.slice());
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{"metadata":{"name":"n"}}\n');
      },
    },
  });
  const client = clientOfFiles(folder.path, { server: `http://127.0.0.1:${listener.port}` }, { as: "J\u00fcrgen \u2603" });
  await client.get(NODES, { name: "n" });
  listener.stop(true);
  expect(new TextDecoder().decode(seen[0])).toMatch(/^impersonate-user: J\u00fcrgen \u2603\r$/im);
});
