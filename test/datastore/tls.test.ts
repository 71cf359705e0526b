/** Who is let in: certificates, users and passwords, over the gateway and over gRPC. */

import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { EtcdConfig } from "../../src/datastore/datastore-config.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import { createCertificateFolder, type KeyPair } from "../support/certificates.ts";
import { type EtcdServer, startEtcd } from "../support/etcd.ts";
import { makePool } from "./conformance.ts";
import { openEtcd } from "./open-etcd.ts";

const PASSWORD = "s3cret-of-netplug";

const certificates = createCertificateFolder();
const ca = certificates.createAuthority("ca");
const otherCa = certificates.createAuthority("other-ca");
const serverPair = ca.issueServer("server");
const root = ca.issueClient("root");
const plugin = ca.issueClient("netplug");
afterAll(() => certificates[Symbol.dispose]());

function asClient(pair: KeyPair): { readonly certFile: string; readonly keyFile: string; readonly caCertFile: string } {
  return { ...pair, caCertFile: ca.certFile };
}

async function use(datastore: Datastore, name = "a"): Promise<string> {
  try {
    const result = await datastore.commit([{ op: "create", resource: makePool(name) }]);
    const [pools] = await datastore.read([{ type: "list", kind: "IPPool" }]);
    return result.committed && pools.some(({ value }) => value.metadata.name === name) ? "works" : "conflict";
  } finally {
    datastore.close();
  }
}

async function failureOf(config: EtcdConfig): Promise<NetplugError> {
  const datastore = openEtcd(config);
  try {
    await datastore.read([{ type: "list", kind: "IPPool" }]);
  } catch (thrown) {
    expect(String(thrown)).not.toContain(PASSWORD);
    expect(Bun.inspect(thrown)).not.toContain(PASSWORD);
    return thrown as NetplugError;
  } finally {
    datastore.close();
  }
  throw new Error("no failure");
}

/** Makes users `root` and `netplug`, who may do what is under /netplug/, and switches them on. */
async function switchUsersOn(server: EtcdServer, access: readonly string[] = []): Promise<void> {
  const commands = [
    ["user", "add", `root:${PASSWORD}`],
    ["role", "add", "root"],
    ["user", "grant-role", "root", "root"],
    ["user", "add", `netplug:${PASSWORD}`],
    ["role", "add", "netplug"],
    ["role", "grant-permission", "--prefix=true", "netplug", "readwrite", "/netplug/"],
    ["user", "grant-role", "netplug", "netplug"],
    ["user", "add", `reader:${PASSWORD}`],
    ["role", "add", "reader"],
    ["role", "grant-permission", "--prefix=true", "reader", "read", "/netplug/"],
    ["user", "grant-role", "reader", "reader"],
    ["auth", "enable"],
  ];
  for (const command of commands) await server.ctl(command, access);
}

async function setPassword(server: EtcdServer, user: string): Promise<void> {
  const access = ["--user=root", `--password=${PASSWORD}`, "--interactive=false"];
  await server.ctl(["user", "passwd", user, ...access], [], `${PASSWORD}\n`);
}

