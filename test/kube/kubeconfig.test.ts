/** The same kubeconfigs read by kubectl, by another implementation and by us: the same server, the same user. */

import { describe, expect } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuthenticationV1Api, KubeConfig } from "@kubernetes/client-node";
import fc from "fast-check";
import type { KubeAccess, KubeSettings, PemSource } from "../../src/kube/access/access.ts";
import { resolveAccess } from "../../src/kube/access/resolve-access.ts";
import { KubeClient } from "../../src/kube/client.ts";
import type { KubeObject } from "../../src/kube/kube-object.ts";
import type { ResourceType } from "../../src/kube/resource-type.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { clusterProgram } from "../../tools/prerequisites/cluster-programs.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { testSeed } from "../support/seed.ts";
import { failureOf } from "../support/failure-of.ts";
import { openClient, readWithOther, realPorts } from "./support/real-api.ts";
import { runProgram } from "../support/programs/programs.ts";
import { withVariables } from "./support/variables.ts";

const SELF_REVIEWS: ResourceType<KubeObject & { readonly status?: { readonly userInfo: { readonly username: string } } }> = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  isNamespaced: false,
};

let folder: string;
const [test, api] = onApiServer(
  () => startApiServer({ users: { alice: {}, bob: {} } }),
  (api) => void (folder = mkdtempSync(join(api.folder, "clients-"))),
);

/** What kubectl makes of these files. */
async function viewWithKubectl(kubeconfig: string, args: readonly string[] = []): Promise<Readonly<Record<string, unknown>> | undefined> {
  const command = [clusterProgram("kubectl"), "config", "view", "--raw", "--minify", "-o", "json", ...args];
  const { status, stdout } = await runProgram(command, { env: { HOME: folder, KUBECONFIG: kubeconfig } });
  return status === 0 ? (JSON.parse(stdout) as Readonly<Record<string, unknown>>) : undefined;
}

interface Named {
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
  readonly context?: Readonly<Record<string, string>>;
}

/** The parts of both readings that can be compared. */
function toComparable(view: Readonly<Record<string, unknown>>): object {
  const [cluster, user, context] = ["clusters", "users", "contexts"].map((list) => (view[list] as readonly Named[] | null)?.[0]);
  return JSON.parse(
    JSON.stringify({
      server: cluster?.cluster?.["server"],
      ca: cluster?.cluster?.["certificate-authority-data"] ?? cluster?.cluster?.["certificate-authority"],
      name: cluster?.cluster?.["tls-server-name"],
      proxy: cluster?.cluster?.["proxy-url"],
      skips: cluster?.cluster?.["insecure-skip-tls-verify"] ?? false,
      token: user?.user?.["token"],
      tokenFile: user?.user?.["tokenFile"],
      username: user?.user?.["username"],
      cert: user?.user?.["client-certificate-data"] ?? user?.user?.["client-certificate"],
      namespace: context?.context?.["namespace"],
    }),
  ) as object;
}

function fromAccess({ server, ca, tlsServerName, proxyUrl, skipsTlsVerify, user, namespace }: KubeAccess): object {
  const sourceText = (source: PemSource | undefined): string | undefined =>
    source === undefined ? undefined : "file" in source ? source.file : btoa(source.text);
  return JSON.parse(
    JSON.stringify({
      server,
      ca: sourceText(ca),
      name: tlsServerName,
      proxy: proxyUrl,
      skips: skipsTlsVerify,
      token: user.token,
      tokenFile: user.tokenFile,
      username: user.basic?.username,
      cert: sourceText(user.clientCertificate),
      namespace,
    }),
  ) as object;
}

const name = fc.constantFrom("a", "b", "c");
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const pem = fc.constantFrom("one", "two").map((text) => Buffer.from(`-----BEGIN CERTIFICATE-----\n${text}\n`).toString("base64"));

