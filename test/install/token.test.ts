/** The plugin's access on a real API server: what is written is accepted by the project's own client, as the plugin's account. */

import { afterEach, beforeEach, expect } from "bun:test";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { Installation } from "../../src/install-cni/install.ts";
import { runInstallCni } from "../../src/install-cni/main.ts";
import { readSettings } from "../../src/install-cni/settings/settings.ts";
import { createLog, type LogRecord } from "../../src/lib/log/log.ts";
import { silentLog } from "../support/silent-log.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/ports.ts";
import { startApiServer } from "../support/servers/api-server.ts";
import { eventually } from "../support/time/eventually.ts";
import { runKubectl } from "../support/servers/kubectl.ts";
import { issueShortToken, untilExpired, userOfToken } from "../support/servers/short-token.ts";
import { createCertificateFolder } from "../support/servers/certificates.ts";
import { distFolder } from "../support/programs/cni.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { CONFLIST, InstallNode, KUBECONFIG, type Run } from "./support/node.ts";

let node: InstallNode;
/** The account of install-cni, as kubelet mounts it into a pod. */
let account: string;
const [test, api] = onApiServer(
  () => startApiServer({ args: ["--service-account-max-token-expiration=2h"] }),
  async (api) => {
    await api.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "manifests/rbac.yaml")]);
    await api.kubectl(["apply", "--server-side", "--dry-run=server", "-f", join(repositoryRoot, "manifests/rbac-etcd.yaml")]);
    account = join(api.folder, "account");
    mkdirSync(account);
    writeFileSync(join(account, "ca.crt"), readFileSync(api.caFile));
    writeFileSync(join(account, "namespace"), "kube-system");
    writeFileSync(join(account, "token"), await api.kubectl(["create", "token", "netplug-node", "-n", "kube-system"]));
  },
);
beforeEach(() => void (node = new InstallNode()));
afterEach(() => node[Symbol.dispose]());

const inPod = (): Readonly<Record<string, string>> => ({ KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) });

async function runInPod(env: Readonly<Record<string, string>> = {}, args?: readonly string[]): Promise<Run> {
  return await node.run({ env: { ...inPod(), ...env }, host: { serviceAccountFolder: account }, ...(args !== undefined && { args }) });
}

test("a node's runtime that does not know CNI 1.1.0 is found by the plugin's right, not the installer's (needs cluster)", async () => {
  const status = { nodeInfo: { containerRuntimeVersion: "containerd://1.7.29" } };
  await api.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name: "old" } }));
  await api.kubectl(["patch", "node", "old", "--subresource=status", "--type=merge", "-p", JSON.stringify({ status })]);
  node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
  expect((await runInPod({ KUBERNETES_NODE_NAME: "old" })).status).toBe(0);
  expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({ cniVersion: "1.0.0" });
});

test("the DaemonSet that we ship is one that the API server takes, also over itself (needs cluster)", async () => {
  const apply = [
    "apply",
    "--server-side",
    "--force-conflicts",
    "--validate=strict",
    "-f",
    join(repositoryRoot, "manifests/install-cni.yaml"),
  ];
  const applied = ["configmap/netplug-install serverside-applied", "daemonset.apps/netplug-install serverside-applied", ""];
  for (const _ of ["first", "again"]) expect((await api.kubectl(apply)).split("\n")).toEqual(applied);
});

interface Config {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, unknown>> }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

function readConfig(path = join(node.confDir, KUBECONFIG)): Config {
  return JSON.parse(readFileSync(path, "utf8")) as Config;
}

/** Whom the API server takes the file's owner for. */
async function whoAmI(kubeconfigFile: string): Promise<string> {
  const answer = await runKubectl({ kubeconfigFile, folder: api.folder }, ["auth", "whoami", "-o", "json"]);
  return (JSON.parse(answer) as { readonly status: { readonly userInfo: { readonly username: string } } }).status.userInfo.username;
}

const PLUGIN = "system:serviceaccount:kube-system:netplug-cni-plugin";

