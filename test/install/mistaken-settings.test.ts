/** Settings that are allowed, or possible, and not what somebody meant: what a run says of them. */

import { expect, test } from "bun:test";
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/ports.ts";
import { CONFLIST, errorOf, filesWith, InstallNode, KUBECONFIG, startTokenServer } from "./support/node.ts";
import { stay } from "./support/stay.ts";

test("endpoints with TLS and none of the certificates are warned of, such as for a Secret with other keys", async () => {
  using node = new InstallNode();
  const warningsOf = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    const { log } = await node.run({ env });
    return log.filter(({ msg }) => msg.startsWith("there are no certificates")).map(({ level, fields }) => [level, fields]);
  };
  writeFileSync(join(node.assetsDir, "ca.crt"), "a certificate");
  const withTls = { ETCD_ENDPOINTS: "http://a:2379,https://b:2379" };
  const want = "etcd-ca, etcd-cert and etcd-key there";
  expect(await warningsOf(withTls)).toEqual([["WARNING", { folder: node.assetsDir, want }]]);
  expect(await warningsOf({ ETCD_ENDPOINTS: "http://a:2379" })).toEqual([]);
  writeFileSync(join(node.assetsDir, "etcd-ca"), "a certificate");
  expect(await warningsOf(withTls)).toEqual([]);
});

test("a folder in place of the template's file is told with the variable that names it", async () => {
  using node = new InstallNode();
  const run = await node.run({ env: { CNI_NETWORK_CONFIG_FILE: node.assetsDir } });
  expect(errorOf(run)).toBe(`read network config "${node.assetsDir}": it is a folder, want a file; CNI_NETWORK_CONFIG_FILE names it`);
});

test("a state file in a folder that is not there is told with the variable that names it, before anything is changed", async () => {
  using node = new InstallNode();
  const path = join(node.folder, "none/state");
  const before = node.content();
  const run = await node.run({ env: { STATE_FILE: path } });
  expect(errorOf(run)).toMatch(new RegExp(`^install "${path}": .*ENOENT \\(no such file or directory\\); STATE_FILE names it$`));
  expect(node.content()).toEqual(before);
});

/** What is no file, and how it is made; the device is one that no driver has. */
const NO_FILES: readonly (readonly [what: string, make: (path: string) => void])[] = [
  ["a folder", (path) => mkdirSync(path)],
  ["a named pipe", (path) => expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)],
  ["a character device", (path) => expect(Bun.spawnSync(["mknod", path, "c", "0", "0"]).exitCode).toBe(0)],
  ["a socket", (path) => Bun.listen({ unix: path, socket: { data: () => {} } }).unref()],
];

const idOf = (path: string): readonly number[] => [lstatSync(path).mode, lstatSync(path).ino];

test.each(NO_FILES)("a state file that is %s, or a link to it, is refused before anything is changed", async (what, make) => {
  using node = new InstallNode();
  const [real, link] = [join(node.folder, "no-file"), join(node.folder, "link")];
  make(real);
  symlinkSync("no-file", link);
  const [before, names] = [[real, link].map(idOf), readdirSync(node.folder)];
  for (const path of [real, link]) {
    const run = await node.run({ env: { STATE_FILE: path } });
    expect(errorOf(run)).toBe(`install "${path}": ${what} is there, want a file or nothing; STATE_FILE names it`);
  }
  expect([[real, link].map(idOf), readdirSync(node.folder), node.content()]).toEqual([before, names, {}]);
});

test.each<[what: string, text: string, isOurs: boolean]>([
  ["somebody's text", "nameserver 192.0.2.1\n", false],
  ["somebody's JSON", '{"name":"pods","plugins":[]}\n', false],
  ["somebody's broken JSON", '{"ready":', false],
  ["a state with a megabyte behind it", `{"ready":true}${" ".repeat(1_048_576)}`, false],
  ["a state of a version that took no lock", '{"ready":true}\n', true],
  ["the state of an installer that has died", '{"ready":true,"while":"locked"}\n', true],
  ["the state of one that has failed", '{"ready":false,"reason":"no space left"}\n', true],
  ["nothing", "", true],
])(
  "a file with %s in the place of the state file stays, and is told of, before anything is changed, unless it is ours",
  async (_what, text, isOurs) => {
    for (const name of ["file", "link"]) {
      await using api = startTokenServer();
      using node = new InstallNode();
      const [file, path] = [join(node.folder, "file"), join(node.folder, name)];
      writeFileSync(file, text);
      symlinkSync("file", join(node.folder, "link"));
      const run = await node.run({ env: { K8S_API_ENDPOINT: api.url, STATE_FILE: path } });
      if (isOurs) {
        expect([run.status, readFileSync(path, "utf8")]).toEqual([0, '{"ready":true}\n']);
        continue;
      }
      const advice = "want none; name another path, or remove that file; STATE_FILE names it";
      expect(errorOf(run)).toBe(`install "${path}": a file is there that no installer has written, ${advice}`);
      expect([readFileSync(file, "utf8") === text, lstatSync(join(node.folder, "link")).isSymbolicLink(), node.content()]).toEqual([
        true,
        true,
        {},
      ]);
    }
  },
);

