import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { memoryFiles } from "../../../test/support/memory-files.ts";
import type { NetplugError } from "../../lib/errors.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import { ANONYMOUS } from "./access.ts";
import { resolveAccess } from "./resolve-access.ts";

const CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

const YAML = `
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: team}
- name: two
  context: {cluster: c2, user: u2}
- {name: no-cluster, context: {cluster: nowhere, user: u1}}
- {name: no-user, context: {cluster: c1, user: nobody}}
- {name: anonymous, context: {cluster: c1}}
clusters:
- name: c1
  cluster:
    server: https://one.example:6443/
    certificate-authority-data: ${btoa(CA)}
    tls-server-name: api.internal
    proxy-url: http://proxy.example:3128
- name: c2
  cluster:
    server: two.example
    insecure-skip-tls-verify: true
users:
- name: u1
  user: {token: tok1, tokenFile: tokens/u1}
- name: u2
  user:
    client-certificate: certs/u2.crt
    client-key: /abs/u2.key
`;

async function read(
  contents: Record<string, string | null>,
  settings: KubeSettings = { kubeconfig: "/etc/k/config" },
): Promise<KubeAccess> {
  return await resolveAccess(settings, { files: memoryFiles(contents), env: {} });
}

async function refusal(contents: Record<string, string | null>, settings?: KubeSettings): Promise<NetplugError> {
  return await failureOf(read(contents, settings));
}

