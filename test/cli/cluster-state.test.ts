import { beforeEach, describe, expect, test } from "bun:test";
import { poolYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();

beforeEach(() => world.reset());

describe("what must not be written", () => {
  test("nothing while a migration has frozen the datastore, except what unfreezes it", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreFrozen":true}}']);
    expect(await world.done(["init"])).toContain("already initialised");
    expect(await world.done(["version"])).toEndWith("Datastore Ready:  true (frozen by a migration)\n");
    await world.etcd.ctl(["del", "/netplug/v3/tiers/default"]);
    const writes: [string[], string][] = [
      [["init"], ""],
      [["create", "-f", "-"], poolYaml("red", "10.66.0.0/16")],
      [["apply", "-f", "-"], poolYaml("blue", "10.65.0.0/16", { disabled: true })],
      [["delete", "ipp", "blue"], ""],
      [["label", "ipp", "blue", "a=b"], ""],
      [["ipam", "configure", "--strict-affinity=true"], ""],
      [["ipam", "split", "2", "--name", "blue"], ""],
    ];
    for (const [argv, stdin] of writes) {
      const { status, stderr } = await world.ctl(argv, { stdin });
      expect([argv[0], status, stderr]).toEqual([argv[0], 1, expect.stringContaining("migration has frozen it")]);
    }
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreFrozen":null}}']);
    await world.done(["label", "ipp", "blue", "a=b"]);
  });

  test("a lock does not stop administration", async () => {
    await world.done(["init"]);
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":false}}']);
    await world.createPool("blue", "10.65.0.0/16");
    expect(await world.etcd.ctl(["get", "/netplug/v3/", "--prefix", "--keys-only"])).toContain("/netplug/v3/ippools/blue\n");
  });

  test.each([false, null])("a lock (datastoreReady: %p) is shown with what ends it", async (datastoreReady) => {
    await world.done(["init"]);
    await world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { datastoreReady } })]);
    expect(await world.json("version")).toMatchObject({ datastoreReady: false });
    const { status, stdout, stderr } = await world.ctl(["version"]);
    expect([status, stdout]).toEqual([0, expect.stringContaining("Datastore Ready:  false\n")]);
    const [, unlock = ""] = /^the datastore is locked; .*\nnext: netplugctl (.*)\n$/.exec(stderr) ?? [];
    const words = Bun.spawnSync(["sh", "-c", `printf '%s\\n' ${unlock}`])
      .stdout.toString()
      .trimEnd()
      .split("\n");
    await world.done(words);
    expect(await world.ctl(["version"])).toMatchObject({ stdout: expect.stringContaining("Datastore Ready:  true\n"), stderr: "" });
  });

  test("built-in tiers, the cluster's identity and blocks stay as they are", async () => {
    await world.done(["init"]);
    const refused = async (...argv: string[]): Promise<readonly [status: number, headline: string]> => {
      const { status, stderr } = await world.ctl(argv);
      return [status, stderr.split("\n")[0] ?? ""];
    };
    expect(await refused("delete", "tier", "default")).toEqual([1, 'netplugctl: delete tier "default": it is built in']);
    expect(await refused("patch", "tier", "default", "-p", '{"spec":{"order":1}}')).toEqual([1, expect.stringContaining("is built in")]);
    expect(await refused("delete", "clusterinfo", "default")).toEqual([1, expect.stringContaining("never initialised")]);
    expect(await refused("patch", "clusterinfo", "default", "-p", `{"spec":{"clusterGUID":"${"0".repeat(32)}"}}`)).toEqual([
      1,
      expect.stringContaining("cannot be changed"),
    ]);
    expect(await refused("delete", "ipamblock", "10-0-0-0-26")).toEqual([2, "netplugctl: change ipamblocks: only the system writes them"]);
  });

  test("commands that change what exists want an initialised datastore and say how to get one", async () => {
    const { status, stderr } = await world.ctl(["ipam", "configure", "--strict-affinity=true"]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("next: netplugctl init")]);
  });
});