test("in a pod, the kubeconfig is good for kubectl and shows the plugin's account, with the CA inside (needs cluster)", async () => {
  const { status, log } = await runInPod();
  expect([status, log.filter(({ level }) => level === "ERROR")]).toEqual([0, []]);
  const path = join(node.confDir, KUBECONFIG);
  expect([await whoAmI(path), statSync(path).mode & 0o7777]).toEqual([PLUGIN, 0o600]);
  const { cluster } = readConfig().clusters[0] ?? {};
  expect(cluster).toEqual({
    server: `https://127.0.0.1:${api.port}`,
    "certificate-authority-data": readFileSync(api.caFile).toString("base64"),
  });
  const { token } = readConfig().users[0]?.user ?? {};
  expect(JSON.stringify(log)).not.toContain(token ?? "no token");
  expect(JSON.stringify(log)).not.toContain(readFileSync(join(account, "token"), "utf8").trim());
});

test("the token belongs to no pod, and lives as long as the API server grants: so it is said (needs cluster)", async () => {
  const before = Date.now();
  const { log } = await runInPod();
  const payload = readConfig().users[0]?.user.token.split(".")[1] ?? "";
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as {
    readonly iat: number;
    readonly exp: number;
    readonly "kubernetes.io": Readonly<Record<string, unknown>>;
  };
  expect(claims.exp - claims.iat).toBe(7_200);
  expect(Object.keys(claims["kubernetes.io"]).sort()).toEqual(["namespace", "serviceaccount"]);
  const expires = log.find(({ fields }) => fields["event"] === "ready")?.fields["expires"];
  const saidMs = Date.parse(typeof expires === "string" ? expires : "") - before;
  expect(saidMs).toBeGreaterThanOrEqual(7_199_000);
  expect(saidMs).toBeLessThan(7_260_000);
});