describe("a kubeconfig", () => {
  test("gives server, certificates, user and namespace of its current context", async () => {
    expect(await read({ "/etc/k/config": YAML })).toMatchObject({
      server: "https://one.example:6443",
      ca: { text: CA },
      skipsTlsVerify: false,
      tlsServerName: "api.internal",
      proxyUrl: "http://proxy.example:3128",
      namespace: "team",
      user: { token: "tok1", tokenFile: "/etc/k/tokens/u1" },
      origin: 'user "u1" in kubeconfig "/etc/k/config"',
    });
  });

  test("gives another context when one is named; relative paths begin at its folder, a server without scheme speaks TLS when TLS is configured", async () => {
    expect(await read({ "/etc/k/config": YAML }, { kubeconfig: "/etc/k/config", context: "two" })).toMatchObject({
      server: "https://two.example",
      skipsTlsVerify: true,
      user: { clientCertificate: { file: "/etc/k/certs/u2.crt" }, clientKey: { file: "/abs/u2.key" }, token: undefined },
      namespace: undefined,
    });
  });

  test("may be JSON", async () => {
    const json = JSON.stringify(Bun.YAML.parse(YAML), undefined, 2);
    expect(await read({ "/etc/k/config": json })).toEqual(await read({ "/etc/k/config": YAML }));
  });

  test.each(["", "kind: ''", "kind: Config"])("may say what it is, or not: %p", async (kind) => {
    const text = YAML.replace("kind: Config", kind);
    expect((await read({ "/etc/k/config": text })).server).toBe("https://one.example:6443");
  });

  test.each([
    ["a CA", "certificate-authority: /ca", "https"],
    ["no CA", "namespace: x", "http"],
  ])("whose server has no scheme and %s speaks what kubectl would", async (_name, field, scheme) => {
    const text = `{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: x, ${field}}}]}`;
    expect((await read({ "/k": text }, { kubeconfig: "/k" })).server).toBe(`${scheme}://x`);
  });

  test.each([
    ["{as: x, as-groups: [a], as-uid: '7'}", { impersonate: { user: "x", group: "a", uid: "7" } }],
    ["{as: x, as-groups: [], as-user-extra: {}}", { impersonate: { user: "x", group: undefined, uid: undefined } }],
    ["{as: x}", { impersonate: { user: "x", group: undefined, uid: undefined } }],
    ["{username: me}", { basic: { username: "me", password: "" } }],
    ["{username: me, password: p}", { basic: { username: "me", password: "p" } }],
  ])("with the user %s gives just that", async (user, expected) => {
    const text = `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: https://x}}], users: [{name: u, user: ${user}}]}`;
    expect((await read({ "/k": text }, { kubeconfig: "/k" })).user).toEqual({ ...ANONYMOUS, ...expected });
  });

  test.each(["---\n", "---\nkind: Other\n"])("is the first of several documents: %j follows", async (more) => {
    expect(await read({ "/etc/k/config": `${YAML}\n${more}` })).toEqual(await read({ "/etc/k/config": YAML }));
  });

  test("may leave the user out", async () => {
    const { user } = await read({ "/etc/k/config": YAML }, { kubeconfig: "/etc/k/config", context: "anonymous" });
    expect(Object.values(user).every((value) => value === undefined)).toBe(true);
  });

  const CLUSTERS = [{ name: "k", cluster: { server: "https://x" } }];

  test.each([
    ["missing", {}, undefined, 'read kubeconfig "/etc/k/config": no such file'],
    ["not readable", { "/etc/k/config": null }, undefined, 'read kubeconfig "/etc/k/config": it cannot be read'],
    ["no YAML", { "/etc/k/config": "a: [secret" }, undefined, 'read kubeconfig "/etc/k/config": line 1: it is no YAML'],
    ["a list", { "/etc/k/config": "- a" }, undefined, 'read kubeconfig "/etc/k/config": want a document with clusters, users and contexts'],
    [
      "whose users are no list of objects",
      { "/etc/k/config": "users: [a]" },
      undefined,
      'read users of kubeconfig "/etc/k/config": want objects with a name',
    ],
    [
      "of another kind",
      { "/etc/k/config": "kind: Secret" },
      undefined,
      'read kubeconfig "/etc/k/config": got a document of another kind, want "Config"',
    ],
    ["empty", { "/etc/k/config": "" }, undefined, 'read kubeconfig "/etc/k/config": it has no current-context; set it, or name a context'],
    [
      "without the context",
      { "/etc/k/config": YAML },
      "three",
      'read kubeconfig "/etc/k/config": it has no context "three", want "one", "two", "no-cluster", "no-user" or "anonymous"',
    ],
    ["without any context", { "/etc/k/config": "clusters: []" }, "three", 'read kubeconfig "/etc/k/config": it has no context "three"'],
    [
      "of many contexts without the one",
      { "/etc/k/config": JSON.stringify({ contexts: [..."abcdef"].map((name) => ({ name, context: {} })) }) },
      "three",
      'read kubeconfig "/etc/k/config": it has no context "three", want "a", "b", "c", "d", "e" or another of it',
    ],
    [
      "without the cluster",
      { "/etc/k/config": YAML },
      "no-cluster",
      'read kubeconfig "/etc/k/config": it has no cluster "nowhere", which context "no-cluster" in kubeconfig "/etc/k/config" names',
    ],
    [
      "without the user",
      { "/etc/k/config": YAML },
      "no-user",
      'read kubeconfig "/etc/k/config": it has no user "nobody", which context "no-user" in kubeconfig "/etc/k/config" names',
    ],
  ] as const)("that is %s is code 7 and says which", async (_name, contents, context, message) => {
    const error = await refusal(contents, { kubeconfig: "/etc/k/config", context });
    expect(error).toMatchObject({ kind: "invalidConfig", code: 7, message });
  });

  test.each([
    ["a token that is a number", "token: 12345678", 'read token of user "u" in kubeconfig "/k": got a number, want a text'],
    [
      "data that is no base64",
      "client-certificate-data: '!!!'",
      'read client-certificate-data of user "u" in kubeconfig "/k": it is no base64',
    ],
    [
      "a certificate without key",
      "client-certificate: /a",
      'read user "u" in kubeconfig "/k": want client-certificate and client-key together',
    ],
    [
      "an auth-provider",
      "auth-provider: {name: gcp}",
      'read user "u" in kubeconfig "/k": auth-provider is not supported any more; use an exec plugin',
    ],
    ["an exec plugin without command", "exec: {apiVersion: x}", 'read exec of user "u" in kubeconfig "/k": it has no command'],
    [
      "an exec plugin of an unknown version",
      "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}",
      'read apiVersion of exec of user "u" in kubeconfig "/k": got "client.authentication.k8s.io/v1alpha1", want "client.authentication.k8s.io/v1" or "client.authentication.k8s.io/v1beta1"',
    ],
    [
      "a line break in whom to act as",
      '{as: "a\\nb"}',
      'read as of user "u" in kubeconfig "/k": got "a\\nb", want it without control characters',
    ],
    [
      "a line break in a group to act as",
      '{as: x, as-groups: ["a\\nb"]}',
      'read as-groups of user "u" in kubeconfig "/k": got "a\\nb", want it without control characters',
    ],
    [
      "several groups to act as",
      "{as: x, as-groups: [a, b]}",
      'read user "u" in kubeconfig "/k": want one entry in as-groups at most, and no as-user-extra',
    ],
    [
      "more to act as than we can say",
      "{as: x, as-user-extra: {scopes: [a]}}",
      'read user "u" in kubeconfig "/k": want one entry in as-groups at most, and no as-user-extra',
    ],
    ...["as-groups: [a]", "as-uid: '7'", "as-user-extra: {scopes: [a]}"].map((field) => [
      `${field} and nobody to act as`,
      `{token: t, ${field}}`,
      'read user "u" in kubeconfig "/k": want as-uid, as-groups and as-user-extra only beside as',
    ]),
  ])("with %s is refused", async (_name, user, message) => {
    const text = `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: https://x}}], users: [{name: u, user: ${user.startsWith("{") ? user : `{${user}}`}}]}`;
    expect(await refusal({ "/k": text }, { kubeconfig: "/k" })).toMatchObject({ code: 7, message });
  });

  test.each(["http://me:p:@ss@10.0.0.1:3128", "HTTPS://[fd00::1]:3128/", "http://10.0.0.1/a@b"])(
    "gives a proxy as it is written: %s",
    async (proxyUrl) => {
      const cluster = { server: "https://x", "proxy-url": proxyUrl };
      const text = JSON.stringify({ contexts: [{ name: "c", context: { cluster: "k" } }], clusters: [{ name: "k", cluster }] });
      expect(await read({ "/k": text }, { kubeconfig: "/k", context: "c" })).toMatchObject({ proxyUrl });
    },
  );

  test.each(["..", "a/b", "A"])("with a context in namespace %p is refused: none is called so", async (namespace) => {
    const text = JSON.stringify({ contexts: [{ name: "c", context: { cluster: "k", namespace } }], clusters: CLUSTERS });
    const message = `read namespace of context "c" in kubeconfig "/k": got "${namespace}", want the name of a namespace`;
    expect(await refusal({ "/k": text }, { kubeconfig: "/k", context: "c" })).toMatchObject({ code: 7, message });
  });

  test.each([
    [
      "insecure-skip-tls-verify: true, certificate-authority: /ca",
      'cluster "k" in kubeconfig "/k": insecure-skip-tls-verify and certificate-authority exclude each other',
    ],
    ["insecure-skip-tls-verify: 'true'", 'insecure-skip-tls-verify of cluster "k" in kubeconfig "/k": got a text, want true or false'],
    ["proxy-url: 'socks5://x:1'", 'proxy-url of cluster "k" in kubeconfig "/k": want http://… or https://…'],
    [
      "proxy-url: 'http://127.1:3128'",
      'proxy-url of cluster "k" in kubeconfig "/k": want http://… or https://…, IPv4 without leading zeros',
    ],
    ["proxy-url: 'http://me:pass@010.0.0.1'", "want http://… or https://…, IPv4 without leading zeros"],
    ["proxy-url: 'https://127.0.0.1@127.1'", "want http://… or https://…, IPv4 without leading zeros"],
    ["server: 'https://me:pass@x'", "got a URL with user or password"],
    ["server: 'ftp://x'", 'server of cluster "k" in kubeconfig "/k": got "ftp://x", want https://host:port'],
    ["server: 'https://fd00::1:6443'", 'got "https://fd00::1:6443", want https://host:port, an IPv6 address in brackets'],
    // To `URL`, 8.0.0.1 and 127.0.0.1.
    ["server: 'https://010.0.0.1:6443'", 'got "https://010.0.0.1:6443", want https://host:port, IPv4 without leading zeros'],
    ["server: '127.1'", 'got "127.1", want https://host:port, IPv4 without leading zeros'],
    ["server: 'https://10.0.0.1.:6443'", 'got "https://10.0.0.1.:6443", want https://host:port, IPv4 without leading zeros'],
    ["server: ''", 'read cluster "k" in kubeconfig "/k": it names no server'],
  ])("with a cluster that says %s is refused", async (fields, part) => {
    const server = fields.includes("server:") ? "" : "server: https://x, ";
    const text = `{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {${server}${fields}}}]}`;
    const error = await refusal({ "/k": text }, { kubeconfig: "/k" });
    expect(error.code).toBe(7);
    expect(error.message).toContain(part);
    expect(error.message).not.toContain("pass@");
  });
});

