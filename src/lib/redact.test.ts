import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { quote } from "./quote.ts";
import { isSecretName, REDACTED, redactEnd, redactText } from "./redact.ts";
import { testSeed } from "../../test/support/seed.ts";

const SECRET = "s3cr3t-Value_42";
const JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJzdWIiOiJjbmkifQ.c2lnbmF0dXJl-_";
const PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----";
const KEY_DATA = Buffer.from(PEM).toString("base64");

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
    [`Authorization: Token ${SECRET}`, undefined],
    [`{"authorization": "Digest username=x, response=${SECRET}"}`, undefined],
    [`Authorization: Digest username="u", qop=auth, nonce="n", response="${SECRET}"\nno login`, `Authorization: ${REDACTED}\nno login`],
    [`Authorization: Digest username="a\\"b", response="${SECRET}`, `Authorization: ${REDACTED}`],
    [
      `-H 'Authorization: Digest username="u", response="${SECRET}"' https://x: refused`,
      `-H 'Authorization: ${REDACTED}' https://x: refused`,
    ],
    [`-H "Authorization: Digest response=\\"${SECRET}\\", nc=1" -v: "x"`, `-H "Authorization: ${REDACTED}" -v: "x"`],
    [`-H "Authorization: Basic dXNlcjpzM2NyM3Q=" https://x: refused`, `-H "Authorization: ${REDACTED}" https://x: refused`],
    [`-H "Authorization: Bearer ${SECRET}" "x": refused`, `-H "Authorization: ${REDACTED}" "x": refused`],
    [`Set-Cookie: a=b; session=${SECRET}\nno login`, `Set-Cookie: ${REDACTED}\nno login`],
    [`+ vault login --token ${SECRET} -address x`, `+ vault login --token ${REDACTED} -address x`],
    [`+ log-in --client-secret ${SECRET}`, undefined],
    [`+ log-in --passwd ${SECRET} -x`, `+ log-in --passwd ${REDACTED} -x`],
    [`read option --passwd = ${SECRET}`, `read option --passwd = ${REDACTED}`],
    [`+ log-in --passwd=${SECRET} -x`, `+ log-in --passwd=${REDACTED} -x`],
    [`+ log-in --key-passphrase '${SECRET} x' -x`, `+ log-in --key-passphrase ${REDACTED} -x`],
    [`+ log-in --password "a\\"${SECRET}" -x`, `+ log-in --password ${REDACTED} -x`],
    [`{"run": "log-in --password \\"${SECRET}\\" -x"}`, `{"run": "log-in --password ${REDACTED} -x"}`],
    [`+ log-in --password "${SECRET}" -x`, `+ log-in --password ${REDACTED} -x`],
    [`client-key-data: ${SECRET}`, undefined],
    [`decode ${KEY_DATA}: no key`, `decode ${REDACTED}: no key`],
    [`AWS_SECRET_ACCESS_KEY=${SECRET} is refused`, `AWS_SECRET_ACCESS_KEY=${REDACTED} is refused`],
    [`secret-access-key: ${SECRET}`, undefined],
    [`client_secret_id=${SECRET}&a=b`, `client_secret_id=${REDACTED}&a=b`],
    [`passwords = ${SECRET}`, undefined],
    [`private_key: ${SECRET}`, undefined],
    [`{"privateKey":"${SECRET}"}`, undefined],
    [`X-Api-Key: ${SECRET}`, undefined],
    [`api_key=${SECRET}, region=eu`, `api_key=${REDACTED}, region=eu`],
    [`Set-Cookie: ${SECRET}`, undefined],
    [`read ${PEM} failed`, `read ${REDACTED} failed`],
    [PEM.slice(0, 50), undefined],
    [`decode {"name":"n","etcd_endpoints":"x","cniVersion":"1.0.0","anything":"${SECRET}"} failed`, undefined],
  ])("%p", (text, expected) => {
    const clean = redactText(text);
    for (const secret of [SECRET, JWT, "MIIEow", KEY_DATA]) expect(clean).not.toContain(secret);
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
  'add pod "default/token-server-7d9f-abcde": got no address',
  "etcd_password_file=/etc/netplug/password, tokenFile: /run/token, token_dir: /run",
  'read CNI_TOKEN_REFRESH_INTERVAL: got "1ms", want a time',
  "commit 4 writes at revision 17",
  'open "/run/netplug/etcd-tokens": EMFILE (too many open files)',
  'read token "/var/run/secrets/kubernetes.io/serviceaccount/token": ENOENT (no such file or directory)',
  'open "/etc/api-key": no such file',
  "the API server wants basic authentication",
  "flag provided but not defined: --token",
  'flag provided but not defined: "--passwd"',
  'the server answers WWW-Authenticate: Digest realm="x", qop="auth"',
  "read proxy-url: want http://… or https://…",
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
    "api_key",
    "X-Api-Key",
    "raw",
    "stdin",
    "config",
  ]) {
    expect(isSecretName(name)).toBe(true);
  }
  for (const name of [
    "etcd_key_file",
    "tokenFile",
    "tokenRefreshInterval",
    "containerID",
    "name",
    "configName",
    "path",
    "key",
    "environmentName",
  ]) {
    expect(isSecretName(name)).toBe(false);
  }
});

