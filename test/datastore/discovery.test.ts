/** Finding etcd by SRV records, asked of a real name server. */

import { afterAll, describe, expect, test } from "bun:test";
import type { SrvRecord } from "../../src/datastore/etcd/client/srv.ts";
import { createResolver } from "../../src/datastore/etcd/client/srv.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { freePorts } from "../support/servers/free-ports.ts";
import { durationOf } from "../support/time/duration.ts";
import { startDnsServer } from "./dns-server.ts";
import { IMPATIENT, openEtcd } from "./open-etcd.ts";
import { failureOf } from "../support/failure-of.ts";
import { create, namesIn, use } from "./steps.ts";

const TLS_NAME = "_etcd-client-ssl._tcp.example.test";
const PLAIN_NAME = "_etcd-client._tcp.example.test";

const certificates = createCertificateFolder();
const ca = certificates.createAuthority("ca");
afterAll(() => certificates[Symbol.dispose]());

function at(port: number, priority = 0, weight = 1): SrvRecord {
  return { name: "localhost", port, priority, weight };
}

function discover(dns: { readonly address: string }, config = {}, ports = {}) {
  return openEtcd({ endpoints: [], discoverySrv: "example.test", ...config }, { resolveSrv: createResolver([dns.address]), ...ports });
}

describe.concurrent("discovery", () => {
  test("finds servers under the plain name, by priority, and passes over those that are dead", async () => {
    await using server = await startEtcd({ quick: true });
    const [dead = 0] = freePorts(1);
    using dns = await startDnsServer({ [PLAIN_NAME]: [at(server.port, 20), at(dead, 10)] });
    const datastore = discover(dns);
    expect(await namesIn(datastore)).toEqual([]);
    expect(datastore.requests).toEqual({ roundTrips: 2, retries: 1 });
    await create(datastore, "a");
    expect(datastore.requests).toEqual({ roundTrips: 3, retries: 1 });
    expect(dns.questions).toEqual([TLS_NAME, PLAIN_NAME]);
  });

  test("takes those with TLS alone when there are any", async () => {
    await using server = await startEtcd({ quick: true, tls: ca.issueServer("server") });
    using dns = await startDnsServer({ [TLS_NAME]: [at(server.port)], [PLAIN_NAME]: [at(1)] });
    expect(await use(discover(dns, { caCertFile: ca.certFile }), "a")).toBe("works");
    expect(dns.questions).toEqual([TLS_NAME]);
  });

  test("does not ask for endpoints without TLS when certificates are configured", async () => {
    using dns = await startDnsServer({ [PLAIN_NAME]: [at(1)] });
    const { certFile, keyFile } = ca.issueClient("netplug");
    for (const config of [{ caCertFile: ca.certFile }, { certFile, keyFile }]) {
      expect(await failureOf(namesIn(discover(dns, config)))).toMatchObject({
        kind: "tryAgainLater",
        message: expect.stringMatching(
          /^discover etcd by "example\.test": .*; certificates are configured, so only endpoints with TLS will do$/,
        ),
      });
    }
    expect(dns.questions).toEqual([TLS_NAME, TLS_NAME]);
  });

  // Alone: those beside it would be a part of its time.
  test.serial("never falls back to plain text because a name server is silent, and ends in time", async () => {
    using dns = await startDnsServer({ [TLS_NAME]: undefined, [PLAIN_NAME]: [at(1)] });
    const giveUp = async (): Promise<void> =>
      expect(await failureOf(namesIn(discover(dns, {}, { limits: IMPATIENT })))).toMatchObject({
        kind: "tryAgainLater",
        message: expect.stringContaining(`discover etcd by "example.test": ${TLS_NAME}: `),
      });
    expect(await durationOf(giveUp)).toBeLessThan(4_000);
    expect(dns.questions).not.toContain(PLAIN_NAME);
    const beInterrupted = async (): Promise<void> => {
      const interrupted = discover(dns).read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.timeout(50) });
      expect(await failureOf(interrupted)).toMatchObject({ kind: "tryAgainLater", message: "read from etcd: interrupted" });
    };
    // less than a name server is waited for
    expect(await durationOf(beInterrupted)).toBeLessThan(900);
    const asked = dns.questions.length;
    const late = discover(dns).read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.abort() });
    expect(await failureOf(late)).toMatchObject({ kind: "tryAgainLater", message: "read from etcd: interrupted" });
    expect(dns.questions).toHaveLength(asked);
  });

  test("that finds nothing names both names", async () => {
    using dns = await startDnsServer({ [PLAIN_NAME]: [] });
    const { kind, message } = await failureOf(namesIn(discover(dns)));
    expect(kind).toBe("tryAgainLater");
    expect(message).toMatch(
      /^discover etcd by "example\.test": _etcd-client-ssl\._tcp\.example\.test: \w+; _etcd-client\._tcp\.example\.test: \w+$/,
    );
  });

  test("is done again when all that was found is gone, and not before", async () => {
    const old = await startEtcd({ quick: true });
    await using next = await startEtcd({ quick: true });
    const zone = { [PLAIN_NAME]: [at(old.port)] };
    using dns = await startDnsServer(zone);
    const datastore = discover(dns);
    for (const name of ["a", "b"]) await create(datastore, name);
    expect(dns.questions).toHaveLength(2);
    zone[PLAIN_NAME] = [at(next.port)];
    await old[Symbol.asyncDispose]();
    await failureOf(namesIn(datastore));
    expect(await namesIn(datastore)).toEqual([]);
    expect(dns.questions).toHaveLength(4);
  });
});