describe("TLS", () => {
  test("trusts each root of the CA file, by IP address and by name", async () => {
    await using server = await startEtcd({ tls: serverPair });
    const caCertFile = certificates.bundle("both.crt", [otherCa.certFile, ca.certFile]);
    expect(await use(openEtcd({ endpoints: [server.endpoint], caCertFile }), "by-address")).toBe("works");
    expect(await use(openEtcd({ endpoints: [server.endpoint.replace("127.0.0.1", "localhost")], caCertFile }), "by-name")).toBe("works");
  });

  test("refuses a server of another authority, or of another name, and says what to check", async () => {
    const misnamed = ca.issueServer("misnamed", "DNS:etcd.example.com");
    await using server = await startEtcd({ tls: serverPair });
    await using other = await startEtcd({ tls: misnamed });
    for (const config of [
      { endpoints: [server.endpoint], caCertFile: otherCa.certFile },
      { endpoints: [server.endpoint] },
      { endpoints: [other.endpoint], caCertFile: ca.certFile },
      { endpoints: [server.endpoint], ...plugin, caCertFile: otherCa.certFile },
    ]) {
      const error = await failureOf(config);
      expect(error).toMatchObject({ kind: "accessDenied", code: 108 });
      expect(error.message).toMatch(/^read from etcd: https:\/\/127\.0\.0\.1:\d+: TLS handshake: [A-Z_]+; check etcd_ca_cert_file/);
    }
  });

  test("with a client certificate lets in those who have one of the right authority", async () => {
    await using server = await startEtcd({ tls: { ...serverPair, clientCaFile: ca.certFile } });
    expect(await use(openEtcd({ endpoints: [server.endpoint], ...asClient(plugin) }))).toBe("works");
    const stranger = otherCa.issueClient("netplug");
    for (const config of [{ caCertFile: ca.certFile }, asClient(stranger)]) {
      const error = await failureOf({ endpoints: [server.endpoint], ...config });
      expect(["accessDenied", "tryAgainLater"]).toContain(error.kind);
      expect(error.message).toContain(server.endpoint);
    }
  });

  test("says which file it cannot read, and nothing of what is in it", async () => {
    const noPem = join(certificates.path, "no.pem");
    writeFileSync(noPem, PASSWORD);
    for (const config of [
      { caCertFile: "/nowhere/ca.crt" },
      { caCertFile: noPem },
      { ...asClient(plugin), keyFile: noPem },
      { ...asClient(plugin), certFile: noPem },
    ]) {
      const error = await failureOf({ endpoints: ["https://127.0.0.1:1"], ...config });
      expect(error).toMatchObject({ kind: "ioFailure" });
      expect(error.message).toMatch(/^read etcd_\w+ "\//);
    }
  });

  test("plain text to a server that speaks TLS fails with its endpoint", async () => {
    await using server = await startEtcd({ tls: serverPair });
    const endpoint = server.endpoint.replace("https:", "http:");
    expect((await failureOf({ endpoints: [endpoint] })).message).toContain(endpoint);
  });
});

describe("users", () => {
  test("log in with their password, and again when the token is gone", async () => {
    await using server = await startEtcd();
    await switchUsersOn(server);
    const datastore = openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD });
    expect(await use(datastore)).toBe("works");
    const before = datastore.requests;
    expect({ ...before }).toEqual({ roundTrips: 3, retries: 0 });
    // A new password, here the same, ends the tokens that were given for the old one.
    await setPassword(server, "netplug");
    expect(await use(datastore, "b")).toBe("works");
    expect(datastore.requests.retries).toBeGreaterThan(0);
  });

  test("that many requests wait for log in once", async () => {
    await using server = await startEtcd();
    await switchUsersOn(server);
    const datastore = openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD });
    await Promise.all(Array.from({ length: 5 }, () => datastore.read([{ type: "list", kind: "IPPool" }])));
    expect(datastore.requests.roundTrips).toBe(6);
  });

  test("with a wrong password, no permission, or none at all are refused for good", async () => {
    await using server = await startEtcd();
    await switchUsersOn(server);
    const endpoints = [server.endpoint];
    const wrong = await failureOf({ endpoints, username: "netplug", password: `${PASSWORD}x` });
    expect(wrong).toMatchObject({ kind: "accessDenied", code: 108 });
    expect(wrong.message).toContain(
      `${server.endpoint}: etcdserver: authentication failed, invalid user ID or password; check the etcd user`,
    );
    const none = await failureOf({ endpoints });
    expect(none.message).toContain("user name is empty; give etcd_username and etcd_password");
    expect(none.kind).toBe("accessDenied");
    const denied = await use(openEtcd({ endpoints, username: "reader", password: PASSWORD })).catch((thrown: unknown) => thrown);
    expect(denied).toMatchObject({ kind: "accessDenied", message: expect.stringContaining("permission denied; check the etcd user") });
  });

  test("that a server does not have are no reason to fail", async () => {
    await using server = await startEtcd();
    expect(await use(openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD }))).toBe("works");
  });

  test("may watch what they may read, and are told when they may not", async () => {
    await using server = await startEtcd();
    await switchUsersOn(server);
    await server.ctl(["user", "add", `nobody:${PASSWORD}`], ["--user=root", `--password=${PASSWORD}`]);
    const ending = new AbortController();
    const watch = (username: string) => {
      const datastore = openEtcd({ endpoints: [server.endpoint], username, password: PASSWORD });
      return datastore.watch({ kinds: ["IPPool"], signal: ending.signal })[Symbol.asyncIterator]();
    };
    const reader = watch("reader");
    expect((await reader.next()).value).toEqual({ type: "reset" });
    expect((await reader.next()).value).toEqual({ type: "in-sync" });
    const next = reader.next();
    await use(openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD }));
    expect((await next).value).toMatchObject({ type: "put" });
    await expect(watch("nobody").next()).rejects.toMatchObject({ kind: "accessDenied" });
    ending.abort();
  });
});