describe("a cluster of a newer version", () => {
  const setVersion = (version: string): Promise<string> =>
    world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { netplugVersion: version } })]);

  test("is read, and not written", async () => {
    await world.createPool("blue", "10.65.0.0/16");
    const before = await world.stored("/netplug/v3/ippools/");
    await setVersion("v3.99.0");
    expect(await world.done(["get", "ipp", "-o", "name"])).toBe("ippool/blue\n");
    for (const argv of [
      ["label", "ipp", "blue", "a=b"],
      ["delete", "ipp", "blue"],
      ["ipam", "split", "2", "--name", "blue"],
      ["ipam", "configure", "--strict-affinity=true"],
    ]) {
      const { status, stderr } = await world.ctl(argv);
      expect([status, stderr]).toEqual([1, expect.stringMatching(/the cluster is of version v3\.99\.0, this program of v3\.31\.\d+; use/)]);
    }
    expect(await world.stored("/netplug/v3/ippools/")).toEqual(before);
    expect((await world.ctl(["version"])).stderr).toStartWith("warning: the cluster is of version v3.99.0");
  });

  test("is said as it is stored, but does not drive the terminal", async () => {
    await world.done(["init"]);
    await setVersion("v3.1.0\u001b[2J");
    expect((await world.ctl(["version"])).stdout).toContain("Cluster Version:  v3.1.0\\u{1b}[2J\n");
  });

  test.each(["v3.31.99", "v3.30.0", "v2.99.0", "something"])("is not what %p says", async (version) => {
    await world.done(["init"]);
    await setVersion(version);
    await world.createPool("blue", "10.65.0.0/16");
    expect((await world.ctl(["version"])).stderr).toBe("");
  });
});

