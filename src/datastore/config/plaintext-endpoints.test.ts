import { expect, test } from "bun:test";
import { type EtcdConfig, isPartlyPlain } from "./datastore-config.ts";
import { warnOfPlaintext } from "./plaintext-endpoints.ts";

const PAIR = { certFile: "/c", keyFile: "/k" };
const IN_THE_CLEAR = 'goes in the clear; write "https://" for "http://"';

function warningsOf(etcd: EtcdConfig, nameOf?: (name: string) => string): readonly string[] {
  const warnings: string[] = [];
  if (isPartlyPlain({ type: "etcdv3", etcd })) warnOfPlaintext(etcd, (text) => warnings.push(text), nameOf);
  return warnings;
}

test.each<[config: EtcdConfig, warning: string]>([
  [
    { endpoints: ["http://a:2379"], caCertFile: "/ca" },
    `etcd_endpoints: "http://a:2379" without TLS: etcd_ca_cert_file has no effect there, and everything ${IN_THE_CLEAR}`,
  ],
  [
    { endpoints: ["https://a:2379", "http://b:2379", "http://c:2379"], ...PAIR, username: "root", password: "s3cret" },
    `etcd_endpoints: "http://b:2379", "http://c:2379" without TLS: etcd_cert_file, etcd_key_file have no effect there, and everything, the password too, ${IN_THE_CLEAR}`,
  ],
])("%j is warned about, once, without the password", (config, warning) => expect(warningsOf(config)).toEqual([warning]));

test("settings are called as their reader calls them", () => {
  const [warning] = warningsOf({ endpoints: ["http://a:2379"], caCertFile: "/ca", ...PAIR }, (name) => `<${name}>`);
  expect(warning).toStartWith(
    '<etcdEndpoints>: "http://a:2379" without TLS: <etcdCACertFile>, <etcdCertFile>, <etcdKeyFile> have no effect',
  );
});

test.each<[config: EtcdConfig]>([
  [{ endpoints: ["http://a:2379"], username: "root", password: "s3cret" }],
  [{ endpoints: ["https://a:2379"], caCertFile: "/ca", ...PAIR }],
  [{ endpoints: ["https://etcd-http:2379"], caCertFile: "/ca" }],
  [{ endpoints: [], discoverySrv: "example.org", caCertFile: "/ca" }],
])("%j gives no warning", (config) => expect(warningsOf(config)).toEqual([]));

test("plain HTTP to the Kubernetes API gives no warning", () => {
  expect(isPartlyPlain({ type: "kubernetes", kubernetes: { apiRoot: "http://a", caFile: "/ca" } })).toBe(false);
});