test.each([
  'use pool "token": it is disabled',
  'no address left: pool "blue": it is disabled; pool "my-secrets": full: all 8 addresses are in use',
  'find pod "shop/rotate-secret": the API server has no such pod; it was deleted',
  'open network namespace "/run/netns/token": it does not exist',
  'read kubeconfig "/srv/api-key": no such file',
  'find node "passwd": the API server has no such node',
  'read result of ADD by delegate "cookie": got no address, want at least one',
])("what stands behind the name of an object is no secret, whatever the name: %p", (text) => {
  expect(redactText(text)).toBe(text);
});

test.each([
  `read "token": ${SECRET} is no number`,
  `pool "token=${SECRET}": it is disabled`,
  `pool "token": "${SECRET}" is no number`,
  `pool "a" token: ${SECRET} is no number`,
  `pod "token": ${SECRET}`,
  `"/token": ${SECRET} is no number`,
  `"/a" token: ${SECRET} is no number`,
  `the pool said {"pool": "a", "token": ${SECRET} }`,
])("an object beside a secret does not spare it: %p", (text) => {
  expect(redactText(text)).not.toContain(SECRET);
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

test("a password in a URL that was cut before its end is gone, and an ordinary URL that was cut stays", () => {
  const secret = SECRET.repeat(20);
  for (const before of ["https://root:", "https://", "https://root:/a?"]) {
    expect(redactText(`dial ${quote(`${before}${secret}@host`)}: refused`)).toMatch(
      /^dial "https:\/\/\[redacted\]…" \(\d+ characters\): refused$/,
    );
  }
  const url = `https://10.0.0.1:2379/${"path/".repeat(50)}`;
  expect(redactText(`dial ${quote(url)}`)).toBe(`dial ${quote(url)}`);
  expect(redactText(`${JWT.repeat(500).slice(0, 7_950)} https://root:${SECRET.repeat(10)}@host`)).not.toContain("s3cr");
});

describe("the end of a text", () => {
  test("is without a secret that begins before it", () => {
    const long = `${JWT}${"S".repeat(2000)}`;
    expect(redactEnd(`cached ${long} was refused\nlog in again`, 20)).toBe("…refused\nlog in again");
    expect(redactEnd(`token=${long} refused`, 900)).toBe(`token=${REDACTED} refused`);
    expect(redactEnd(`${PEM.replace("MIIEowIBAAKCAQEA", "MIIEow\n".repeat(500))}\nno login`, 900)).toBe(`${REDACTED}\nno login`);
  });

  test("is all of a short one, and nothing of one that is too long to be searched", () => {
    expect(redactEnd("no login", 900)).toBe("no login");
    expect(redactEnd("x".repeat(65_536), 10)).toBe("…xxxxxxxxxx");
    expect(redactEnd("x".repeat(65_537), 10)).toBeUndefined();
  });
});

test("no text takes long, however it is built", () => {
  for (const text of [
    "{".repeat(1e6),
    "password".repeat(1e5),
    `${"secret_".repeat(1e5)}=x`,
    "api-key ".repeat(1e5),
    `://${"a".repeat(1e6)}`,
    '"password":"'.repeat(1e5),
    "eyJ.".repeat(1e5),
    "-----BEGIN A-----".repeat(1e5),
    `authorization: ${'x="'.repeat(1e5)}`,
    'authorization: x=\\"'.repeat(1e5),
  ]) {
    const start = performance.now();
    redactText(text);
    expect(performance.now() - start).toBeLessThan(100);
    redactEnd(text.slice(0, 65_536), 900);
    expect(performance.now() - start).toBeLessThan(1_000);
  }
  // Here a URL may begin everywhere.
  for (const text of ["://".repeat(1e5), "://a:".repeat(1e5), "://a:…".repeat(1e5)]) {
    const start = performance.now();
    redactText(text);
    redactEnd(text.slice(0, 65_536), 900);
    expect(performance.now() - start).toBeLessThan(2_000);
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
