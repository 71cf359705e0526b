/** What one run leaves on a node, whatever was there before. */

import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { isAccepted } from "../../src/install-cni/account/plugin-account.ts";
import { KernelError } from "../../src/linux/kernel-error.ts";
import { startFakeApiServer } from "../kube/support/fake-api-server.ts";
import { share } from "../support/share.ts";
import { lockWithFlock } from "./support/lock.ts";
import { CONFLIST, errorOf, filesWith, InstallNode, KUBECONFIG, startTokenServer } from "./support/node.ts";

const api = share(() => startTokenServer());

const access = (): Readonly<Record<string, string>> => ({ K8S_API_ENDPOINT: api.url });

const kubeconfigFor = (server: string): string =>
  JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k" } }],
    clusters: [{ name: "k", cluster: { server } }],
  });

test("a run puts executables, kubeconfig and network config in their places, and says so without a secret", async () => {
  using node = new InstallNode();
  node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
  const run = await node.run({ env: { ...access(), DATASTORE_TYPE: "kubernetes" } });
  expect(run.status).toBe(0);
  const content = node.content();
  expect(Object.entries(content).map(([path, { mode }]) => [path, mode])).toEqual([
    ["bin/netplug", 0o755],
    ["bin/netplug-ipam", 0o755],
    ["bin/portmap", 0o755],
    [`net.d/${CONFLIST}`, 0o600],
    [`net.d/${KUBECONFIG}`, 0o600],
  ]);
  expect(content["bin/netplug-ipam"]?.inode).toBe(content["bin/netplug"]?.inode ?? 0);
  expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({
    cniVersion: "1.1.0",
    plugins: [{ type: "netplug", kubernetes: { kubeconfig: `/etc/cni/net.d/${KUBECONFIG}` } }, { type: "portmap" }],
  });
  expect(JSON.parse(node.read(`net.d/${KUBECONFIG}`))).toEqual({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "local", cluster: { server: api.url } }],
    users: [{ name: "netplug-cni-plugin", user: { token: expect.stringMatching(/^token-\d+$/) as string } }],
    contexts: [{ name: "netplug-cni-plugin@local", context: { cluster: "local", user: "netplug-cni-plugin" } }],
    "current-context": "netplug-cni-plugin@local",
  });
  expect(run.messages).toEqual([
    "executable installed",
    "executable installed",
    "access to the Kubernetes API written",
    "network config written",
    "the plugin is installed",
    "nobody renews the token from now on; run this again before it expires, or without --once",
  ]);
  expect(run.log.at(-2)?.fields).toMatchObject({ event: "ready" });
  expect(JSON.stringify(run.log)).not.toContain("token-");
});

test("a token of 24 hours is asked for, bound to nothing", async () => {
  using node = new InstallNode();
  await node.run({ env: access() });
  const { method, path, body } = api.seen.at(-1) ?? {};
  expect([method, path]).toEqual(["POST", "/api/v1/namespaces/kube-system/serviceaccounts/netplug-cni-plugin/token"]);
  expect(JSON.parse(body ?? "")).toEqual({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name: "netplug-cni-plugin", namespace: "kube-system" },
    spec: { expirationSeconds: 86_400 },
  });
});

test("a token is asked for in the namespace that our own credentials name", async () => {
  using node = new InstallNode();
  node.write("config", kubeconfigFor(api.url).replace('"cluster":"k"}', '"cluster":"k","namespace":"networks"}'));
  const message = errorOf(await node.run({ env: { KUBECONFIG: join(node.folder, "config") } }));
  expect(message).toBe(
    'get token of service account "networks/netplug-cni-plugin": there is no such account; apply manifests/rbac.yaml, or with etcd rbac-etcd.yaml',
  );
  expect(api.seen.at(-1)?.path).toBe("/api/v1/namespaces/networks/serviceaccounts/netplug-cni-plugin/token");
});

test("a token that is granted for a shorter time is said to expire then", async () => {
  await using brief = startTokenServer(({ path }) =>
    path.endsWith("/token")
      ? Response.json({ metadata: {}, spec: { expirationSeconds: 600 }, status: { token: "t" } }, { status: 201 })
      : undefined,
  );
  using node = new InstallNode();
  const before = Date.now();
  const run = await node.run({ env: { K8S_API_ENDPOINT: brief.url } });
  const expires = Date.parse(run.log.find(({ fields }) => fields["event"] === "ready")?.fields["expires"] as string);
  expect(expires).toBeGreaterThanOrEqual(before + 600_000 - 1_000);
  expect(expires).toBeLessThanOrEqual(Date.now() + 600_000);
});

test.each([[{}], [{ status: {} }], [{ status: { token: "" } }]])(
  "an answer that holds no token (%j) stops the run, and leaves no kubeconfig",
  async (answer) => {
    await using api = startTokenServer(({ path }) =>
      path.endsWith("/token") ? Response.json({ metadata: {}, spec: {}, ...answer }, { status: 201 }) : undefined,
    );
    using node = new InstallNode();
    expect(errorOf(await node.run({ env: { K8S_API_ENDPOINT: api.url } }))).toContain("the API server's answer holds none");
    expect(Object.keys(node.content())).toEqual(["bin/netplug", "bin/netplug-ipam"]);
  },
);