test("the executable does the same with a kubeconfig of its own (needs cluster)", async () => {
  const own = join(node.folder, "own");
  const token = readFileSync(join(account, "token"), "utf8").trim();
  const cluster = { server: api.url, "certificate-authority": api.caFile };
  const config = {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(own, JSON.stringify(config));
  const child = Bun.spawn([join(distFolder, "netplug"), "install-cni", "--once", "--bin-dir", node.binDir, "--conf-dir", node.confDir], {
    env: { KUBECONFIG: own, DATASTORE_TYPE: "kubernetes" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [status, stderr] = [await child.exited, await child.stderr.text()];
  expect([status, stderr.includes(token)]).toEqual([0, false]);
  expect(await whoAmI(join(node.confDir, KUBECONFIG))).toBe(PLUGIN);
});

test("the executable finds what kubelet mounts into a pod (needs cluster)", async () => {
  const mounted = "/run/secrets/kubernetes.io/serviceaccount";
  const script = `mount -t tmpfs none /run && mkdir -p ${mounted} && cp ${account}/* ${mounted}/ && exec "$@"`;
  const installer = [join(distFolder, "netplug"), "install-cni", "--once", "--bin-dir", node.binDir, "--conf-dir", node.confDir];
  const child = Bun.spawn(["unshare", "--mount", "sh", "-c", script, "sh", ...installer], {
    env: { PATH: process.env["PATH"] ?? "", ...inPod() },
    stdout: "pipe",
    stderr: "pipe",
  });
  expect([await child.exited, await child.stderr.text()]).toEqual([0, expect.stringContaining('"event":"ready"')]);
  expect(await whoAmI(join(node.confDir, KUBECONFIG))).toBe(PLUGIN);
});

test("SKIP_TLS_VERIFY stands in the file, and lets a server in whose certificate nobody trusts (needs cluster)", async () => {
  const strange = join(node.folder, "strange");
  mkdirSync(strange);
  for (const name of ["namespace", "token"]) writeFileSync(join(strange, name), readFileSync(join(account, name)));
  const run = async (env: Readonly<Record<string, string>>): Promise<Run> =>
    await node.run({ env: { ...inPod(), ...env }, host: { serviceAccountFolder: strange, ...hasty() } });
  const refused = await run({});
  expect(refused.status).toBe(1);
  expect(refused.log.at(-1)?.msg).toContain("TLS handshake");
  expect((await run({ SKIP_TLS_VERIFY: "true" })).status).toBe(0);
  expect(readConfig().clusters[0]?.cluster).toEqual({ server: `https://127.0.0.1:${api.port}`, "insecure-skip-tls-verify": true });
  expect(await whoAmI(join(node.confDir, KUBECONFIG))).toBe(PLUGIN);
});

test.each<[what: string, env: Readonly<Record<string, string>>, message: string]>([
  [
    "a role that is missing",
    { NETPLUG_CNI_SERVICE_ACCOUNT: "default" },
    "create serviceaccounts/token is not permitted; role netplug-cni-installer",
  ],
  [
    "a server that is away",
    { KUBERNETES_SERVICE_PORT: "1" },
    'create serviceaccounts/token "kube-system/netplug-cni-plugin": https://127.0.0.1:1: connection refused',
  ],
])("%s is said as what it is (needs cluster)", async (_what, env, message) => {
  const { status, log } = await node.run({ env: { ...inPod(), ...env }, host: { serviceAccountFolder: account, ...hasty() } });
  expect([status, log.at(-1)?.level, log.at(-1)?.msg]).toEqual([1, "ERROR", message]);
  expect(existsSync(join(node.confDir, CONFLIST))).toBe(false);
});

test("an account that was never made is said, with what makes it (needs cluster)", async () => {
  await api.kubectl(["delete", "serviceaccount", "netplug-cni-plugin", "-n", "kube-system"]);
  try {
    const { status, log } = await runInPod();
    expect([status, log.at(-1)?.msg]).toEqual([
      1,
      'get token of service account "kube-system/netplug-cni-plugin": there is no such account; apply manifests/rbac.yaml, or with etcd rbac-etcd.yaml',
    ]);
  } finally {
    await api.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "manifests/rbac.yaml")]);
  }
  rmSync(join(node.confDir, KUBECONFIG), { force: true });
  expect((await runInPod()).status).toBe(0);
});

test("a token whose account was made anew is known to be of no use, and replaced (needs cluster)", async () => {
  const host = node.host({ env: inPod(), host: { serviceAccountFolder: account } });
  const settings = readSettings({ binDir: node.binDir, confDir: node.confDir, isOnce: false }, host.env);
  using installation = new Installation(settings, host, silentLog);
  await installation.install();
  expect(await installation.isTokenAccepted()).toBe(true);
  await api.kubectl(["delete", "serviceaccount", "netplug-cni-plugin", "-n", "kube-system"]);
  await api.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "manifests/rbac.yaml")]);
  // The API server remembers for some seconds whom it let in.
  await eventually(async () => expect(await installation.isTokenAccepted()).toBe(false));
  await installation.renewToken();
  expect([await installation.isTokenAccepted(), await whoAmI(join(node.confDir, KUBECONFIG))]).toEqual([true, PLUGIN]);
  await api.server.stop();
  expect(await installation.isTokenAccepted()).toBe(true);
  await api.server.start();
});

test("a certificate authority that the pod is shown later is in the file a minute after, with the same token (needs cluster)", async () => {
  const own = join(node.folder, "own-account");
  cpSync(account, own, { recursive: true });
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
  const host = node.host({ env: inPod(), host: { serviceAccountFolder: own, clock } });
  using installation = new Installation(
    readSettings({ binDir: node.binDir, confDir: node.confDir, isOnce: false }, host.env),
    host,
    silentLog,
  );
  await installation.install();
  const before = readConfig();
  const next = createCertificateFolder(node.folder).createAuthority("next");
  const both = readFileSync(join(own, "ca.crt"), "utf8") + readFileSync(next.certFile, "utf8");
  writeFileSync(join(own, "ca.crt"), both);
  aheadMs = 61_000;
  await installation.reconcile();
  const { clusters, users } = readConfig();
  expect([clusters[0]?.cluster["certificate-authority-data"], users]).toEqual([Buffer.from(both).toString("base64"), before.users]);
  expect([await whoAmI(join(node.confDir, KUBECONFIG)), await installation.isTokenAccepted()]).toEqual([PLUGIN, true]);

  // the old one is taken away before the server shows a certificate of the next
  writeFileSync(join(own, "ca.crt"), readFileSync(next.certFile));
  aheadMs += 61_000;
  await installation.reconcile();
  expect(await installation.isTokenAccepted()).toBe(false);
});