/** Places of files that are installed. */
const PLACES = ["bin/netplug", "bin/netplug-ipam", `net.d/${CONFLIST}`, `net.d/${KUBECONFIG}`, "net.d/netplug-tls/etcd-ca"];

test.each(NO_FILES)("%s in the place of a file that is installed stays, and stops the run, which names it", async (what, make) => {
  await using api = startTokenServer();
  using node = new InstallNode();
  node.write("assets/etcd-ca", "ca");
  const env = { K8S_API_ENDPOINT: api.url };
  expect((await node.run({ env })).status).toBe(0);
  for (const name of PLACES) {
    const path = join(node.folder, name);
    rmSync(path);
    make(path);
    const before = idOf(path);
    expect(errorOf(await node.run({ env }))).toBe(`install "${path}": ${what} is there, want a file or nothing`);
    expect(idOf(path)).toEqual(before);
    // as the message says
    rmSync(path, { recursive: true });
    expect((await node.run({ env })).status).toBe(0);
  }
});

test.each(NO_FILES)(
  "%s that comes there later is told of, and keeps the node from being ready until it is taken away",
  async (what, make) => {
    await using api = startTokenServer();
    using node = new InstallNode();
    node.write("assets/etcd-ca", "ca");
    await using staying = await stay(node, { env: { K8S_API_ENDPOINT: api.url, STATE_FILE: join(node.folder, "state") } });
    for (const name of PLACES) {
      const path = join(node.folder, name);
      rmSync(path);
      make(path);
      const before = idOf(path);
      await staying.look();
      const reason = `files cannot be kept in place: install "${path}": ${what} is there, want a file or nothing`;
      expect([JSON.parse(node.read("state")), idOf(path)]).toEqual([{ ready: false, reason }, before]);
      rmSync(path, { recursive: true });
      await staying.look();
      expect([node.read("state"), node.read(name).length > 0]).toEqual([expect.stringContaining('"ready":true'), true]);
    }
  },
);

test("for a folder in the place of an executable nothing is copied, nor for one in that of a certificate its key replaced", async () => {
  using node = new InstallNode();
  for (const name of ["etcd-cert", "etcd-key"]) node.write(`assets/${name}`, "1");
  expect((await node.run()).status).toBe(0);
  const replace = (name: string): string => {
    rmSync(join(node.folder, name));
    mkdirSync(join(node.folder, name));
    return `install "${join(node.folder, name)}": a folder is there, want a file or nothing`;
  };
  const certificate = replace("net.d/netplug-tls/etcd-cert");
  for (const name of ["etcd-cert", "etcd-key"]) node.write(`assets/${name}`, "2");
  expect([errorOf(await node.run()), node.read("net.d/netplug-tls/etcd-key")]).toEqual([certificate, "1"]);
  const executable = replace("bin/netplug");
  let copies = 0;
  const copy = (): void => void copies++;
  expect([errorOf(await node.run({ host: { disk: filesWith({ copy }) } })), copies]).toEqual([executable, 0]);
});

test("a state file whose place is taken while the installer stays is told of, and what is there stays", async () => {
  using node = new InstallNode();
  const path = join(node.folder, "state");
  const staying = await stay(node, { env: { STATE_FILE: path } });
  rmSync(path);
  expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
  await staying.look();
  const { status, log } = await staying.stop();
  expect([status, lstatSync(path).isFIFO()]).toEqual([0, true]);
  const { fields } = log.find(({ msg }) => msg.startsWith("cannot keep files in place")) ?? {};
  expect(fields?.["reason"]).toBe(`install "${path}": a named pipe is there, want a file or nothing; STATE_FILE names it`);
});

test.each<[env: Readonly<Record<string, string>>, message: string]>([
  [{ KUBECONFIG: "/nowhere" }, 'read kubeconfig "/nowhere": no such file'],
  [{ K8S_API_ENDPOINT: "ftp://a" }, 'read K8S_API_ENDPOINT: got "ftp://a", want https://host:port'],
  [
    { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "https" },
    'read KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: got "https://127.0.0.1:https", want https://host:port',
  ],
])("%j, by which no API server is found, is refused before anything is changed", async (env, message) => {
  using node = new InstallNode();
  expect(errorOf(await node.run({ env }))).toBe(message);
  expect(node.content()).toEqual({});
});

test("a kubeconfig's exec plugin that fails is no mistake at once: it is asked again, and told of when that lasts", async () => {
  using node = new InstallNode();
  const asked = join(node.folder, "asked");
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/bin/sh",
    args: ["-c", `echo >> ${asked}; exit 3`],
    interactiveMode: "Never",
  };
  const kubeconfig = {
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "a", user: { exec } }],
  };
  node.write("kubeconfig", JSON.stringify(kubeconfig));
  let aheadMs = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + aheadMs,
    sleep: async (ms) => void (aheadMs += ms),
  };
  const run = await node.run({ env: { KUBECONFIG: join(node.folder, "kubeconfig") }, host: { clock } });
  expect(errorOf(run)).toMatch(/^run exec plugin "\/bin\/sh" of .*: it ended with status 3$/);
  expect(node.read("asked").length).toBeGreaterThan(2);
  expect(Object.keys(node.content())).toEqual(["bin/netplug", "bin/netplug-ipam"]);
});