describe("a certificate's name", () => {
  test("is the user over gRPC: reads, commits, conflicts, watches", async () => {
    await using server = await startEtcd({ tls: { ...serverPair, clientCaFile: ca.certFile } });
    await switchUsersOn(server, access(root));
    const datastore = openEtcd({ endpoints: [server.endpoint], ...asClient(plugin) });
    expect(await datastore.commit([{ op: "create", resource: makePool("a") }])).toMatchObject({ committed: true });
    const again = await datastore.commit([{ op: "create", resource: makePool("a") }], {
      readOnConflict: [{ type: "list", kind: "IPPool" }],
    });
    expect(again).toMatchObject({ committed: false, current: [[{ value: { metadata: { name: "a" } } }]] });
    expect(datastore.requests).toEqual({ roundTrips: 2, retries: 0 });
    const ending = new AbortController();
    const events = datastore.watch({ kinds: ["IPPool"], signal: ending.signal })[Symbol.asyncIterator]();
    for (const type of ["reset", "put", "in-sync"]) expect((await events.next()).value.type).toBe(type);
    const put = events.next();
    await datastore.commit([{ op: "create", resource: makePool("b") }]);
    expect((await put).value).toMatchObject({ type: "put", stored: { value: { metadata: { name: "b" } } } });
    const last = events.next();
    ending.abort();
    expect((await last).done).toBe(true);
    datastore.close();
  });

  test("of nobody is refused with the reason", async () => {
    await using server = await startEtcd({ tls: { ...serverPair, clientCaFile: ca.certFile } });
    await switchUsersOn(server, access(root));
    const error = await failureOf({ endpoints: [server.endpoint], ...asClient(ca.issueClient("mallory")) });
    expect(error).toMatchObject({ kind: "accessDenied" });
    expect(error.message).toContain("permission denied");
  });

  test("that only reads is refused a commit, at the second try with the reason", async () => {
    await using server = await startEtcd({ tls: { ...serverPair, clientCaFile: ca.certFile } });
    await switchUsersOn(server, access(root));
    const datastore = openEtcd({ endpoints: [server.endpoint], ...asClient(ca.issueClient("reader")) });
    const commit = () => datastore.commit([{ op: "create", resource: makePool("a") }]);
    await expect(commit()).rejects.toMatchObject({ kind: "tryAgainLater" });
    expect(await datastore.read([{ type: "list", kind: "IPPool" }])).toEqual([[]]);
    await expect(commit()).rejects.toMatchObject({ kind: "accessDenied", message: expect.stringContaining("permission denied") });
    datastore.close();
  });

  test("stands behind user and password, which need gRPC then too", async () => {
    await using server = await startEtcd({ tls: { ...serverPair, clientCaFile: ca.certFile } });
    await switchUsersOn(server, access(root));
    const reader = ca.issueClient("reader");
    expect(await use(openEtcd({ endpoints: [server.endpoint], ...asClient(reader), username: "netplug", password: PASSWORD }))).toBe(
      "works",
    );
  });
});

describe("a gateway", () => {
  test("that is switched off is done without", async () => {
    await using server = await startEtcd({ args: ["--enable-grpc-gateway=false"] });
    expect(await use(openEtcd({ endpoints: [server.endpoint] }))).toBe("works");
    await switchUsersOn(server);
    expect(await use(openEtcd({ endpoints: [server.endpoint], username: "netplug", password: PASSWORD }), "b")).toBe("works");
  });

  test("that its own server does not let in is done without", async () => {
    const serverOnly = ca.issueServer("server-only", undefined, "serverAuth");
    await using server = await startEtcd({ tls: { ...serverOnly, clientCaFile: ca.certFile } });
    expect(await use(openEtcd({ endpoints: [server.endpoint], ...asClient(plugin) }))).toBe("works");
    await switchUsersOn(server, access(root));
    expect(await use(openEtcd({ endpoints: [server.endpoint], ...asClient(plugin), username: "netplug", password: PASSWORD }), "b")).toBe(
      "works",
    );
  });
});

function access(pair: KeyPair): readonly string[] {
  return [`--cacert=${ca.certFile}`, `--cert=${pair.certFile}`, `--key=${pair.keyFile}`];
}
