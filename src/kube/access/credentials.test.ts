import { describe, expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import type { FakeClock } from "../../../test/support/time/fake-clock.ts";
import { noProcesses } from "../../../test/kube/support/fake-api-server.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { memoryFiles } from "../../../test/support/memory-files.ts";
import type { ProcessRequest, ProcessResult } from "../../lib/ports.ts";
import type { KubeSettings } from "./access.ts";
import { Credentials } from "./credentials.ts";

const MINUTE = 60_000;

interface World {
  readonly credentials: Credentials;
  readonly clock: FakeClock;
  readonly files: Record<string, string | null>;
  /** What programs were started with. */
  readonly runs: ProcessRequest[];
}

function kubeconfig(user: object, cluster: object = {}): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster: { server: "https://api.example", ...cluster } }],
    users: [{ name: "u", user }],
  });
}

function createWorld(
  files: Record<string, string | null>,
  {
    settings = { kubeconfig: "/k" },
    run,
    path = "/usr/bin:/opt/bin",
  }: { readonly settings?: KubeSettings; readonly run?: (request: ProcessRequest) => ProcessResult; readonly path?: string } = {},
): World {
  const runs: ProcessRequest[] = [];
  const clock = fakeClock();
  const processes =
    run === undefined
      ? noProcesses
      : {
          run: async (request: ProcessRequest) => {
            runs.push(request);
            return run(request);
          },
        };
  const env = { PATH: path, HOME: "/home/me" };
  return { credentials: new Credentials(settings, { clock, files: memoryFiles(files), processes, env }), clock, files, runs };
}

async function authorization({ credentials }: World): Promise<string | undefined> {
  return (await credentials.get()).identity.authorization;
}

describe("a token file", () => {
  test("is read again after a minute, and at once when its token is refused", async () => {
    const world = createWorld({ "/k": kubeconfig({ tokenFile: "/t" }), "/t": "one\n" });
    expect(await authorization(world)).toBe("Bearer one");
    world.files["/t"] = "two";
    expect(await authorization(world)).toBe("Bearer one");
    await world.clock.advance(MINUTE + 1);
    expect(await authorization(world)).toBe("Bearer two");
    world.files["/t"] = "three";
    expect(await world.credentials.renew(await world.credentials.get())).toBe(true);
    expect(await authorization(world)).toBe("Bearer three");
    expect(await world.credentials.renew(await world.credentials.get())).toBe(false);
  });

  test("that cannot be read for a while leaves the token that was read before", async () => {
    const world = createWorld({ "/k": kubeconfig({ tokenFile: "/t" }), "/t": "one" });
    await authorization(world);
    world.files["/t"] = null;
    await world.clock.advance(MINUTE + 1);
    expect(await authorization(world)).toBe("Bearer one");
  });

  test("beats a token beside it, which serves when there is no such file", async () => {
    const world = createWorld({ "/k": kubeconfig({ token: "inline", tokenFile: "/t" }) });
    expect(await authorization(world)).toBe("Bearer inline");
    world.files["/t"] = "file";
    await world.clock.advance(MINUTE + 1);
    expect((await world.credentials.get()).identity).toMatchObject({
      authorization: "Bearer file",
      label: 'token in "/t" of user "u" in kubeconfig "/k"',
    });
  });

  test.each([
    ["missing", {}, "no such file"],
    ["unreadable", { "/t": null }, "it cannot be read"],
    ["empty", { "/t": "\n" }, "it is empty"],
  ])("that is %s is code 108 and says which", async (_name, files, fault) => {
    const world = createWorld({ "/k": kubeconfig({ tokenFile: "/t" }), ...files });
    expect(await failureOf(world.credentials.get())).toMatchObject({
      code: 108,
      message: `read token file "/t" of user "u" in kubeconfig "/k": ${fault}`,
    });
  });
});

test("a kubeconfig whose token is refused is read again", async () => {
  const world = createWorld({ "/k": kubeconfig({ token: "old" }) });
  const login = await world.credentials.get();
  world.files["/k"] = kubeconfig({ token: "new" });
  expect(await authorization(world)).toBe("Bearer old");
  expect(await Promise.all([world.credentials.renew(login), world.credentials.renew(login)])).toEqual([true, true]);
  expect(await authorization(world)).toBe("Bearer new");
});

