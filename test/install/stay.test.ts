/** An installer that stays: what is taken away comes back, what changes is taken over, what is somebody else's is left alone. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runInstallCni } from "../../src/install-cni/main.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/ports.ts";
import { type FakeApiServer, statusAnswer } from "../kube/support/fake-api-server.ts";
import { NodeMounts } from "../support/node/node-mounts.ts";
import { lockWithFlock } from "./support/lock.ts";
import { CONFLIST, errorOf, InstallNode, KUBECONFIG, startTokenServer } from "./support/node.ts";
import { type Staying, stay as startStaying, type StayOptions } from "./support/stay.ts";

const HOUR_MS = 3_600_000;

let node: InstallNode;
beforeEach(() => void (node = new InstallNode()));
afterEach(() => node[Symbol.dispose]());

const stay = async (options?: StayOptions): Promise<Staying> => await startStaying(node, options);

describe("files", () => {
  const paths = ["bin/netplug", "bin/netplug-ipam", `net.d/${CONFLIST}`, `net.d/${KUBECONFIG}`, "net.d/netplug-tls/etcd-ca"];
  const losses = [
    ["was removed", (path: string) => rmSync(path)],
    ["has lost its content", (path: string) => (rmSync(path), writeFileSync(path, ""))],
  ] as const;
  test.each(paths.flatMap((path) => losses.map((loss) => [path, ...loss] as const)))("%s that %s comes back", async (path, _what, lose) => {
    await using api = startTokenServer();
    node.write("assets/etcd-ca", "ca");
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url } });
    const before = node.content();
    lose(join(node.folder, path));
    await staying.look();
    const strip = ({ text, mode }: { readonly text: string; readonly mode: number }): object => ({ text, mode });
    expect(Object.entries(node.content()).map(([name, file]) => [name, strip(file)])).toEqual(
      Object.entries(before).map(([name, file]) => [name, strip(file)]),
    );
    expect(node.content()["bin/netplug-ipam"]?.text).toBe("the executable\n");
  });

  test.each(["bin", "net.d"])("come back with the folder %s that they are in", async (folder) => {
    await using api = startTokenServer();
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url } });
    const before = Object.keys(node.content());
    rmSync(join(node.folder, folder), { recursive: true });
    await staying.look();
    expect(Object.keys(node.content())).toEqual(before);
  });

  test.each(["bin", "net.d"])("end it with the folder %s that is mounted, so that it starts again with a new mount", async (folder) => {
    await using mounts = await NodeMounts.start();
    using inPod = new InstallNode("the executable\n", mounts.path(node.folder));
    const onHost = join(node.folder, "on-host");
    mounts.run(`mkdir ${onHost} && mount --bind ${onHost} ${join(inPod.folder, folder).slice(mounts.path("").length)}`);
    const env = { STATE_FILE: join(node.folder, "state") };
    const staying = await startStaying(inPod, { env });
    rmSync(onHost, { recursive: true });
    await staying.look();
    const lost = `install into "${join(inPod.folder, folder)}": somebody removed the folder that is mounted there`;
    expect(node.read("state")).toContain(JSON.stringify(lost).slice(1, -1));
    expect(errorOf(await staying.stop())).toContain(lost);
  });

  test("with etcd's certificates come back, also with the folder that they are in", async () => {
    for (const name of ["etcd-ca", "etcd-cert", "etcd-key"]) node.write(`assets/${name}`, "1");
    await using staying = await stay();
    const before = Object.keys(node.content());
    rmSync(join(node.confDir, "netplug-tls", "etcd-key"));
    await staying.look();
    expect(Object.keys(node.content())).toEqual(before);
    rmSync(node.confDir, { recursive: true });
    mkdirSync(node.confDir);
    await staying.look();
    expect(Object.keys(node.content())).toEqual(before);
  });

  test("that a newer installer has written are left alone", async () => {
    const staying = await stay();
    node.write("bin/netplug", "newer");
    node.write(`net.d/${CONFLIST}`, "{}");
    await staying.look();
    expect([node.read("bin/netplug"), node.read(`net.d/${CONFLIST}`)]).toEqual(["newer", "{}"]);
    expect((await staying.stop()).messages).not.toContain("cannot keep files in place, trying again");
    expect(Object.keys(node.content())).toEqual(["bin/netplug", "bin/netplug-ipam", `net.d/${CONFLIST}`]);
  });

  test("that a newer installer has written are left alone also while others are written", async () => {
    node.write("assets/etcd-ca", "1");
    await using staying = await stay();
    node.write("assets/etcd-ca", "2");
    node.write(`net.d/${CONFLIST}`, "{}");
    await staying.look();
    expect([node.read("net.d/netplug-tls/etcd-ca"), node.read(`net.d/${CONFLIST}`)]).toEqual(["2", "{}"]);
  });

  test("that are all in their places need no turn in their folders", async () => {
    let waits = 0;
    const clock: Clock = { ...systemClock, sleep: () => Promise.reject(new Error(`waits for the ${++waits}. time`)) };
    await using api = startTokenServer();
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url }, clock });
    waits = 0; // the request for the token has a time limit
    using _bin = await lockWithFlock(node.binDir);
    using _conf = await lockWithFlock(node.confDir);
    await staying.look();
    expect([waits, (await staying.stop()).messages]).toEqual([0, expect.not.arrayContaining(["cannot keep files in place, trying again"])]);
  });

  test("with etcd's certificates follow the Secret; one that is gone stays as it was", async () => {
    for (const name of ["etcd-ca", "etcd-cert", "etcd-key"]) node.write(`assets/${name}`, "1");
    await using staying = await stay();
    node.write("assets/etcd-cert", "2");
    node.write("assets/etcd-key", "2");
    rmSync(join(node.assetsDir, "etcd-ca"));
    await staying.look();
    expect(["ca", "cert", "key"].map((name) => node.read(`net.d/netplug-tls/etcd-${name}`))).toEqual(["1", "2", "2"]);
  });
});

describe("on a disk that is full for a while", () => {
  test.each(["space", "inodes"] as const)(
    "(%s) what could not be written is written later, and nothing is ever half there",
    async (what) => {
      await using mounts = await NodeMounts.start();
      const disk = join(node.folder, "disk");
      mkdirSync(disk);
      mounts.mount(disk, "size=256k,nr_inodes=64");
      using small = new InstallNode("the executable\n", mounts.path(disk));
      await using api = startTokenServer();
      for (const name of ["etcd-ca", "etcd-cert", "etcd-key"]) small.write(`assets/${name}`, "1");
      let aheadMs = 0;
      const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
      await using staying = await startStaying(small, {
        env: { K8S_API_ENDPOINT: api.url, STATE_FILE: join(node.folder, "state") },
        clock,
      });
      const before = small.content();
      for (const name of ["etcd-ca", "etcd-cert", "etcd-key"]) small.write(`assets/${name}`, "2");
      mounts.fill(disk, what);
      aheadMs = 13 * HOUR_MS;
      await staying.look();
      await staying.look();
      expect(small.content()).toEqual(before);
      expect(node.read("state")).toContain("ENOSPC");
      mounts.clear(disk);
      aheadMs = 14 * HOUR_MS;
      await staying.look();
      await staying.look();
      expect(["ca", "cert", "key"].map((name) => small.read(`net.d/netplug-tls/etcd-${name}`))).toEqual(["2", "2", "2"]);
      expect(small.read(`net.d/${KUBECONFIG}`)).not.toContain('"token-1"');
      expect(node.read("state")).toBe('{"ready":true,"while":"locked"}\n');
      expect(Object.keys(small.content())).toEqual(Object.keys(before));
    },
  );
});

describe("the token", () => {
  test("is replaced while the old one is good, and nothing else changes", async () => {
    await using api = startTokenServer();
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url }, clock });
    const { [`net.d/${KUBECONFIG}`]: first, ...before } = node.content();
    expect(first?.text).toContain('"token-1"');
    aheadMs = 13 * 3_600_000;
    await staying.look();
    // Due at once now: the next look is after it.
    await staying.look();
    const { [`net.d/${KUBECONFIG}`]: second, ...after } = node.content();
    expect(second).toMatchObject({ text: first?.text.replace("token-1", "token-2") ?? "", mode: 0o600 });
    expect(after).toEqual(before);
  });

  test("is replaced also while executables cannot be kept in place", async () => {
    await using api = startTokenServer();
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url }, clock });
    rmSync(node.binDir, { recursive: true });
    node.write("bin", "a file");
    aheadMs = 13 * 3_600_000;
    await staying.look();
    await staying.look();
    expect(node.read(`net.d/${KUBECONFIG}`)).toContain('"token-2"');
  });

  test.each([
    [401, "token-2"],
    [403, "token-1"],
  ])("that the API server answers with %i is %s afterwards", async (status, token) => {
    await using api = startTokenServer(({ path }) => (path === "/version" ? statusAnswer(status, "x", "x") : undefined));
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url }, clock });
    aheadMs = 301_000;
    await staying.look();
    await staying.look();
    expect(api.seen.map(({ path }) => path)).toContain("/version");
    expect(node.read(`net.d/${KUBECONFIG}`)).toContain(`"${token}"`);
  });

  test("that the API server refuses to renew stays in the file", async () => {
    let isRefusing = false;
    await using api: FakeApiServer = startTokenServer(() => (isRefusing ? statusAnswer(403, "Forbidden", "no") : undefined));
    let aheadMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + aheadMs };
    const staying = await stay({ env: { K8S_API_ENDPOINT: api.url }, clock });
    isRefusing = true;
    aheadMs = 13 * 3_600_000;
    await staying.look();
    const { status, log } = await staying.stop();
    expect([status, node.read(`net.d/${KUBECONFIG}`)]).toEqual([0, expect.stringContaining('"token-1"')]);
    expect(log.find(({ msg }) => msg === "token cannot be renewed now, trying again")?.fields["reason"]).toContain("refused: no");
  });
});

describe("the node's runtime", () => {
  let runtime: string | undefined;
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
  const startNodes = (): FakeApiServer =>
    startTokenServer(({ path }) => {
      if (!path.startsWith("/api/v1/nodes/")) return undefined;
      if (runtime === undefined) return statusAnswer(403, "Forbidden", "not yet");
      return Response.json({ metadata: {}, status: { nodeInfo: { containerRuntimeVersion: runtime } } });
    });
  const version = (): unknown => (JSON.parse(node.read(`net.d/${CONFLIST}`)) as { cniVersion: unknown }).cniVersion;
  const lookLater = async (staying: Staying): Promise<void> => {
    aheadMs += 301_000;
    await staying.look();
  };

  test("is followed: the network config has the version that it knows by now", async () => {
    runtime = undefined;
    await using api = startNodes();
    node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
    const staying = await stay({ env: { K8S_API_ENDPOINT: api.url, KUBERNETES_NODE_NAME: "host-b", REMOVE_ON_STOP: "true" }, clock });
    const found = [version()];
    for (const next of ["containerd://1.7.29", "containerd://1.7.29", undefined, "containerd://2.1.4", "containerd://1.6.20"]) {
      runtime = next;
      await lookLater(staying);
      found.push(version());
    }
    expect(found).toEqual(["1.1.0", "1.0.0", "1.0.0", "1.0.0", "1.1.0", "1.0.0"]);
    const { log } = await staying.stop();
    expect(log.filter(({ msg }) => msg.startsWith("the node's container runtime")).map(({ fields }) => fields["runtime"])).toEqual([
      "containerd://1.7.29",
      "containerd://1.6.20",
    ]);
    expect(existsSync(join(node.confDir, CONFLIST))).toBe(false);
  });

  test("that a template's network config does not suit is warned of once, also when it is told late", async () => {
    runtime = undefined;
    await using api = startNodes();
    const template = '{"name":"a","cniVersion":"1.1.0","plugins":[{"type":"x"}]}';
    const env = { K8S_API_ENDPOINT: api.url, KUBERNETES_NODE_NAME: "host-b", CNI_NETWORK_CONFIG: template };
    const staying = await stay({ env, clock });
    runtime = "containerd://1.7.29";
    for (let times = 0; times < 2; times++) await lookLater(staying);
    expect(node.read(`net.d/${CONFLIST}`)).toBe(template);
    const { messages } = await staying.stop();
    const warnings = messages.filter((msg) => msg.startsWith("the node's container runtime"));
    expect(warnings).toEqual(["the node's container runtime does not know CNI 1.1.0: no pod will start"]);
  });

  test("does not change the network config of a newer installer", async () => {
    runtime = "containerd://2.1.4";
    await using api = startNodes();
    node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
    await using staying = await stay({ env: { K8S_API_ENDPOINT: api.url, KUBERNETES_NODE_NAME: "host-b" }, clock });
    node.write(`net.d/${CONFLIST}`, "{}");
    runtime = "containerd://1.7.29";
    await lookLater(staying);
    expect(node.read(`net.d/${CONFLIST}`)).toBe("{}");
  });
});

describe("a clean stop", () => {
  test("leaves everything where it is", async () => {
    const staying = await stay();
    const before = node.content();
    const { status, log } = await staying.stop();
    expect([status, node.content(), log.at(-1)?.fields["event"]]).toEqual([0, before, "stopped"]);
  });

  test("takes the network config away when it was asked to, and nothing else", async () => {
    await using api = startTokenServer();
    const staying = await stay({ env: { K8S_API_ENDPOINT: api.url, REMOVE_ON_STOP: "true" } });
    const { [`net.d/${CONFLIST}`]: _config, ...others } = node.content();
    const { status, messages } = await staying.stop();
    expect([status, node.content()]).toEqual([0, others]);
    expect(messages).toContain("network config removed");
  });

  test("does not take away what somebody else has put there", async () => {
    const staying = await stay({ env: { REMOVE_ON_STOP: "true" } });
    node.write(`net.d/${CONFLIST}`, "{}");
    expect((await staying.stop()).status).toBe(0);
    expect(node.read(`net.d/${CONFLIST}`)).toBe("{}");
  });

  test.each<[end: string, removes: string, before: (path: string) => void, status: number, said: string]>([
    ["stays where it is", "false", () => {}, 0, "ready"],
    ["was taken away", "true", () => {}, 1, "the installer was stopped, and took its network config away"],
    ["is another installer's, who has its own say", "true", (path) => writeFileSync(path, "{}"), 0, "ready"],
    [
      "is a link to what is not here, and may be on the node",
      "true",
      (path) => (rmSync(path), symlinkSync("/nowhere/a.conflist", path)),
      0,
      "ready",
    ],
    ["was gone already", "true", (path) => rmSync(path), 1, "the installer was stopped, and its network config is gone"],
    ["was emptied before", "true", (path) => writeFileSync(path, ""), 1, "the installer was stopped, and its network config is gone"],
    [
      "went with its folder",
      "true",
      (path) => rmSync(dirname(path), { recursive: true }),
      1,
      "the installer was stopped, and its network config is gone",
    ],
  ])("is seen by who asks whether the node is ready: the network config %s", async (_end, removes, before, status, said) => {
    const env = { REMOVE_ON_STOP: removes, STATE_FILE: join(node.folder, "state") };
    const staying = await stay({ env });
    before(join(node.confDir, CONFLIST));
    await staying.stop();
    let answer = "";
    const asked = await runInstallCni(["--ready"], node.host({ env, host: { say: (text) => void (answer += text) } }));
    expect([asked, answer]).toEqual([status, said]);
  });

  test("while another installer is at work in a folder is no trouble", async () => {
    const staying = await stay({ env: { STATE_FILE: join(node.folder, "state") } });
    rmSync(join(node.confDir, CONFLIST));
    using _other = await lockWithFlock(node.confDir);
    const looking = staying.look();
    await Bun.sleep(100);
    const asked = performance.now();
    const { status, messages } = await staying.stop();
    await looking;
    expect(performance.now() - asked).toBeLessThan(30_000); // a minute is how long the other one is waited for
    expect([status, messages.slice(-2)]).toEqual([0, ["the plugin is installed", "stopped"]]);
    expect(node.read("state")).toBe('{"ready":true}\n');
  });

  test("is not said to be ready to who does not say where that stands", async () => {
    let answer = "";
    const asked = await runInstallCni(["--ready"], node.host({ host: { say: (text) => void (answer += text) } }));
    expect([asked, answer]).toEqual([2, "netplug install-cni: read STATE_FILE: got nothing, want the path that the installer was given"]);
  });

  test("takes the network config away also when another installer is at work in its folder just then", async () => {
    const staying = await stay({ env: { REMOVE_ON_STOP: "true" } });
    const other = await lockWithFlock(node.confDir);
    const stopping = staying.stop();
    await Bun.sleep(100);
    expect(existsSync(join(node.confDir, CONFLIST))).toBe(true);
    await other.end();
    expect((await stopping).status).toBe(0);
    expect(existsSync(join(node.confDir, CONFLIST))).toBe(false);
  });

  test("takes the network config of the run before away while the API server is waited for", async () => {
    await using api = startTokenServer();
    expect((await node.run({ env: { K8S_API_ENDPOINT: api.url } })).status).toBe(0);
    const stopped = new AbortController();
    const clock: Clock = {
      ...systemClock,
      async sleep(ms, signal) {
        if (signal === stopped.signal) stopped.abort(new Error("asked to end"));
        await systemClock.sleep(ms, signal);
      },
    };
    const env = { K8S_API_ENDPOINT: "http://127.0.0.1:1", REMOVE_ON_STOP: "true" };
    const { messages } = await node.run({ env, args: [], host: { clock, stopped: stopped.signal } });
    expect(messages).toContain("network config removed");
    expect(existsSync(join(node.confDir, CONFLIST))).toBe(false);
  });

  test.each([
    ["one that stays", [], 0, ["asked to end before everything was in its place", "stopped"]],
    ["one that was to install once", ["--once"], 1, ["asked to end before everything was in its place"]],
  ])("while the API server is waited for ends %s at once, not ready whatever was said before", async (_what, args, wanted, said) => {
    await using api = startTokenServer(() => statusAnswer(503, "ServiceUnavailable", "not yet", { headers: { "retry-after": "1" } }));
    const stopped = new AbortController();
    node.write("state", '{"ready":true}\n');
    const env = { K8S_API_ENDPOINT: api.url, STATE_FILE: join(node.folder, "state") };
    const running = node.run({ env, args, host: { stopped: stopped.signal } });
    while (api.seen.length === 0) await Bun.sleep(1);
    stopped.abort(new Error("asked to end"));
    const { status, messages } = await running;
    expect([status, messages.slice(-said.length)]).toEqual([wanted, said]);
    expect(node.read("state")).toBe('{"ready":false,"reason":"not everything is in its place yet"}\n');
    expect(existsSync(join(node.confDir, CONFLIST))).toBe(false);
    expect(existsSync(join(node.binDir, "netplug"))).toBe(true);
  });
});