const cluster = fc
  .record({
    server: fc.constantFrom("https://one.example:6443", "https://two.example/prefix", "http://three.example:8080"),
    trust: fc.constantFrom("data", "file", "both", "none", "insecure"),
    data: pem,
    "tls-server-name": maybe(fc.constant("api.internal")),
    "proxy-url": maybe(fc.constant("http://proxy.example:3128")),
  })
  .map(({ trust, data, ...rest }) => ({
    ...rest,
    ...((trust === "data" || trust === "both") && { "certificate-authority-data": data }),
    ...((trust === "file" || trust === "both") && { "certificate-authority": "/etc/ca.crt" }),
    ...(trust === "insecure" && { "insecure-skip-tls-verify": true }),
  }));

const user = fc.oneof(
  fc.record({ token: fc.constantFrom("t1", "t2"), tokenFile: maybe(fc.constant("/etc/token")) }),
  fc.record({ tokenFile: fc.constant("/etc/token") }),
  fc.record({ username: fc.constant("me"), password: fc.constant("pass") }),
  fc.record({ "client-certificate-data": pem, "client-key-data": pem }),
  fc.record({ "client-certificate": fc.constant("/etc/c"), "client-key": fc.constant("/etc/k") }),
  fc.constant({}),
);

const uniqueNamed = <T>(key: string, value: fc.Arbitrary<T>): fc.Arbitrary<object[]> =>
  fc.uniqueArray(fc.record({ name, [key]: value }) as fc.Arbitrary<{ readonly name: string }>, {
    selector: (entry) => entry.name,
    maxLength: 3,
  });

const file = fc.record({
  apiVersion: fc.constant("v1"),
  kind: fc.constant("Config"),
  "current-context": maybe(name),
  contexts: uniqueNamed("context", fc.record({ cluster: name, user: name, namespace: maybe(fc.constant("team")) })),
  clusters: uniqueNamed("cluster", cluster),
  users: uniqueNamed("user", user),
});

async function read(settings: KubeSettings): Promise<KubeAccess> {
  return await resolveAccess(settings, { files: realPorts.files, env: {} });
}

describe("kubeconfigs", () => {
  test("merge as kubectl merges them, in JSON and in YAML (needs cluster)", async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(file, { minLength: 1, maxLength: 3 }), maybe(name), fc.boolean(), async (files, context, isYaml) => {
        const paths = files.map((content, index) => {
          const path = join(folder, `merge-${index}`);
          writeFileSync(path, isYaml ? Bun.YAML.stringify(content, undefined, 2) : JSON.stringify(content));
          return path;
        });
        const kubeconfig = [join(folder, "missing"), ...paths].join(":");
        const view = await viewWithKubectl(kubeconfig, context === undefined ? [] : [`--context=${context}`]);
        const ours = await read({ kubeconfig, ...(context !== undefined && { context }) }).catch((thrown: unknown) => thrown);
        const expected = view === undefined ? {} : toComparable(view);
        // kubectl shows a context whose cluster or user is missing without them; whoever connects with it fails.
        if (ours instanceof NetplugError) {
          expect(ours.code).toBe(7);
          expect(view === undefined || !("server" in expected) || ours.message.includes("has no user")).toBe(true);
        } else {
          compared++;
          expect(fromAccess(ours as KubeAccess)).toEqual(expected);
        }
      }),
      { seed: testSeed(), numRuns: 60 },
    );
    expect(compared).toBeGreaterThan(5);
  });

  test("are read as the other client reads them (needs cluster)", async () => {
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        const path = join(folder, "single");
        writeFileSync(path, JSON.stringify(content));
        const ours = await read({ kubeconfig: path }).catch(() => undefined);
        if (ours === undefined) return;
        const other = readWithOther(path);
        const [theirCluster, theirUser] = [other.getCurrentCluster(), other.getCurrentUser()];
        expect(theirCluster?.server).toBe(ours.server);
        expect(theirCluster?.skipTLSVerify).toBe(ours.skipsTlsVerify);
        expect(theirCluster?.tlsServerName).toBe(ours.tlsServerName);
        expect(theirCluster?.proxyUrl).toBe(ours.proxyUrl);
        const { ca } = ours;
        if (ca !== undefined)
          expect("file" in ca ? theirCluster?.caFile : atob(theirCluster?.caData ?? "")).toBe("file" in ca ? ca.file : ca.text);
        expect(theirUser?.token).toBe(ours.user.token);
        expect(theirUser?.username).toBe(ours.user.basic?.username);
      }),
      { seed: testSeed(), numRuns: 200 },
    );
  });

  test("with an entry twice are refused by kubectl too (needs cluster)", async () => {
    const path = join(folder, "twice");
    const entry = { name: "a", user: { token: "secret-token" } };
    writeFileSync(path, JSON.stringify({ "current-context": "a", contexts: [{ name: "a", context: {} }], users: [entry, entry] }));
    expect(await viewWithKubectl(path)).toBeUndefined();
    expect(await failureOf(read({ kubeconfig: path }))).toMatchObject({
      code: 7,
      message: `read users of kubeconfig "${path}": got the name "a" twice`,
    });
  });
});