test("renewed certificates are another TLS material, the same ones the same object", async () => {
  const pem = (name: string): string => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----\n`;
  const user = { "client-certificate": "/c", "client-key": "/y" };
  const world = createWorld({ "/k": kubeconfig(user), "/c": pem("one"), "/y": "-----BEGIN PRIVATE KEY-----\n" });
  const before = (await world.credentials.get()).identity.tls;
  await world.clock.advance(MINUTE + 1);
  expect((await world.credentials.get()).identity.tls).toBe(before);
  world.files["/c"] = pem("two");
  await world.clock.advance(MINUTE + 1);
  const after = (await world.credentials.get()).identity.tls;
  expect(after).not.toBe(before);
  expect(after?.cert).toBe(pem("two"));
});

test.each<[what: string, user: object, cluster: object]>([
  ["a root", {}, { "certificate-authority-data": btoa("-----BEGIN CERTIFICATE-----") }],
  ["another key", { "client-key-data": btoa("-----BEGIN PRIVATE KEY-----two") }, {}],
  ["another name of the server", {}, { "tls-server-name": "other.example" }],
  ["no check of the server", {}, { "insecure-skip-tls-verify": true }],
])("%s in the kubeconfig is something else to show, on other connections", async (_what, user, cluster) => {
  const before = {
    "client-certificate-data": btoa("-----BEGIN CERTIFICATE-----"),
    "client-key-data": btoa("-----BEGIN PRIVATE KEY-----"),
  };
  const world = createWorld({ "/k": kubeconfig(before) });
  const login = await world.credentials.get();
  world.files["/k"] = kubeconfig({ ...before, ...user }, cluster);
  expect(await world.credentials.renew(login)).toBe(true);
  expect((await world.credentials.get()).identity.tls).not.toBe(login.identity.tls);
});

test.each([
  [
    "a certificate that is missing",
    { "client-certificate": "/c", "client-key": "/c" },
    'read client-certificate "/c" of user "u" in kubeconfig "/k": no such file',
  ],
  [
    "a key that is no PEM",
    { "client-certificate-data": btoa("-----BEGIN CERTIFICATE-----"), "client-key-data": btoa("secret") },
    'read client-key-data of user "u" in kubeconfig "/k": it is no PEM',
  ],
  [
    "a key where a certificate should be",
    { "client-certificate-data": btoa("-----BEGIN EC PRIVATE KEY-----"), "client-key-data": btoa("-----BEGIN CERTIFICATE-----") },
    'read client-certificate-data of user "u" in kubeconfig "/k": it holds no certificate',
  ],
  [
    "a request for a certificate where a key should be",
    {
      "client-certificate-data": btoa("-----BEGIN X509 CERTIFICATE-----"),
      "client-key-data": btoa("-----BEGIN CERTIFICATE REQUEST-----"),
    },
    'read client-key-data of user "u" in kubeconfig "/k": it holds no private key',
  ],
])("%s is code 7", async (_name, user, message) => {
  expect(await failureOf(createWorld({ "/k": kubeconfig(user) }).credentials.get())).toMatchObject({ code: 7, message });
});

const NO_PASSWORDS = " (API servers take none since Kubernetes 1.19)";

test.each([
  ["a token", { token: "t" }, "token", ""],
  ["a token file", { tokenFile: "/t" }, 'token in "/t"', ""],
  ["a password", { username: "me", password: "p" }, "password", NO_PASSWORDS],
  ["a user name alone", { username: "me" }, "user name", NO_PASSWORDS],
])("%s is named with whose it is", async (_what, user, name, remark) => {
  const { identity } = await createWorld({ "/k": kubeconfig(user), "/t": "t" }).credentials.get();
  expect(identity.label).toBe(`${name} of user "u" in kubeconfig "/k"${remark}`);
});

test("a password is sent as UTF-8", async () => {
  const world = createWorld({ "/k": kubeconfig({ username: "me", password: "pä:ss" }) });
  expect(await authorization(world)).toBe(`Basic ${Buffer.from("me:pä:ss").toString("base64")}`);
});

describe("over plain HTTP", () => {
  const server = "http://api.example";
  const hidden = ', which user "u" in kubeconfig "/k" has but plain http never shows';

  test.each([
    ["a token", { token: "t" }, hidden],
    ["a token file", { tokenFile: "/t" }, hidden],
    ["a password", { username: "me", password: "p" }, hidden],
    ["an exec plugin", { exec: { command: "x", apiVersion: "client.authentication.k8s.io/v1" } }, hidden],
    ["a certificate", { "client-certificate": "/c", "client-key": "/y" }, hidden],
    ["nothing", {}, ""],
  ])("%s is not shown, no file read, no program run, and whoever is refused hears why", async (_name, user, why) => {
    const world = createWorld({ "/k": kubeconfig(user, { server }) });
    const login = await world.credentials.get();
    expect(login.identity).toEqual({
      authorization: undefined,
      tls: undefined,
      impersonate: undefined,
      label: `request without credentials${why}`,
    });
    expect(await world.credentials.renew(login)).toBe(false);
  });

  test.each([
    ["to", "https:", "http:"],
    ["from", "http:", "https:"],
  ])("a kubeconfig that changes %s it is something else to show", async (_name, before, after) => {
    const world = createWorld({ "/k": kubeconfig({}, { server: `${before}//api.example` }) });
    const login = await world.credentials.get();
    world.files["/k"] = kubeconfig({}, { server: `${after}//api.example` });
    expect(await world.credentials.renew(login)).toBe(true);
  });
});

