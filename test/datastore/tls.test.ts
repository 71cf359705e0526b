/** Which servers are trusted, and with which certificates we are let in. */

import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toErrorOutput } from "../../src/cni/protocol/error-output.ts";
import type { EtcdConfig } from "../../src/datastore/config/datastore-config.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { advise } from "../../src/datastore/etcd/client/tls-check.ts";
import { EtcdFailure } from "../../src/datastore/etcd/protocol/failure.ts";
import { createGateway } from "../../src/datastore/etcd/wire/gateway/transport.ts";
import { createGrpcTransport } from "../../src/datastore/etcd/wire/grpc/transport.ts";
import type { DatastorePorts } from "../../src/datastore/open.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { NetplugError } from "../../src/lib/errors.ts";
import type { Clock, Files } from "../../src/lib/ports.ts";
import { connectTcp } from "../../src/linux/tcp.ts";
import { createCertificateFolder, type KeyPair } from "../support/servers/certificates.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { share } from "../support/share.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { IMPATIENT, openEtcd, testFiles } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn, use } from "./steps.ts";

const SECRET = "s3cret-in-a-file";

const certificates = createCertificateFolder();
const ca = certificates.createAuthority("ca");
const otherCa = certificates.createAuthority("other-ca");
const elsewhere = createCertificateFolder();
/** As after all certificates were made anew. */
const namesake = elsewhere.createAuthority("ca");
const client = ca.issueClient("netplug");
const QUICK = { quick: true };

const pair = ca.issueServer("server");
const server = share(() => startEtcd({ ...QUICK, tls: pair }));
/** Wants a certificate from its clients. */
const mutual = share(() => {
  const clientCaFile = certificates.bundle("clients.crt", [otherCa.certFile, ca.certFile]);
  return startEtcd({ ...QUICK, tls: { ...pair, clientCaFile } });
});
afterAll(() => {
  certificates[Symbol.dispose]();
  elsewhere[Symbol.dispose]();
});

async function refusalOf(config: EtcdConfig, ports: Partial<DatastorePorts> = {}): Promise<NetplugError> {
  const datastore = openEtcd(config, ports);
  try {
    const error = await failureOf(namesIn(datastore));
    expect(String(error)).not.toContain(SECRET);
    expect(Bun.inspect(error)).not.toContain(SECRET);
    expect(Bun.inspect(error)).not.toContain("PRIVATE KEY-----\n");
    return error;
  } finally {
    datastore.close();
  }
}