test("no error shows a secret, whatever is wrong with it", async () => {
  const canary = "hunter2-canary";
  const users = [
    `{token: [${canary}]}`,
    `{token: {a: ${canary}}}`,
    `{password: [${canary}], username: x}`,
    `{client-key-data: "${canary}!", client-certificate-data: QQ==}`,
    `{client-key-data: "${btoa(canary)}"}`,
    `{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, env: [${canary}]}}`,
    `{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, env: [{value: ${canary}}]}}`,
    `{auth-provider: {config: {secret: ${canary}}}}`,
    `[${canary}]`,
    canary,
  ];
  const wholes = [`token: "${canary}`, canary, `- ${canary}`, `{kind: ${canary}}`, `{users: ${canary}}`, `{users: [${canary}]}`];
  const texts = users.map(
    (user) =>
      `{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: [{name: k, cluster: {server: https://x}}], users: [{name: u, user: ${user}}]}`,
  );
  for (const text of [...texts, ...wholes]) {
    const error = await refusal({ "/k": text }, { kubeconfig: "/k" });
    expect(error.code).toBe(7);
    expect(Bun.inspect(error)).not.toContain(canary);
  }
});

describe("several kubeconfigs", () => {
  const first = "{contexts: [{name: a, context: {cluster: c, user: u}}], users: [{name: u, user: {token: first}}]}";
  const second =
    "{current-context: a, clusters: [{name: c, cluster: {server: https://second}}], users: [{name: u, user: {token: second, tokenFile: t}}]}";

  test("merge: whole entries of the first that has them, also its current context", async () => {
    const access = await read({ "/1": first, "/2": second }, { kubeconfig: "/1:/2" });
    expect(access).toMatchObject({ server: "https://second", user: { token: "first", tokenFile: undefined } });
    expect((await read({ "/1": first, "/2": second }, { kubeconfig: "/2:/1" })).user.token).toBe("second");
  });

  test("may be missing in part, may be named twice, and a colon may be part of a name", async () => {
    expect((await read({ "/1": first, "/2": second }, { kubeconfig: "/0::/1:/2:/1:" })).user.token).toBe("first");
    expect((await read({ "/a:b": YAML }, { kubeconfig: "/a:b" })).server).toBe("https://one.example:6443");
  });

  test("that are all missing are named", async () => {
    expect(await refusal({}, { kubeconfig: "/1:/2" })).toMatchObject({ code: 7, message: 'read kubeconfig "/1", "/2": no such file' });
  });

  test("with one that is no YAML are refused as a whole", async () => {
    expect((await refusal({ "/1": first, "/2": "a: [1" }, { kubeconfig: "/1:/2" })).message).toBe(
      'read kubeconfig "/2": line 1: it is no YAML',
    );
  });

  test("resolve paths from the folder of the file that has the entry", async () => {
    const files = {
      "/a/1": "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}]}",
      "/b/2": "{clusters: [{name: c, cluster: {server: https://s, certificate-authority: ca.crt}}]}",
      "/c/3": "{users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/x, interactiveMode: Never}}}]}",
    };
    const access = await read(files, { kubeconfig: "/a/1:/b/2:/c/3" });
    expect(access).toMatchObject({ ca: { file: "/b/ca.crt" }, user: { exec: { command: "/c/./bin/x" } } });
  });
});