describe("an exec plugin", () => {
  const exec = {
    command: "get-token",
    args: ["--for", "netplug"],
    env: [{ name: "CLOUD", value: "here" }],
    apiVersion: "client.authentication.k8s.io/v1",
    interactiveMode: "IfAvailable",
    provideClusterInfo: true,
    installHint: "get it from the cloud",
  };
  const answer = (status: object): ProcessResult => ({
    status: 0,
    stdout: JSON.stringify({ kind: "ExecCredential", apiVersion: "client.authentication.k8s.io/v1", status }),
    stderr: "",
  });
  const files = { "/k": kubeconfig({ exec }), "/opt/bin/get-token": "" };
  const clusterInfoOf = ({ runs }: World): unknown => JSON.parse(runs[0]?.env["KUBERNETES_EXEC_INFO"] ?? "{}").spec.cluster;

  test("that fails when its token has expired is told; the token is shown no more", async () => {
    const expirationTimestamp = new Date(fakeClock().now() + 10 * MINUTE).toISOString();
    const answers = [answer({ token: "t1", expirationTimestamp }), { status: 3, stdout: "", stderr: "" }];
    const world = createWorld(files, { run: () => answers.shift() ?? answer({ token: "t2" }) });
    const { authorization: shown, label } = (await world.credentials.get()).identity;
    expect([shown, label]).toEqual(["Bearer t1", 'token that the exec plugin of user "u" in kubeconfig "/k" gives']);
    await world.clock.advance(10 * MINUTE);
    expect(await failureOf(world.credentials.get())).toMatchObject({ code: 108 });
  });

  test("is looked for in PATH, told about the cluster, and asked once as long as its token lasts", async () => {
    let count = 0;
    const expirationTimestamp = new Date(fakeClock().now() + 10 * MINUTE).toISOString();
    const world = createWorld(files, { run: () => answer({ token: `t${++count}`, expirationTimestamp }) });
    expect(await Promise.all([authorization(world), authorization(world)])).toEqual(["Bearer t1", "Bearer t1"]);
    await world.clock.advance(5 * MINUTE);
    expect(await authorization(world)).toBe("Bearer t1");
    const [run] = world.runs;
    expect(run).toMatchObject({ command: "/opt/bin/get-token", args: ["--for", "netplug"], env: { CLOUD: "here", HOME: "/home/me" } });
    expect(JSON.parse(run?.env["KUBERNETES_EXEC_INFO"] ?? "")).toEqual({
      kind: "ExecCredential",
      apiVersion: "client.authentication.k8s.io/v1",
      spec: { interactive: false, cluster: { server: "https://api.example" } },
    });
    await world.clock.advance(5 * MINUTE - 10_001);
    expect(await authorization(world)).toBe("Bearer t1");
    await world.clock.advance(1);
    expect(await authorization(world)).toBe("Bearer t2");
    expect(world.runs).toHaveLength(2);
  });

  test("is never taken from the folder that this process happens to be in", async () => {
    const planted = { "get-token": "", "/get-token": "", "bin/get-token": "", "./get-token": "" };
    const world = createWorld({ ...files, ...planted }, { run: () => answer({ token: "t" }), path: ":bin:.:/opt/bin" });
    expect(await authorization(world)).toBe("Bearer t");
    expect(world.runs.map(({ command }) => command)).toEqual(["/opt/bin/get-token"]);
  });

  test("is told all that it needs to reach the cluster, and what the cluster's entry has for it", async () => {
    const ca = "-----BEGIN CERTIFICATE-----\n";
    const cluster = {
      "certificate-authority": "/ca",
      "tls-server-name": "api.internal",
      "proxy-url": "http://proxy.example:3128",
      extensions: [
        { name: "other", extension: { audience: "theirs" } },
        { name: "client.authentication.k8s.io/exec", extension: { audience: "ours" } },
      ],
    };
    const world = createWorld({ ...files, "/k": kubeconfig({ exec }, cluster), "/ca": ca }, { run: () => answer({ token: "t" }) });
    await world.credentials.get();
    expect(clusterInfoOf(world)).toEqual({
      server: "https://api.example",
      "tls-server-name": "api.internal",
      "proxy-url": "http://proxy.example:3128",
      "certificate-authority-data": btoa(ca),
      config: { audience: "ours" },
    });
  });

  test.each([
    [{ "insecure-skip-tls-verify": true }, exec, { server: "https://api.example", "insecure-skip-tls-verify": true }],
    [{}, { ...exec, provideClusterInfo: false }, undefined],
  ])("of a cluster with %j is told just that, if it wants to know", async (cluster, plugin, expected) => {
    const world = createWorld({ ...files, "/k": kubeconfig({ exec: plugin }, cluster) }, { run: () => answer({ token: "t" }) });
    await world.credentials.get();
    expect(clusterInfoOf(world)).toEqual(expected);
  });

  test("is asked again when its token is refused", async () => {
    let count = 0;
    const world = createWorld(files, { run: () => answer({ token: `t${++count}` }) });
    const login = await world.credentials.get();
    expect(await world.credentials.renew(login)).toBe(true);
    expect(await authorization(world)).toBe("Bearer t2");
    // Another request was on its way with the old one.
    expect(await world.credentials.renew(login)).toBe(true);
    expect(world.runs).toHaveLength(2);
  });

  test("may give a certificate", async () => {
    const status = { clientCertificateData: "-----BEGIN CERTIFICATE-----", clientKeyData: "-----BEGIN PRIVATE KEY-----" };
    const { identity } = await createWorld(files, { run: () => answer(status) }).credentials.get();
    expect(identity.tls).toMatchObject({ cert: status.clientCertificateData, key: status.clientKeyData });
    expect(identity.label).toBe('client certificate of user "u" in kubeconfig "/k"');
  });

  test.each([
    ["a token", { token: "mine" }, "Bearer mine"],
    ["a token file", { tokenFile: "/t" }, "Bearer mine"],
    ["a password", { username: "me", password: "p" }, `Basic ${btoa("me:p")}`],
    [
      "a certificate",
      { "client-certificate-data": btoa("-----BEGIN CERTIFICATE-----"), "client-key-data": btoa("-----BEGIN PRIVATE KEY-----") },
      undefined,
    ],
  ])("is not asked when the user has %s too", async (_what, user, shown) => {
    const world = createWorld({ "/k": kubeconfig({ exec, ...user }), "/t": "mine" });
    expect(await authorization(world)).toBe(shown);
  });

  test.each([
    ["is missing", { "/opt/bin/get-token": undefined }, undefined, "there is no such program", "get it from the cloud"],
    [
      "fails",
      {},
      { status: 3, stdout: "token", stderr: "no login: token=abcdefgh\n" },
      "it ended with status 3",
      "no login: token=[redacted]",
    ],
    [
      "fails with a long token on its way to the end of what it says",
      {},
      { status: 1, stdout: "", stderr: `cached token=eyJhbGciOiJSUzI1NiJ9.${"c".repeat(1_000)} was refused\nlog in again\n` },
      "it ended with status 1",
      "cached token=[redacted] was refused log in again",
    ],
    [
      "fails with more words than can be searched",
      {},
      { status: 1, stdout: "", stderr: `token=${"c".repeat(65_536)}` },
      "it ended with status 1",
      "65542 characters on stderr, too many to look for the reason",
    ],
    ["fails without a word", {}, { status: 3, stdout: "", stderr: "" }, "it ended with status 3", undefined],
    ["prints no JSON", {}, { status: 0, stdout: "secret", stderr: "" }, "what it prints is no JSON", undefined],
    ["prints something else", {}, { status: 0, stdout: "{}", stderr: "" }, "it prints no ExecCredential", undefined],
    ["prints nothing of use", {}, answer({}), "it prints neither token nor certificate", undefined],
    ["prints a token that is empty", {}, answer({ token: "" }), "it prints neither token nor certificate", undefined],
    ["prints half of a pair", {}, answer({ clientKeyData: "x" }), "it prints only one of client certificate and key", undefined],
    ["prints no time", {}, answer({ token: "x", expirationTimestamp: "soon" }), "its expirationTimestamp is no time", undefined],
    [
      "answers in another version",
      {},
      { status: 0, stdout: '{"kind": "ExecCredential", "apiVersion": "v2"}', stderr: "" },
      'it does not answer in version "client.authentication.k8s.io/v1"',
      undefined,
    ],
  ])("that %s is code 108 and named", async (_name, changes, result, fault, details) => {
    const present = Object.fromEntries(Object.entries({ ...files, ...changes }).filter(([, text]) => text !== undefined)) as Record<
      string,
      string
    >;
    const world = createWorld(present, { run: () => result ?? answer({ token: "x" }) });
    expect(await failureOf(world.credentials.get())).toMatchObject({
      code: 108,
      message: `run exec plugin "get-token" of user "u" in kubeconfig "/k": ${fault}`,
      details,
    });
  });

  test("that wants a terminal is refused", async () => {
    const world = createWorld({ ...files, "/k": kubeconfig({ exec: { ...exec, interactiveMode: "Always" } }) });
    expect((await failureOf(world.credentials.get())).message).toContain("wants a terminal");
  });
});