test("an installer whose own token has ended says so, and goes on once kubelet has renewed it (needs cluster)", async () => {
  // Long enough for the first installation and a renewal.
  const lifeMs = 10_000;
  const own = join(node.folder, "own-account");
  cpSync(account, own, { recursive: true });
  const token = await issueShortToken(api, { namespace: "kube-system", name: "netplug-node" }, lifeMs);
  writeFileSync(join(own, "token"), token);
  const log: LogRecord[] = [];
  const logged = (msg: string): readonly LogRecord[] => log.filter((record) => record.msg === msg);
  const stopped = new AbortController();
  const running = runInstallCni(["--bin-dir", node.binDir, "--conf-dir", node.confDir], {
    ...node.host({ env: { ...inPod(), CNI_TOKEN_REFRESH_INTERVAL: "1s" }, host: { serviceAccountFolder: own, stopped: stopped.signal } }),
    openLog: (level) => createLog({ clock: systemClock, level, sinks: [{ write: (record) => log.push(record) }] }),
  });
  await untilExpired(api, token, lifeMs);
  expect(logged("token renewed").length).toBeGreaterThan(0);
  const before = logged("token cannot be renewed now, trying again").length;
  await eventually(() => expect(logged("token cannot be renewed now, trying again").length).toBeGreaterThan(before));
  const kept = readConfig().users[0]?.user.token ?? "";
  // the plugin's own is good for hours yet, and stays
  expect(await userOfToken(api, kept)).toBe(PLUGIN);
  const { reason } = logged("token cannot be renewed now, trying again").at(-1)?.fields ?? {};
  expect(reason).toBe(
    'create serviceaccounts/token "kube-system/netplug-cni-plugin": the API server does not accept the ' +
      `token in "${own}/token" of service account of this pod`,
  );

  const renewals = logged("token renewed").length;
  writeFileSync(join(own, "token"), readFileSync(join(account, "token")));
  await eventually(() => expect(logged("token renewed").length).toBeGreaterThan(renewals));
  const next = readConfig().users[0]?.user.token ?? "";
  expect([next === kept, await userOfToken(api, next)]).toEqual([false, PLUGIN]);
  stopped.abort(new Error("asked to end"));
  expect(await running).toBe(0);
  for (const secret of [token, kept, next]) expect(JSON.stringify(log)).not.toContain(secret);
});

test("a token of the plugin that has ended is known to be of no use, and replaced (needs cluster)", async () => {
  // Long enough for it to be accepted once.
  const lifeMs = 5_000;
  const host = node.host({ env: inPod(), host: { serviceAccountFolder: account } });
  const settings = readSettings({ binDir: node.binDir, confDir: node.confDir, isOnce: false }, host.env);
  using installation = new Installation(settings, host, silentLog);
  await installation.install();
  const config = readFileSync(join(node.confDir, KUBECONFIG), "utf8");
  const token = await issueShortToken(api, { namespace: "kube-system", name: "netplug-cni-plugin" }, lifeMs);
  writeFileSync(join(node.confDir, KUBECONFIG), config.replace(readConfig().users[0]?.user.token ?? "", token));
  expect(await installation.isTokenAccepted()).toBe(true);
  await untilExpired(api, token, lifeMs);
  expect(await installation.isTokenAccepted()).toBe(false);
  await installation.renewToken();
  expect([await installation.isTokenAccepted(), await whoAmI(join(node.confDir, KUBECONFIG))]).toEqual([true, PLUGIN]);
});

/** A host that never waits between its tries, but thinks it did: what is tried again for a minute is over at once. */
function hasty(): { readonly clock: Clock; readonly stopped: AbortSignal } {
  const stopped = new AbortController().signal;
  let sleptMs = 0;
  const clock: Clock = {
    now: () => systemClock.now() + sleptMs,
    monotonic: () => systemClock.monotonic() + sleptMs,
    async sleep(ms, signal) {
      // Limits of requests have signals of their own.
      if (signal !== stopped) await systemClock.sleep(ms, signal);
      else sleptMs += ms;
    },
  };
  return { clock, stopped };
}