test.each([
  [200, true],
  [401, false],
  [403, true],
  [404, true],
])("a token is of no use only to an API server that does not know it: %i is %p", async (status, isGood) => {
  await using api = startFakeApiServer(() => Response.json({ kind: "Status", message: "x" }, { status }));
  using node = new InstallNode();
  node.write("config", kubeconfigFor(api.url));
  expect(await isAccepted(join(node.folder, "config"), node.host())).toBe(isGood);
  expect(api.seen[0]?.path).toBe("/version");
});

test("a token is not of no use because nobody can be asked", async () => {
  using node = new InstallNode();
  node.write("config", kubeconfigFor("http://127.0.0.1:1"));
  expect(await isAccepted(join(node.folder, "config"), node.host())).toBe(true);
});

test("a second run changes nothing but the token", async () => {
  using node = new InstallNode();
  writeFileSync(join(node.assetsDir, "etcd-ca"), "ca");
  await node.run({ env: access() });
  const { [`net.d/${KUBECONFIG}`]: first, ...before } = node.content();
  const run = await node.run({ env: access() });
  const { [`net.d/${KUBECONFIG}`]: second, ...after } = node.content();
  expect(after).toEqual(before);
  expect(second?.text).not.toBe(first?.text ?? "");
  expect(run.messages.filter((message) => / (?:installed|written|copied)$/.test(message))).toEqual([
    "access to the Kubernetes API written",
    "the plugin is installed",
  ]);
});

describe("a network config that is ours", () => {
  test.each<[what: string, spoil: (path: string, elsewhere: string) => void]>([
    ["another content", (path) => writeFileSync(path, "{}")],
    ["permissions for everybody", (path) => chmodSync(path, 0o644)],
    ["another owner", (path) => chownSync(path, 12_345, 0)],
    [
      "a symbolic link to what is the same",
      (path, elsewhere) => {
        renameSync(path, elsewhere);
        symlinkSync(elsewhere, path);
      },
    ],
  ])("is put right where there is %s", async (_what, spoil) => {
    using node = new InstallNode();
    await node.run();
    const text = node.read(`net.d/${CONFLIST}`);
    const path = join(node.confDir, CONFLIST);
    spoil(path, join(node.folder, "elsewhere"));
    expect((await node.run()).messages).toContain("network config written");
    const { mode, uid } = lstatSync(path);
    expect([node.read(`net.d/${CONFLIST}`), mode, uid]).toEqual([text, 0o100_600, process.getuid?.() ?? 0]);
    expect(readdirSync(node.confDir)).toEqual([CONFLIST]);
  });
});

test("a network config whose place a folder has stops the run, which names it, and so does an old one", async () => {
  using node = new InstallNode();
  const path = join(node.confDir, CONFLIST);
  mkdirSync(path);
  expect(errorOf(await node.run())).toBe(`install "${path}": a folder is there, want a file or nothing`);
  rmSync(path, { recursive: true });
  const old = join(node.confDir, "10-old.conflist");
  mkdirSync(old);
  expect(errorOf(await node.run({ env: { CNI_OLD_CONF_NAME: "10-old.conflist" } }))).toStartWith(`remove old network config "${old}": `);
  expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({ name: "k8s-pod-network" });
});