describe("init makes the cluster's version its own", () => {
  const setVersion = (version: string | null): Promise<string> =>
    world.done(["patch", "clusterinfo", "default", "-p", JSON.stringify({ spec: { netplugVersion: version } })]);
  const readVersion = async (): Promise<unknown> => (await world.json<{ readonly clusterVersion?: string }>("version")).clusterVersion;

  test.each(["v3.30.9", "v2.99.99", "something", null])("where it was %p", async (version) => {
    await world.done(["init"]);
    const own = await readVersion();
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":false}}']);
    await setVersion(version);
    expect(await world.done(["init"])).toStartWith(
      `clusterinformation/default configured: version ${version ?? "unknown"} is now ${String(own)}\n`,
    );
    expect(await readVersion()).toBe(own);
    expect(await world.json("version")).toMatchObject({ datastoreReady: false });
  });

  test.each(["v3.31.99", "v4.0.0"])("but not where it was %p", async (version) => {
    await world.done(["init"]);
    await setVersion(version);
    expect(await world.done(["init"])).toStartWith("datastore already initialised: ");
    expect(await readVersion()).toBe(version);
  });

  test("and gives an object that something else made an identity, and fields of this version alone", async () => {
    const clusterGUID = "0123456789abcdef0123456789abcdef";
    const init = async (spec: object): Promise<string> => {
      const object = { apiVersion: "netplug.io/v3", kind: "ClusterInformation", metadata: { name: "default" }, spec };
      await world.etcd.ctl(["put", "/netplug/v3/clusterinformations/default", JSON.stringify(object)]);
      return await world.done(["init"]);
    };
    expect(await init({ clusterGUID, guid: "another", netplugVersion: "v3.30.9" })).toEndWith(`: cluster ${clusterGUID}\n`);
    const [, made] =
      /: cluster ([0-9a-f]{32})\n$/.exec(await init({ datastoreReady: true, datastoreFrozen: false, guid: clusterGUID })) ?? [];
    const { "/netplug/v3/clusterinformations/default": stored } = await world.stored("/netplug/v3/clusterinformations/");
    const own = { clusterGUID: made, clusterType: "etcd", netplugVersion: await readVersion() };
    expect((stored as { readonly spec: object }).spec).toEqual({ ...own, datastoreReady: true, datastoreFrozen: false });
    expect(await world.done(["init"])).toBe(`datastore already initialised: cluster ${made}\n`);
  });

  test("nor while a migration has frozen the datastore", async () => {
    await world.done(["init"]);
    await setVersion("v3.30.9");
    await world.done(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreFrozen":true}}']);
    expect(await world.ctl(["init"])).toMatchObject({ status: 1, stderr: expect.stringContaining("a migration has frozen it") });
    expect(await readVersion()).toBe("v3.30.9");
  });

  test.each([
    ["what it does not remove", { colour: "x" }, {}],
    ["a datastore that a migration has frozen", {}, { datastoreFrozen: true, colour: "x" }],
  ])("and is not proposed for %s", async (_, inMetadata, inSpec) => {
    const [metadata, spec] = [
      { name: "default", ...inMetadata },
      { datastoreReady: true, netplugVersion: "v3.30.9", ...inSpec },
    ];
    const object = { apiVersion: "netplug.io/v3", kind: "ClusterInformation", metadata, spec };
    await world.etcd.ctl(["put", "/netplug/v3/clusterinformations/default", JSON.stringify(object)]);
    const { stderr } = await world.ctl(["label", "clusterinfo", "default", "a=b"]);
    expect(stderr).toContain("colour: unknown field");
    expect(stderr).not.toContain("next: ");
    expect((await world.ctl(["init"])).status).toBe(1);
  });

  test.each([
    ["v3.30.9", "an earlier version has stored what this one does not know: spec.guid, spec.colour\nnext: netplugctl init\n"],
    ["v3.99.0", "validate ClusterInformation"],
  ])("and is proposed for what another version, %s, has stored beside, when that is to be changed", async (netplugVersion, message) => {
    const spec = { datastoreReady: true, guid: "another", colour: "x", netplugVersion };
    const object = { apiVersion: "netplug.io/v3", kind: "ClusterInformation", metadata: { name: "default" }, spec };
    await world.etcd.ctl(["put", "/netplug/v3/clusterinformations/default", JSON.stringify(object)]);
    const lock = ["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":false}}'];
    for (const command of [lock, ["label", "clusterinfo", "default", "a=b"]]) {
      expect(await world.ctl(command)).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
    }
    await world.done(["init"]);
    expect((await world.ctl(lock)).status).toBe(netplugVersion === "v3.30.9" ? 0 : 1);
  });

  test("and is proposed only once what is to be changed has no mistake of its own, which is told", async () => {
    const spec = { datastoreReady: true, guid: "another", netplugVersion: "v3.30.9" };
    const object = { apiVersion: "netplug.io/v3", kind: "ClusterInformation", metadata: { name: "default" }, spec };
    await world.etcd.ctl(["put", "/netplug/v3/clusterinformations/default", JSON.stringify(object)]);
    const { status, stderr } = await world.ctl(["patch", "clusterinfo", "default", "-p", '{"spec":{"datastoreReady":"no"}}']);
    const message = 'validate ClusterInformation "default": spec.datastoreReady: got "no", want true or false';
    expect([status, stderr]).toEqual([1, `netplugctl: ${message}\n`]);
  });
});