describe("who we are", () => {
  interface Login {
    readonly user: object;
    readonly expected: string;
    /** Who of the others knows this way; kubectl asks a person who has no credentials for some. */
    readonly by: readonly ("kubectl" | "other")[];
  }

  function logins(): Readonly<Record<string, Login>> {
    const bob = api.issue("carol", ["readers"]);
    const data = (path: string): string => readFileSync(path).toString("base64");
    mkdirSync(join(folder, "creds"), { recursive: true });
    writeFileSync(join(folder, "creds/token"), `${api.tokenOf("alice")}\n`);
    writeFileSync(join(folder, "creds/c.crt"), readFileSync(bob.certFile));
    writeFileSync(join(folder, "creds/c.key"), readFileSync(bob.keyFile));
    const status = JSON.stringify({ token: api.tokenOf("bob") });
    writeFileSync(
      join(folder, "creds/plugin"),
      `#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *'"interactive":false'*) ;; *) exit 9 ;; esac\n` +
        `test "$WANTED" = yes || exit 8\n` +
        `echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": ${status}}'\n`,
    );
    chmodSync(join(folder, "creds/plugin"), 0o755);
    const yaml = `apiVersion: client.authentication.k8s.io/v1\nstatus:\n  token: ${api.tokenOf("bob")}\n  expirationTimestamp: 2100-01-01T00:00:00Z\n`;
    writeFileSync(join(folder, "creds/yaml-plugin"), `#!/bin/sh\ncat <<'EOF'\n---\n${yaml}EOF\n`, { mode: 0o755 });
    const exec = {
      command: "./creds/plugin",
      env: [{ name: "WANTED", value: "yes" }],
      apiVersion: "client.authentication.k8s.io/v1",
      interactiveMode: "Never",
    };
    return {
      "a token": { user: { token: api.tokenOf("alice") }, expected: "alice", by: ["kubectl", "other"] },
      "a token file, relative": { user: { tokenFile: "creds/token" }, expected: "alice", by: ["kubectl"] },
      "a certificate by file, relative": {
        user: { "client-certificate": "creds/c.crt", "client-key": "creds/c.key" },
        expected: "carol",
        by: ["kubectl", "other"],
      },
      "a certificate inline": {
        user: { "client-certificate-data": data(bob.certFile), "client-key-data": data(bob.keyFile) },
        expected: "carol",
        by: ["kubectl", "other"],
      },
      "an exec plugin, relative": { user: { exec }, expected: "bob", by: ["kubectl"] },
      "an exec plugin that prints YAML, without a kind": {
        user: { exec: { ...exec, command: "./creds/yaml-plugin" } },
        expected: "bob",
        by: ["kubectl"],
      },
      "a token and an exec plugin": { user: { token: api.tokenOf("alice"), exec }, expected: "alice", by: ["kubectl"] },
      nobody: { user: {}, expected: "system:anonymous", by: ["other"] },
      "a user name alone": { user: { username: "alice" }, expected: "system:anonymous", by: ["kubectl"] },
      "a user name and a password": { user: { username: "alice", password: "p" }, expected: "system:anonymous", by: ["kubectl", "other"] },
    };
  }

  test("is the same to kubectl, the other client and us (needs cluster)", async () => {
    await api.kubectl(["create", "clusterrole", "self", "--verb=create", "--resource=selfsubjectreviews.authentication.k8s.io"]);
    await api.kubectl([
      "create",
      "clusterrolebinding",
      "self",
      "--clusterrole=self",
      "--group=system:unauthenticated",
      "--group=system:authenticated",
    ]);
    writeFileSync(join(folder, "ca.crt"), readFileSync(api.caFile));
    for (const [label, { user: entry, expected, by }] of Object.entries(logins())) {
      const path = join(folder, "who");
      const config = {
        apiVersion: "v1",
        kind: "Config",
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "k", user: "u" } }],
        clusters: [{ name: "k", cluster: { server: api.url, "certificate-authority": "ca.crt" } }],
        users: [{ name: "u", user: entry }],
      };
      writeFileSync(path, JSON.stringify(config));
      expect([label, await whoWithUs({ kubeconfig: path })]).toEqual([label, expected]);
      if (by.includes("kubectl")) expect([label, await whoWithKubectl(path)]).toEqual([label, expected]);
      if (by.includes("other")) expect([label, await whoWithOther(readWithOther(path))]).toEqual([label, expected]);
    }
  });

  test("in a pod is its service account, to the other client and to us (needs cluster)", async () => {
    const place = mkdtempSync(join(folder, "pod-"));
    await api.kubectl(["create", "serviceaccount", "runner"]);
    const token = await api.kubectl(["create", "token", "runner"]);
    const mount = join(place, "var/run/secrets/kubernetes.io/serviceaccount");
    mkdirSync(mount, { recursive: true });
    writeFileSync(join(mount, "token"), token.trim());
    writeFileSync(join(mount, "ca.crt"), readFileSync(api.caFile));
    writeFileSync(join(mount, "namespace"), "default");
    const env = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    const expected = "system:serviceaccount:default:runner";
    using _variables = withVariables(env);
    const client = new KubeClient({}, { ...realPorts, env, serviceAccountFolder: mount });
    expect(await whoAmI(client)).toBe(expected);
    const other = new KubeConfig();
    other.loadFromCluster(place);
    expect(await whoWithOther(other)).toBe(expected);
  });

  async function whoWithUs(settings: KubeSettings): Promise<string> {
    return await whoAmI(openClient(api, {}, settings));
  }

  async function whoAmI(client: KubeClient): Promise<string> {
    using _closed = { [Symbol.dispose]: () => client.close() };
    return (await client.create(SELF_REVIEWS, { metadata: {} })).status?.userInfo.username ?? "?";
  }

  async function whoWithKubectl(path: string): Promise<string> {
    const command = [clusterProgram("kubectl"), `--kubeconfig=${path}`, "auth", "whoami", "-o", "json"];
    const env = { HOME: folder, PATH: process.env["PATH"] ?? "" };
    const child = Bun.spawn(command, { cwd: folder, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    const review = JSON.parse(stdout === "" ? JSON.stringify({ stderr }) : stdout) as {
      status?: { userInfo: { username: string } };
      stderr?: string;
    };
    return review.status?.userInfo.username ?? review.stderr ?? "?";
  }

  async function whoWithOther(config: KubeConfig): Promise<string> {
    const review = await config.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: { metadata: {} } });
    return review.status?.userInfo?.username ?? "?";
  }
});