describe("executables", () => {
  test.each<[what: string, spoil: (node: InstallNode) => void]>([
    ["another content", (node) => node.write("bin/netplug", "the executablx\n")],
    ["another length", (node) => node.write("bin/netplug", "the")],
    ["permissions for everybody", (node) => chmodSync(join(node.binDir, "netplug"), 0o777)],
    ["a set-user-ID bit", (node) => chmodSync(join(node.binDir, "netplug"), 0o4755)],
    ["another owner", (node) => chownSync(join(node.binDir, "netplug"), 12_345, 0)],
    ["no second name", (node) => rmSync(join(node.binDir, "netplug-ipam"))],
    [
      "another file under the second name",
      (node) => {
        rmSync(join(node.binDir, "netplug-ipam"));
        node.write("bin/netplug-ipam", "another\n");
        chmodSync(join(node.binDir, "netplug-ipam"), 0o755);
      },
    ],
    ["no first name", (node) => rmSync(join(node.binDir, "netplug"))],
    [
      "a symbolic link to somewhere else",
      (node) => {
        copyFileSync(node.executable, join(node.folder, "elsewhere"));
        chmodSync(join(node.folder, "elsewhere"), 0o755);
        rmSync(join(node.binDir, "netplug"));
        symlinkSync(join(node.folder, "elsewhere"), join(node.binDir, "netplug"));
      },
    ],
  ])("with %s are put right", async (_what, spoil) => {
    using node = new InstallNode();
    await node.run();
    spoil(node);
    expect((await node.run()).status).toBe(0);
    const { "bin/netplug": main, "bin/netplug-ipam": ipam } = node.content();
    expect([main?.text, main?.mode, ipam?.inode]).toEqual(["the executable\n", 0o755, main?.inode]);
    if (existsSync(join(node.folder, "elsewhere"))) expect(node.read("elsewhere")).toBe("the executable\n");
  });

  test("are two files of the same content where there are no hard links, and stay so", async () => {
    using node = new InstallNode();
    const disk = filesWith({
      link: (_, path) => {
        throw new KernelError({ operation: "link", object: path, errno: 1, kind: "ioFailure" });
      },
    });
    await node.run({ host: { disk } });
    const before = node.content();
    expect(before["bin/netplug-ipam"]?.inode).not.toBe(before["bin/netplug"]?.inode ?? 0);
    expect(before["bin/netplug-ipam"]).toMatchObject({ text: "the executable\n", mode: 0o755 });
    await node.run({ host: { disk } });
    expect(node.content()).toEqual(before);
  });

  test("are left out by name; a name that we never install is warned about", async () => {
    using node = new InstallNode();
    const run = await node.run({ env: { SKIP_CNI_BINARIES: "netplug,bandwidth" } });
    expect(Object.keys(node.content())).toEqual(["bin/netplug-ipam", `net.d/${CONFLIST}`]);
    expect(run.log.find(({ msg }) => msg.startsWith("SKIP_CNI_BINARIES"))?.fields).toEqual({ names: ["bandwidth"] });
  });

  test("that are there stay when UPDATE_CNI_BINARIES is false; those that are missing come", async () => {
    using node = new InstallNode();
    node.write("bin/netplug", "older");
    await node.run({ env: { UPDATE_CNI_BINARIES: "false" } });
    expect([node.read("bin/netplug"), node.read("bin/netplug-ipam")]).toEqual(["older", "the executable\n"]);
  });

  test("with a folder in their place stop the run, which names it", async () => {
    using node = new InstallNode();
    mkdirSync(join(node.binDir, "netplug"));
    const message = errorOf(await node.run());
    expect(message).toBe(`install "${node.binDir}/netplug": a folder is there, want a file or nothing`);
    expect(Object.keys(node.content())).toEqual([]);
  });

  test("what an installer that was killed has left goes, also when nothing else is to be done", async () => {
    using node = new InstallNode();
    await node.run();
    node.write("bin/.netplug.netplug-tmp", "half");
    node.write("net.d/.05-other.conflist.netplug-tmp", "half");
    mkdirSync(join(node.confDir, "netplug-tls"));
    node.write("net.d/netplug-tls/.etcd-key.netplug-tmp", "half");
    await node.run();
    expect(Object.keys(node.content())).toEqual(["bin/netplug", "bin/netplug-ipam", `net.d/${CONFLIST}`]);
  });
});

test("what an installer that was killed has left stays where nothing can be written, if all else is in its place", async () => {
  using node = new InstallNode();
  await node.run();
  node.write("bin/.netplug.netplug-tmp", "half");
  const disk = filesWith({
    checkWritable(folder) {
      if (folder === node.binDir) throw new KernelError({ operation: "write to", object: folder, errno: 30, kind: "ioFailure" });
    },
  });
  expect((await node.run({ host: { disk } })).status).toBe(0);
  expect(node.read("bin/.netplug.netplug-tmp")).toBe("half");
  rmSync(join(node.binDir, "netplug"));
  expect(errorOf(await node.run({ host: { disk } }))).toStartWith(`install into "${node.binDir}": write to "${node.binDir}": EROFS`);
});

describe("folders", () => {
  test("that were named are made", async () => {
    using node = new InstallNode();
    const [bin, conf] = [join(node.folder, "a/b/bin"), join(node.folder, "a/net.d")];
    expect((await node.run({ args: ["--once", `--bin-dir=${bin}/`, "--conf-dir", conf] })).status).toBe(0);
    expect([existsSync(join(bin, "netplug")), existsSync(join(conf, CONFLIST))]).toEqual([true, true]);
  });

  test("that are files are refused", async () => {
    using node = new InstallNode();
    node.write("file", "");
    expect(errorOf(await node.run({ args: ["--once", "--bin-dir", join(node.folder, "file")] }))).toEndWith('file": it is no folder');
    expect(errorOf(await node.run({ args: ["--once", "--conf-dir", join(node.folder, "file/net.d")] }))).toContain("ENOTDIR");
  });

  test("in which another installer is at work are waited for", async () => {
    using node = new InstallNode();
    using other = await lockWithFlock(node.confDir);
    let sleeps = 0;
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      sleep: async () => {
        if (++sleeps === 3) await other.end();
        await Bun.sleep(1);
      },
    };
    expect((await node.run({ host: { clock } })).status).toBe(0);
    expect(sleeps).toBe(3);
  });

  test("in which another installer is at work for a minute are given up", async () => {
    using node = new InstallNode();
    using _other = await lockWithFlock(node.confDir);
    let now = 0;
    const clock = { now: () => now, monotonic: () => now, sleep: async (ms: number) => void (now += 100 * ms) };
    expect(errorOf(await node.run({ host: { clock } }))).toBe(`lock "${node.confDir}": another installer has been at work there for 60 s`);
  });
});