describe.concurrent("a server", () => {
  test("is trusted by each root of the CA file, under its address and its name", async () => {
    const caCertFile = certificates.bundle("both.crt", [otherCa.certFile, ca.certFile]);
    expect(await use(openEtcd({ endpoints: [server.endpoint], caCertFile }), "by-address")).toBe("works");
    expect(await use(openEtcd({ endpoints: [server.endpoint.replace("127.0.0.1", "localhost")], caCertFile }), "by-name")).toBe("works");
  });

  test("is trusted by the intermediate authority that has signed its certificate, also without the root", async () => {
    const intermediate = ca.issueAuthority("intermediate");
    await using below = await startEtcd({ ...QUICK, tls: intermediate.issueServer("below") });
    expect(await use(openEtcd({ endpoints: [below.endpoint], caCertFile: intermediate.certFile }), "below")).toBe("works");
  });

  test("whose reply to a commit is disturbed on its way may have carried it out", async () => {
    using proxy = new TcpProxy(Number(new URL(server.endpoint).port));
    const datastore = openEtcd({ endpoints: [`https://127.0.0.1:${proxy.port}`], caCertFile: ca.certFile });
    await namesIn(datastore);
    proxy.mode = "disturb-next";
    expect(await failureOf(create(datastore, "disturbed"))).toBeInstanceOf(OutcomeUnknown);
    expect(await namesIn(datastore)).toContain("disturbed");
    datastore.close();
  });

  test("of another authority, also of one with the same name, is refused with what to do", async () => {
    for (const config of [
      { endpoints: [server.endpoint], caCertFile: otherCa.certFile },
      { endpoints: [server.endpoint] },
      { endpoints: [server.endpoint], ...client, caCertFile: otherCa.certFile },
      { endpoints: [server.endpoint], caCertFile: namesake.certFile },
    ]) {
      const error = await refusalOf(config);
      expect(error).toMatchObject({ kind: "accessDenied", code: 108 });
      expect(error.message).toMatch(
        /^read from etcd: https:\/\/127\.0\.0\.1:\d+: TLS handshake: [A-Z_]+; etcd_ca_cert_file must name a file with the authority of etcd's certificate$/,
      );
    }
  });

  test.each([
    ["another name", "DNS:etcd.example.com", 1, "write the host in etcd_endpoints as etcd's certificate names it"],
    ["an old certificate", undefined, -1, "renew etcd's certificate, or set the clock of this machine"],
  ])("of %s is refused with what to do", async (_what, names, days, advice) => {
    await using refused = await startEtcd({ ...QUICK, tls: ca.issueServer(`refused${days}`, names, undefined, days) });
    const error = await refusalOf({ endpoints: [refused.endpoint], caCertFile: ca.certFile });
    expect(error).toMatchObject({ kind: "accessDenied", code: 108 });
    expect(error.message).toMatch(/^read from etcd: https:\/\/127\.0\.0\.1:\d+: TLS handshake: [A-Z_]+; /);
    expect(error.message).toEndWith(advice);
  });

  test("of another authority beside one that is away may not be all that there is", async () => {
    const endpoints = [server.endpoint, "https://127.0.0.1:1"];
    expect(await refusalOf({ endpoints, caCertFile: otherCa.certFile })).toMatchObject({
      kind: "tryAgainLater",
      message: expect.stringMatching(/TLS handshake: .*; etcd_ca_cert_file must name a file with the authority of etcd's certificate$/),
    });
  });

  test("that speaks TLS when we do not, or the reverse, is named with a hint", async () => {
    await using plain = await startEtcd(QUICK);
    const endpoints = [server.endpoint.replace("https:", "http:"), plain.endpoint.replace("http:", "https:")];
    const ways = endpoints.flatMap((endpoint) => [{}, { connect: connectTcp }].map((ports) => ({ endpoint, ports })));
    const refusals = ways.map(async ({ endpoint, ports }) => {
      const error = await refusalOf({ endpoints: [endpoint], caCertFile: ca.certFile }, { limits: IMPATIENT, ...ports });
      expect(error).toMatchObject({ kind: "tryAgainLater" });
      expect(error.message).toBe(
        `read from etcd: ${endpoint}: connection closed without a reply; if it is up, check http and https in etcd_endpoints`,
      );
    });
    await Promise.all(refusals);
  });

  test("that speaks TLS when we do not is named so for a request that it reads only the beginning of, too", async () => {
    const endpoint = server.endpoint.replace("https:", "http:");
    const names = Array.from({ length: 100 }, (_, index) => `pool-${index}`);
    for (const ports of [{}, { connect: connectTcp }]) {
      const datastore = openEtcd({ endpoints: [endpoint] }, { limits: IMPATIENT, ...ports });
      using _datastore = { [Symbol.dispose]: () => datastore.close() };
      const error = await failureOf(datastore.read(names.map((name) => ({ type: "get", ref: { kind: "IPPool", name } }))));
      expect(error.message).toBe(
        `read from etcd: ${endpoint}: connection closed without a reply; if it is up, check http and https in etcd_endpoints`,
      );
    }
  });
});

test("a proxy that the environment names is not asked, with TLS or without", async () => {
  await using plain = await startEtcd(QUICK);
  const proxy = "http://127.0.0.1:1";
  const env = { PATH: process.env["PATH"] ?? "", HTTP_PROXY: proxy, http_proxy: proxy, HTTPS_PROXY: proxy, https_proxy: proxy };
  for (const config of [{ endpoints: [plain.endpoint] }, { endpoints: [server.endpoint], caCertFile: ca.certFile }]) {
    const code = `import { openEtcd } from "${import.meta.dir}/open-etcd.ts";
      import { use } from "${import.meta.dir}/steps.ts";
      console.log(await use(openEtcd(${JSON.stringify(config)}), "without-proxy"));`;
    const child = Bun.spawn([process.execPath, "-e", code], { env, stdout: "pipe", stderr: "pipe" });
    expect([await child.stdout.text(), await child.stderr.text()]).toEqual(["works\n", ""]);
  }
});

test("variables that have others trust any server, or print requests, change nothing, over HTTP or gRPC", async () => {
  const env = {
    PATH: process.env["PATH"] ?? "",
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    NODE_NO_WARNINGS: "1",
    BUN_CONFIG_VERBOSE_FETCH: "curl",
  };
  const ask = async (transport: string, authorityFile: string): Promise<readonly string[]> => {
    const code = `import { createGateway } from "${import.meta.dir}/../../src/datastore/etcd/wire/gateway/transport.ts";
      import { createGrpcTransport } from "${import.meta.dir}/../../src/datastore/etcd/wire/grpc/transport.ts";
      const transport = ${transport === "grpc" ? "createGrpcTransport" : "createGateway"}();
      const ca = [await Bun.file("${authorityFile}").text()];
      const target = { endpoint: "${server.endpoint}", tls: { ca }, signal: AbortSignal.timeout(5_000) };
      console.log(await transport.authenticate("netplug", "${SECRET}", target).catch((thrown) => thrown.message));
      process.exit();`;
    const child = Bun.spawn([process.execPath, "-e", code], { env, stdout: "pipe", stderr: "pipe" });
    return [await child.stdout.text(), await child.stderr.text()];
  };
  for (const transport of ["gateway", "grpc"]) {
    expect(await ask(transport, otherCa.certFile)).toEqual([expect.stringMatching(/^TLS handshake: /), ""]);
    expect(await ask(transport, ca.certFile)).toEqual([expect.stringContaining("authentication is not enabled"), ""]);
  }
});

const third = certificates.createAuthority("third-ca");
const UNKNOWN_AUTHORITY =
  "etcd may not trust etcd_cert_file PATH: it must know the authority that has signed it, by its --trusted-ca-file; an intermediate one may be missing in the file";

/** Signed by an intermediate authority; what follows it in its file. */
function issueBelow(name: string, days: number, toFollowing: (authorityFile: string) => readonly string[], usage?: string): KeyPair {
  const authority = ca.issueAuthority(name, days, usage);
  const { certFile, keyFile } = authority.issueClient("netplug");
  return { certFile: certificates.bundle(`${name}-chain.crt`, [certFile, ...toFollowing(authority.certFile)]), keyFile };
}

/** The same, with an authority behind it that has expired, and did not sign it. */
function withUnrelated(name: string, { certFile, keyFile }: KeyPair): KeyPair {
  return { certFile: certificates.bundle(`${name}-and-unrelated.crt`, [certFile, unrelated.certFile]), keyFile };
}

const unrelated = ca.issueAuthority("unrelated", -1);
const stranger = third.issueClient("netplug");

const noCertificate = join(certificates.path, "no-certificate.pem");
writeFileSync(noCertificate, `-----BEGIN HOME MADE CERTIFICATE-----\n${btoa(SECRET)}\n-----END HOME MADE CERTIFICATE-----\n`);

describe.concurrent("a client certificate", () => {
  test("of the right authority lets in, also by an intermediate one in its file", async () => {
    expect(await use(openEtcd({ endpoints: [mutual.endpoint], ...client, caCertFile: ca.certFile }), "mutual")).toBe("works");
    const below = issueBelow("intermediate-there", 1, (file) => [file]);
    expect(await use(openEtcd({ endpoints: [mutual.endpoint], ...below, caCertFile: ca.certFile }), "mutual-below")).toBe("works");
    const beside = withUnrelated("beside", client);
    expect(await use(openEtcd({ endpoints: [mutual.endpoint], ...beside, caCertFile: ca.certFile }), "mutual-beside")).toBe("works");
  });

  test.each([
    ["of a stranger", stranger, UNKNOWN_AUTHORITY],
    ["of a stranger, with one behind it that has expired and did not sign it", withUnrelated("strange", stranger), UNKNOWN_AUTHORITY],
    ["of a stranger that is for everything", third.issueServer("everything", undefined, "anyExtendedKeyUsage"), UNKNOWN_AUTHORITY],
    [
      "that has expired",
      ca.issueServer("expired", undefined, "clientAuth", -1),
      /^etcd does not accept etcd_cert_file PATH: it expired at 20\d\d-\d\d-\d\dT[\d:]{8}\.000Z: renew it$/,
    ],
    [
      "that is one for servers",
      ca.issueServer("server-only", undefined, "serverAuth"),
      "etcd does not accept etcd_cert_file PATH: it is not for clients, whose extended key usage is clientAuth",
    ],
    ["without its intermediate authority", issueBelow("intermediate-alone", 1, () => []), UNKNOWN_AUTHORITY],
    ["with something that is none behind it", issueBelow("intermediate-none", 1, () => [noCertificate]), UNKNOWN_AUTHORITY],
    [
      "with an intermediate authority that has expired",
      issueBelow("intermediate-expired", -1, (file) => [file]),
      /^etcd may not accept an authority in etcd_cert_file PATH: it expired at 20\d\d-\d\d-\d\dT[\d:]{8}\.000Z: renew it$/,
    ],
    [
      "with an intermediate authority for servers",
      issueBelow("intermediate-for-servers", 1, (file) => [file], "serverAuth"),
      "etcd may not accept an authority in etcd_cert_file PATH: it is not for clients, whose extended key usage is clientAuth",
    ],
    ["that is not there", undefined, "etcd may want a client certificate: give etcd_cert_file and etcd_key_file"],
  ])("%s is refused with what to do", async (_what, refused, advice) => {
    const config = { endpoints: [mutual.endpoint], caCertFile: ca.certFile, ...refused };
    for (const attempt of [namesIn, (datastore: Datastore) => create(datastore, "refused")]) {
      const datastore = openEtcd(config);
      const error = await failureOf(attempt(datastore));
      datastore.close();
      expect(error).toMatchObject({ kind: "accessDenied", code: 108 });
      const [, told] = /^\w+ \w+ etcd: https:\/\/127\.0\.0\.1:\d+: TLS handshake: [A-Z_]+; (.*)$/.exec(error.message) ?? [];
      expect(told?.replace(`"${refused?.certFile}"`, "PATH")).toMatch(advice);
      // Bun's guess, that the server might not speak TLS
      expect(toErrorOutput(error, "1.1.0").details ?? "").not.toContain("speak TLS");
    }
  });

  test("that is missing is told over gRPC by the server's alert", async () => {
    const tls = { ca: [readFileSync(ca.certFile, "utf8")], cert: undefined, key: undefined };
    const transport = createGrpcTransport();
    const write = transport.write(
      { compares: [], success: [], failure: [] },
      { endpoint: mutual.endpoint, tls, signal: new AbortController().signal },
    );
    const { reason, advice } = advise(await failureOf(write, EtcdFailure), { endpoints: [] }, tls, 0);
    expect([reason, advice]).toEqual(["untrusted", "etcd may want a client certificate: give etcd_cert_file and etcd_key_file"]);
    transport.close();
  });

  test("that is renewed in its files is used from the next failure on", async () => {
    const files = { certFile: join(certificates.path, "renewed.crt"), keyFile: join(certificates.path, "renewed.key") };
    const install = async (pair: typeof client) => {
      await Bun.write(files.certFile, Bun.file(pair.certFile));
      await Bun.write(files.keyFile, Bun.file(pair.keyFile));
    };
    await install(certificates.createAuthority("fourth-ca").issueClient("netplug"));
    const datastore = openEtcd({ endpoints: [mutual.endpoint], caCertFile: ca.certFile, ...files });
    expect(await failureOf(namesIn(datastore))).toMatchObject({ kind: "accessDenied" });
    await install(client);
    expect(await use(datastore, "renewed")).toBe("works");
  });

  test("that is replaced while it is read lets in, although what was read of it does not match", async () => {
    const other = ca.issueClient("netplug-before");
    let reads = 0;
    const files: Files = {
      ...testFiles,
      readText: (path) => testFiles.readText(path === client.keyFile && ++reads === 1 ? other.keyFile : path),
    };
    const config = { endpoints: [mutual.endpoint], caCertFile: ca.certFile, ...client };
    expect(await use(openEtcd(config, { files }), "while-replaced")).toBe("works");
    expect(reads).toBeGreaterThan(1);
  });

  test("that is another at each look, and never fits its key, ends the request after a few tries, which may be made again", async () => {
    const others = [ca.issueClient("netplug-first"), ca.issueClient("netplug-second")];
    let reads = 0;
    const files: Files = {
      ...testFiles,
      readText: (path) => testFiles.readText(path === client.keyFile ? (others[++reads % 2]?.keyFile ?? path) : path),
    };
    const config = { endpoints: [mutual.endpoint], caCertFile: ca.certFile, ...client };
    const error = await failureOf(create(openEtcd(config, { files }), "never"));
    expect([error instanceof OutcomeUnknown, error.kind, error.message]).toEqual([
      false,
      "tryAgainLater",
      `commit to etcd: ${mutual.endpoint}: cannot connect`,
    ]);
    expect(reads).toBeLessThan(20);
  });

  test("whose key does not match is told as never sent, over the gateway and over gRPC", async () => {
    const key = readFileSync(ca.issueClient("netplug-other").keyFile, "utf8");
    const tls = { ca: [readFileSync(ca.certFile, "utf8")], cert: readFileSync(client.certFile, "utf8"), key };
    for (const transport of [createGateway(undefined), createGrpcTransport()]) {
      const write = transport.write(
        { compares: [], success: [], failure: [] },
        { endpoint: mutual.endpoint, tls, signal: new AbortController().signal },
      );
      const { reason, message } = await failureOf(write, EtcdFailure);
      expect([reason, message]).toEqual(["unreachable", "cannot connect"]);
      transport.close();
    }
  });

  test("that is renewed in its files is used a minute later, although the old one still lets in", async () => {
    const [certFile, keyFile] = [join(certificates.path, "minute.crt"), join(certificates.path, "minute.key")];
    const install = async (pair: typeof client) => {
      await Bun.write(certFile, Bun.file(pair.certFile));
      await Bun.write(keyFile, Bun.file(pair.keyFile));
    };
    await install(client);
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    const datastore = openEtcd({ endpoints: [mutual.endpoint], caCertFile: ca.certFile, certFile, keyFile }, { clock });
    await namesIn(datastore);
    await install(certificates.createAuthority("fifth-ca").issueClient("netplug"));
    await namesIn(datastore);
    aheadMs = 61_000;
    expect(await failureOf(namesIn(datastore))).toMatchObject({ kind: "accessDenied" });
    datastore.close();
  });
});

describe.concurrent("a file", () => {
  test("that cannot be read, or is no PEM, is named, with nothing of what is in it", async () => {
    const noPem = join(certificates.path, "no.pem");
    writeFileSync(noPem, SECRET);
    const good = { ...client, caCertFile: ca.certFile };
    for (const config of [
      { caCertFile: "/nowhere/ca.crt" },
      { caCertFile: noPem },
      { ...good, keyFile: noPem },
      { ...good, certFile: noPem },
    ]) {
      const error = await refusalOf({ endpoints: ["https://127.0.0.1:1"], ...config });
      expect(error).toMatchObject({ kind: "ioFailure" });
      expect(error.message).toMatch(/^read etcd_\w+ "\//);
    }
  });

  test("that holds no key or certificate that can be used is named", async () => {
    const inPem = (label: string) => {
      const path = join(certificates.path, `bad-${label.replaceAll(" ", "-")}.pem`);
      writeFileSync(path, `-----BEGIN ${label}-----\n${btoa(SECRET)}\n-----END ${label}-----\n`);
      return path;
    };
    const locked = join(certificates.path, "locked.key");
    Bun.spawnSync(["openssl", "pkcs8", "-topk8", "-in", client.keyFile, "-out", locked, "-passout", `pass:${SECRET}`]);
    const good = { ...client, caCertFile: ca.certFile };
    for (const [config, name] of [
      [{ caCertFile: inPem("CERTIFICATE") }, "etcd_ca_cert_file"],
      [{ ...good, certFile: inPem("CERTIFICATE") }, "etcd_cert_file"],
      [{ ...good, keyFile: inPem("PRIVATE KEY") }, "etcd_key_file"],
      [{ ...good, keyFile: locked }, "etcd_key_file"],
      [{ ...good, keyFile: otherCa.issueClient("netplug").keyFile }, "etcd_cert_file"],
    ] as const) {
      const error = await refusalOf({ endpoints: [mutual.endpoint], ...config });
      expect(error).toMatchObject({ kind: "ioFailure" });
      expect(error.message).toMatch(new RegExp(`^use ${name} "/.*: ERR_[A-Z0-9_]+; want PEM`));
    }
  });
});