describe("a datastore that cannot be used", () => {
  test("that is away is named, with the next command", async () => {
    const env = { ETCD_ENDPOINTS: "http://127.0.0.1:1" };
    expect(await world.ctl(["get", "ipp"], { env })).toEqual({
      status: 1,
      stdout: "",
      stderr: [
        "netplugctl: read from etcd: http://127.0.0.1:1: connection refused",
        "  etcd at http://127.0.0.1:1, as ETCD_ENDPOINTS says",
        "next: curl -sS -m 5 http://127.0.0.1:1/health\n",
      ].join("\n"),
    });
    const { status, stdout, stderr } = await world.ctl(["version"], { env });
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^Client Version: +v3\.31\.\d+\n$/)]);
    expect(stderr).toContain("http://127.0.0.1:1/health");
    // What the proposed command asks for is there.
    expect(await (await fetch(`${world.etcd.endpoint}/health`)).json()).toMatchObject({ health: "true" });
  });

  test("that is spoken to in the clear, although there are certificates, is warned about and served", async () => {
    await world.done(["init"]);
    const { status, stderr } = await world.ctl(["get", "tiers"], {
      env: { ETCD_CA_CERT_FILE: "/nowhere/ca.pem", ETCD_USERNAME: "root" },
      defaultConfig: "kind: NetplugAPIConfig\nspec:\n  etcdPassword: s3cret\n",
    });
    const effect = "ETCD_CA_CERT_FILE has no effect there, and everything, the password too, goes in the clear";
    expect([status, stderr]).toEqual([
      0,
      `warning: ETCD_ENDPOINTS: "${world.etcd.endpoint}" without TLS: ${effect}; write "https://" for "http://"\n`,
    ]);
    expect((await world.ctl(["get", "tiers"])).stderr).toBe("");
  });

  test("is initialised once, and called by its own name", async () => {
    const first = await world.done(["init"]);
    const { "/netplug/v3/clusterinformations/default": stored } = await world.stored("/netplug/v3/clusterinformations/");
    const { clusterGUID } = (stored as { readonly spec: { readonly clusterGUID: string } }).spec;
    expect([first, await world.done(["init"])]).toEqual([
      `datastore initialised: cluster ${clusterGUID}\n`,
      `datastore already initialised: cluster ${clusterGUID}\n`,
    ]);
  });

  test("that was never initialised is shown as empty, and told how to begin", async () => {
    const begin = "the datastore was never initialised\nnext: netplugctl init\n";
    expect(await world.ctl(["version"])).toMatchObject({ status: 0, stderr: begin });
    expect(await world.ctl(["ipam", "check"])).toEqual({ status: 0, stdout: expect.stringContaining("found 0 problems"), stderr: begin });
    expect(await world.ctl(["ipam", "show"])).toEqual({ status: 0, stdout: "", stderr: `no ippools found\n${begin}` });
    expect(await world.ctl(["get", "ippools"])).toEqual({ status: 0, stdout: "", stderr: `no ippools found\n${begin}` });
    expect(await world.ctl(["get", "wep", "-o", "wide"])).toMatchObject({
      status: 0,
      stderr: `no workloadendpoints found in namespace "default"\n${begin}`,
    });
    expect(await world.ctl(["ipam", "show", "--ip=10.65.0.1"])).toEqual({
      status: 0,
      stdout: "10.65.0.1 is not allocated\nit lies in no pool\nno block is claimed around it\n",
      stderr: begin,
    });
    for (const command of [
      ["get", "ippools"],
      ["ipam", "check"],
      ["ipam", "show"],
    ])
      expect(await world.ctl([...command, "-o", "json"])).toMatchObject({ status: 0, stderr: "" });
    expect((await world.ctl(["delete", "ipp", "blue"])).stderr).toContain('find ippool "blue": there is none');
  });

  test.each([
    [{ ETCD_ENDPOINTS: "http://root:hunter2@127.0.0.1:1" }],
    [{ ETCD_ENDPOINTS: "http://127.0.0.1:1", ETCD_USERNAME: "root", ETCD_PASSWORD: "hunter2" }],
    [{ ETCD_ENDPOINTS: "http://root:hunter2@:x" }],
  ])("shows no password: %j", async (env) => {
    const { status, stdout, stderr } = await world.ctl(["get", "ipp"], { env });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).not.toContain("hunter2");
  });
});
