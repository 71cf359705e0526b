import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isSecretName, REDACTED, redactText } from "./redact.ts";
import { testSeed } from "../../test/support/seed.ts";

const SECRET = "s3cr3t-Value_42";
const JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJzdWIiOiJjbmkifQ.c2lnbmF0dXJl-_";
const PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----";

describe("a text loses", () => {
  test.each([
    [`log in to https://root:${SECRET}@10.0.0.1:2379/v3`, `log in to https://${REDACTED}@10.0.0.1:2379/v3`],
    [`dial https://root:p/ss@${SECRET}@host`, undefined],
    [`password=${SECRET} refused`, `password=${REDACTED} refused`],
    [`ETCD_PASSWORD=${SECRET}`, undefined],
    [`{"etcd_password":"${SECRET}","name":"x"}`, `{"etcd_password":${REDACTED},"name":"x"}`],
    [`{\\"token\\": \\"${SECRET}\\"}`, undefined],
    [`etcd_password: '${SECRET}'`, undefined],
    [`"password": "a\\"${SECRET}"`, undefined],
    [`Authorization: Bearer ${SECRET}`, undefined],
    [`header basic ${SECRET}`, undefined],
    [`token ${JWT} has expired`, `token ${REDACTED} has expired`],
    [`client-key-data: ${SECRET}`, undefined],
    [`read ${PEM} failed`, `read ${REDACTED} failed`],
    [PEM.slice(0, 50), undefined],
    [`decode {"name":"n","etcd_endpoints":"x","cniVersion":"1.0.0","anything":"${SECRET}"} failed`, undefined],
  ])("%p", (text, expected) => {
    const clean = redactText(text);
    for (const secret of [SECRET, JWT, "MIIEow"]) expect(clean).not.toContain(secret);
    expect(clean).toContain(REDACTED);
    if (expected !== undefined) expect(clean).toBe(expected);
  });
});

test.each([
  'set mtu on "eth0": got 65600, want 68..65535',
  "connect to http://127.0.0.1:2379: connection refused",
  'readiness gate "http://node@example/" has no user',
  "the token has expired; ask for a new one",
  'pod "default/secret-agent" is gone',
  "commit 4 writes at revision 17",
])("an ordinary message stays as it is, as far as it holds no user information: %p", (text) => {
  expect(redactText(text).replace(`${REDACTED}@`, "node@")).toBe(text);
});

test("names of secrets are known, and names of the files that hold them are none", () => {
  for (const name of [
    "etcd_password",
    "etcdPassword",
    "token",
    "bearerToken",
    "kubeconfig",
    "KUBECONFIG",
    "kubeconfigPath",
    "clientKeyData",
    "raw",
    "stdin",
    "config",
  ]) {
    expect(isSecretName(name)).toBe(true);
  }
  for (const name of ["etcd_key_file", "tokenFile", "containerID", "name", "configName", "path", "key", "environmentName"]) {
    expect(isSecretName(name)).toBe(false);
  }
});

test("a text is cut from the first character too many on", () => {
  expect(redactText("a".repeat(2000))).toBe("a".repeat(2000));
  expect(redactText("a".repeat(2001))).toBe(`${"a".repeat(2000)}… (2001 characters)`);
});

test("a long text is cut, also in the middle of a secret", () => {
  const text = redactText(`${"x".repeat(1990)}password=${SECRET.repeat(1000)}`);
  expect(text.length).toBeLessThan(2100);
  expect(text).toEndWith("(17000 characters)".replace("17000", String(1990 + 9 + SECRET.length * 1000)));
  expect(text).not.toContain("s3cr");
});

test("no text takes long, however it is built", () => {
  for (const text of [
    "{".repeat(1e6),
    "password".repeat(1e5),
    `://${"a".repeat(1e6)}`,
    '"password":"'.repeat(1e5),
    "eyJ.".repeat(1e5),
    "-----BEGIN A-----".repeat(1e5),
  ]) {
    const start = performance.now();
    redactText(text);
    expect(performance.now() - start).toBeLessThan(100);
  }
});

test("a password in a URL never survives, whatever its characters", () => {
  const password = fc.stringMatching(/^[!-.0-~]{4,20}$/).filter((text) => !/["']/.test(text));
  fc.assert(
    fc.property(password, fc.constantFrom("http", "https"), (secret, scheme) => {
      expect(redactText(`dial ${scheme}://user:${secret}@host:2379 failed`)).toBe(`dial ${scheme}://${REDACTED}@host:2379 failed`);
    }),
    { seed: testSeed() },
  );
});
