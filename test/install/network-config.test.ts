/** The network config that a run writes: from a template or by itself, and what is warned about. */

import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { durableFiles } from "../../src/linux/durable-files.ts";
import { KernelError } from "../../src/linux/kernel-error.ts";
import { statusAnswer } from "../kube/support/fake-api-server.ts";
import { share } from "../support/share.ts";
import { CONFLIST, errorOf, filesWith, InstallNode, KUBECONFIG, startTokenServer } from "./support/node.ts";
import { stay } from "./support/stay.ts";

const api = share(() => startTokenServer());

const access = (): Readonly<Record<string, string>> => ({ K8S_API_ENDPOINT: api.url });

describe("the network config", () => {
  test("is the template, filled in; the file wins", async () => {
    using node = new InstallNode();
    node.write("template", '{"name":"from-file","plugins":[{"type":"x","n":"__KUBERNETES_NODE_NAME__","mtu":__CNI_MTU__}]}\n');
    const env = { CNI_MTU: "1400", CNI_NETWORK_CONFIG: "{}", CNI_NETWORK_CONFIG_FILE: join(node.folder, "template") };
    expect((await node.run({ env })).status).toBe(0);
    expect(node.read(`net.d/${CONFLIST}`)).toBe('{"name":"from-file","plugins":[{"type":"x","n":"host-a","mtu":1400}]}\n');
  });

  test.each(["CNI_NETWORK_CONFIG", "CNI_NETWORK_CONFIG_FILE"])(
    "is taken from %s without the byte order mark before it",
    async (variable) => {
      using node = new InstallNode();
      const text = '{"name":"marked","plugins":[{"type":"x"}]}';
      node.write("template", `\ufeff${text}`);
      const value = variable === "CNI_NETWORK_CONFIG" ? `\ufeff${text}` : join(node.folder, "template");
      expect((await node.run({ env: { [variable]: value } })).status).toBe(0);
      expect(node.read(`net.d/${CONFLIST}`)).toBe(text);
    },
  );

  test.each<[what: string, env: Readonly<Record<string, string>>, message: string]>([
    ["a template that is no JSON", { CNI_NETWORK_CONFIG: '{"etcd_password": "s3cret"' }, "read CNI_NETWORK_CONFIG: line 1, column 27"],
    ["a placeholder that there is not", { CNI_NETWORK_CONFIG: '"__MTU__"' }, "fill in CNI_NETWORK_CONFIG: __MTU__ is no placeholder"],
    [
      "a file that there is not",
      { CNI_NETWORK_CONFIG_FILE: "/none" },
      'read network config "/none": there is no such file; CNI_NETWORK_CONFIG_FILE names it',
    ],
    [
      "a kubeconfig and no API server",
      { CNI_NETWORK_CONFIG: '{"name":"a","plugins":[{"type":"x","k":"__KUBECONFIG_FILEPATH__"}]}' },
      "find the Kubernetes API: the network config names a kubeconfig, but nothing says where it is; set KUBERNETES_SERVICE_HOST",
    ],
    [
      "the Kubernetes datastore and no API server",
      { DATASTORE_TYPE: "kubernetes" },
      "find the Kubernetes API: DATASTORE_TYPE is kubernetes",
    ],
    [
      "a name from which runtimes read no list",
      { CNI_CONF_NAME: "10-netplug.conf" },
      'read CNI_CONF_NAME: got "10-netplug.conf", want a name that ends in .conflist',
    ],
    [
      "a template with a list, and a name from which runtimes read none",
      { CNI_CONF_NAME: "10-netplug.json", CNI_NETWORK_CONFIG: '{"name":"a","plugins":[{"type":"x"}]}' },
      'read CNI_NETWORK_CONFIG: it is a list of plugins, and "10-netplug.json" is no name for one: want .conflist; set CNI_CONF_NAME',
    ],
    ["a value that makes no sense", { CNI_MTU: "big" }, 'read CNI_MTU: got "big"'],
  ])("%s stops the run before anything is changed", async (_what, env, message) => {
    using node = new InstallNode();
    const run = await node.run({ env });
    expect(errorOf(run)).toStartWith(message);
    expect(JSON.stringify(run.log)).not.toContain("s3cret");
    expect(node.content()).toEqual({});
  });

  test.each<[versions: readonly string[] | undefined, status: number, expected: string, reason: string | undefined]>([
    [["0.4.0", "1.0.0", "1.1.0"], 0, "1.1.0", undefined],
    [["0.4.0", "1.0.0"], 0, "1.0.0", "it does not know 1.1.0"],
    [["1.1.0"], 3, "1.0.0", "it ends with status 3 when asked for its versions"],
    [undefined, 0, "1.0.0", "it is not in the folder of plugins; without it no pod gets a network"],
  ])("with a portmap of versions %j, which ends with %p, says %s", async (versions, status, expected, reason) => {
    using node = new InstallNode();
    if (versions !== undefined) node.addPlugin("portmap", versions, status);
    const { log } = await node.run();
    expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({ cniVersion: expected });
    const warning = log.find(({ msg }) => msg.startsWith("chained plugin"));
    expect(warning?.fields["reason"]).toBe(reason);
  });

  test("with a portmap that is a link to what cannot be seen says 1.0.0, and why", async () => {
    using node = new InstallNode();
    symlinkSync("/nowhere/portmap", join(node.binDir, "portmap"));
    const { log } = await node.run();
    expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({ cniVersion: "1.0.0" });
    const reason = "it is a symbolic link to what cannot be seen from here; put the file itself there";
    expect(log.find(({ msg }) => msg.startsWith("chained plugin"))?.fields["reason"]).toBe(reason);
  });

  test.each<[runtime: string | undefined, expected: string]>([
    ["containerd://1.7.29", "1.0.0"],
    ["containerd://1.6.20~ds1", "1.0.0"],
    ["containerd://2.1.4", "1.1.0"],
    ["containerd://10.0.0", "1.1.0"],
    ["cri-o://1.31.0", "1.1.0"],
    [undefined, "1.1.0"],
  ])("on a node whose runtime is %p says %s", async (containerRuntimeVersion, expected) => {
    await using nodes = startTokenServer(({ path }) =>
      path === "/api/v1/nodes/host-b" ? Response.json({ metadata: {}, status: { nodeInfo: { containerRuntimeVersion } } }) : undefined,
    );
    using node = new InstallNode();
    node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
    const env = { K8S_API_ENDPOINT: nodes.url, KUBERNETES_NODE_NAME: "host-b" };
    const { log } = await node.run({ env });
    const written = node.read(`net.d/${CONFLIST}`);
    const warned = log.filter(({ msg }) => msg.startsWith("the node's container runtime")).map(({ fields }) => fields["runtime"]);
    expect(warned).toEqual(expected === "1.0.0" ? [containerRuntimeVersion] : []);
    // All else is as it was, at its place.
    expect(Object.keys(JSON.parse(written) as object)).toEqual(["name", "cniVersion", "plugins"]);
    expect(JSON.parse(written)).toMatchObject({ cniVersion: expected, plugins: [{ nodename: "host-b" }, { type: "portmap" }] });
  });

  test.each([404, 403, 500])("says 1.1.0 where a %i hides which runtime the node has", async (status) => {
    await using nodes = startTokenServer(({ path }) => (path.startsWith("/api/v1/nodes/") ? statusAnswer(status, "", "no") : undefined));
    using node = new InstallNode();
    node.addPlugin("portmap", ["1.0.0", "1.1.0"]);
    expect((await node.run({ env: { K8S_API_ENDPOINT: nodes.url, KUBERNETES_NODE_NAME: "host-b" } })).status).toBe(0);
    expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({ cniVersion: "1.1.0" });
  });

  test("of a template stays as it is, and a runtime that does not know its version is warned of", async () => {
    await using nodes = startTokenServer(({ path }) =>
      path.startsWith("/api/v1/nodes/")
        ? Response.json({ metadata: {}, status: { nodeInfo: { containerRuntimeVersion: "containerd://1.7.29" } } })
        : undefined,
    );
    using node = new InstallNode();
    const template = '{"name":"a","cniVersion":"1.1.0","plugins":[{"type":"x"}]}';
    const env = { K8S_API_ENDPOINT: nodes.url, KUBERNETES_NODE_NAME: "host-b", CNI_NETWORK_CONFIG: template };
    const { log } = await node.run({ env });
    expect(node.read(`net.d/${CONFLIST}`)).toBe(template);
    const warnings = log.filter(({ level }) => level === "WARNING");
    expect(warnings).toContainEqual(
      expect.objectContaining({
        msg: "the node's container runtime does not know CNI 1.1.0: no pod will start",
        fields: expect.objectContaining({ runtime: "containerd://1.7.29", want: "cniVersion 1.0.0" }) as object,
      }),
    );
    const { messages } = await node.run({ env: { ...env, CNI_NETWORK_CONFIG: template.replace("1.1.0", "1.0.0") } });
    expect(messages.filter((message) => message.startsWith("the node's container runtime"))).toEqual([]);
  });

  test("takes the place of one of another name, which goes only then", async () => {
    using node = new InstallNode();
    node.write("net.d/05-old.conflist", "{}");
    const env = { CNI_CONF_NAME: "20-new.conflist", CNI_OLD_CONF_NAME: "05-old.conflist" };
    const broken = filesWith({
      rename: (_from, to) => {
        throw new KernelError({ operation: "rename onto", object: to, errno: 28, kind: "ioFailure" });
      },
    });
    expect(errorOf(await node.run({ env: { ...env, SKIP_CNI_BINARIES: "netplug,netplug-ipam" }, host: { disk: broken } }))).toContain(
      "ENOSPC",
    );
    expect(Object.keys(node.content())).toEqual(["net.d/05-old.conflist"]);
    const { messages } = await node.run({ env });
    expect(Object.keys(node.content()).filter((path) => path.startsWith("net.d/"))).toEqual(["net.d/20-new.conflist"]);
    expect(messages).toContain("old network config removed");
  });

  test("stays where the old one has the same name, and where there is no old one nothing is said of it", async () => {
    using node = new InstallNode();
    for (const old of [CONFLIST, "10-old.conflist"]) {
      const { status, messages } = await node.run({ env: { CNI_OLD_CONF_NAME: old } });
      expect([status, existsSync(join(node.confDir, CONFLIST)), messages]).toEqual([
        0,
        true,
        expect.not.arrayContaining(["old network config removed"]),
      ]);
    }
  });

  test("that changes what addresses are recorded under is warned about, by key alone; another that does not is not", async () => {
    using node = new InstallNode();
    const template = (name: string, plugin: object): string => JSON.stringify({ name, plugins: [{ type: "netplug", ...plugin }] });
    const warningOf = async (config: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
      const { log, status } = await node.run({ env: { ...env, CNI_NETWORK_CONFIG: config } });
      expect(status).toBe(0);
      expect(JSON.stringify(log)).not.toContain("s3cret");
      const warning = log.find(({ msg }) => msg.startsWith("the network config changes what addresses are recorded under"));
      if (warning !== undefined) expect(warning.fields["want"]).toContain("unless docs/moving.md has steps for this change");
      return warning?.fields["keys"];
    };
    const ipam = { type: "netplug-ipam" };
    expect(await warningOf(template("s3cret-a", { ipam, nodename: "n1", mtu: 1400 }))).toBeUndefined();
    expect(await warningOf(template("s3cret-a", { ipam, datastore_type: "etcdv3" }))).toBeUndefined();
    expect(await warningOf(template("s3cret-b", { ipam, datastore_type: "kubernetes", nodename: "n1" }))).toEqual([
      "name",
      "datastore_type",
    ]);
    const renamed = { CNI_CONF_NAME: "20-new.conflist", CNI_OLD_CONF_NAME: CONFLIST };
    const local = { ipam: { type: "host-local" }, datastore_type: "kubernetes", nodename: "n1" };
    expect(await warningOf(template("s3cret-b", local), renamed)).toBeUndefined();
    const changed = template("s3cret-b", { ...local, ipam, nodename: "n2" });
    expect(await warningOf(changed, renamed)).toEqual(["nodename", "ipam.type"]);
    expect(await warningOf(changed, renamed)).toBeUndefined();
    node.write("net.d/20-new.conflist", "{");
    expect(await warningOf(changed, renamed)).toBeUndefined();
    // What says no datastore is on etcd.
    node.write(`net.d/${CONFLIST}`, template("s3cret-b", { ipam }));
    expect(await warningOf(template("s3cret-b", { ipam, datastore_type: "kubernetes" }))).toEqual(["datastore_type"]);
  });

  test("that names another node is warned about", async () => {
    using node = new InstallNode();
    const warningOf = async (plugin: object, env: Readonly<Record<string, string>> = { KUBERNETES_NODE_NAME: "n1" }): Promise<unknown> => {
      const config = JSON.stringify({ name: "pods", plugins: [{ type: "netplug", ipam: { type: "netplug-ipam" }, ...plugin }] });
      const { log } = await node.run({ env: { ...env, CNI_NETWORK_CONFIG: config } });
      return log.find(({ msg }) => msg.startsWith("the network config names another node"))?.fields["want"];
    };
    expect(await warningOf({ nodename: "n2" })).toContain("__KUBERNETES_NODE_NAME__");
    for (const nodename of ["n1", "__KUBERNETES_NODE_NAME__", "", undefined]) expect(await warningOf({ nodename })).toBeUndefined();
    expect(await warningOf({ nodename: "n2" }, {})).toBeUndefined();
  });

  test("that comes after another one is warned about: the runtime takes the first", async () => {
    using node = new InstallNode();
    const warningOf = async (env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
      const { log } = await node.run({ env });
      return log.find(({ msg }) => msg.startsWith("another network config comes first"))?.fields["names"];
    };
    for (const name of ["09-a.txt", "09-a.conflist.bak", "10-o.conflist", "99-a.conf"]) node.write(`net.d/${name}`, "{}");
    expect(await warningOf()).toBeUndefined();
    for (const name of ["05-other.conflist", "00-other.conf"]) node.write(`net.d/${name}`, "{}");
    expect(await warningOf()).toEqual(["00-other.conf", "05-other.conflist"]);
    expect(await warningOf({ CNI_OLD_CONF_NAME: "00-other.conf" })).toEqual(["05-other.conflist"]);
    expect(await warningOf({ CNI_CONF_NAME: "04-netplug.conflist" })).toBeUndefined();
  });

  test("is warned of another one that comes before it by now, once", async () => {
    using node = new InstallNode();
    const staying = await stay(node);
    const other = "net.d/05-other.conflist";
    const look = async (...names: readonly string[]): Promise<void> => {
      for (const name of names) node.write(name, "{}");
      await staying.look();
    };
    await look("net.d/99-later.conflist");
    await look(other);
    await look(other, "net.d/04-more.conf");
    rmSync(join(node.folder, other));
    await look();
    await look(other);
    const { log } = await staying.stop();
    const warnings = log.filter(({ msg }) => msg.startsWith("another network config comes first"));
    const both = ["04-more.conf", "05-other.conflist"];
    expect(warnings.map(({ level, fields }) => [level, fields["names"]])).toEqual([
      ["WARNING", ["05-other.conflist"]],
      ["WARNING", both],
      ["WARNING", both],
    ]);
  });

  test("goes without a kubeconfig where nothing says where the API server is, which is warned about", async () => {
    using node = new InstallNode();
    const warning = "no access to the Kubernetes API is written: nothing says where it is";
    expect((await node.run()).messages).toContain(warning);
    expect(node.content()[`net.d/${KUBECONFIG}`]).toBeUndefined();
    expect((await node.run({ env: access() })).messages).not.toContain(warning);
    expect(node.content()[`net.d/${KUBECONFIG}`]).toBeDefined();
  });

  test("looks for etcd on the node where nothing says where it is, which is warned about", async () => {
    using node = new InstallNode();
    const warning = "the plugin will look for etcd on the node itself: nothing says where it is";
    expect((await node.run()).messages).toContain(warning);
    expect((await node.run({ env: { ETCD_ENDPOINTS: "http://192.0.2.1:2379" } })).messages).not.toContain(warning);
    expect((await node.run({ env: { ETCD_DISCOVERY_SRV: "example.org" } })).messages).not.toContain(warning);
    expect((await node.run({ env: { ...access(), DATASTORE_TYPE: "kubernetes" } })).messages).not.toContain(warning);
  });

  test("names endpoints without TLS beside certificates, which is warned about", async () => {
    using node = new InstallNode();
    const env = { ETCD_ENDPOINTS: "https://a:2379,http://b:2379" };
    const isWarning = ({ msg }: { readonly msg: string }): boolean => msg.startsWith("etcd is spoken to without TLS");
    expect((await node.run({ env })).log.filter(isWarning)).toEqual([]);
    writeFileSync(join(node.assetsDir, "etcd-ca"), "etcd-ca");
    const found = (await node.run({ env })).log.filter(isWarning);
    expect(found.map(({ level, fields }) => [level, fields])).toEqual([
      ["WARNING", { endpoints: ["http://b:2379"], want: '"https://" in ETCD_ENDPOINTS' }],
    ]);
    expect((await node.run({ env: { ETCD_ENDPOINTS: "https://a:2379" } })).log.filter(isWarning)).toEqual([]);
  });

  test("does not say what other roles read from the environment: that is warned about, without the values", async () => {
    using node = new InstallNode();
    const { log } = await node.run({ env: { ETCD_USERNAME: "root", ETCD_PASSWORD: "s3cret" } });
    expect(log.find(({ msg }) => msg.startsWith("variables have"))?.fields["names"]).toEqual(["ETCD_USERNAME", "ETCD_PASSWORD"]);
    expect(JSON.stringify([log, node.content()])).not.toContain("s3cret");
  });

  test("of a single plugin is written under a name from which runtimes read one", async () => {
    using node = new InstallNode();
    const env = { CNI_CONF_NAME: "10-netplug.conf", CNI_NETWORK_CONFIG: '{"name":"a","type":"netplug"}' };
    const { status, log } = await node.run({ env });
    expect([status, log.filter(({ msg }) => msg.startsWith("no runtime reads"))]).toEqual([0, []]);
    expect(node.read("net.d/10-netplug.conf")).toBe('{"name":"a","type":"netplug"}');
  });

  test("of a name that no runtime reads is warned about", async () => {
    using node = new InstallNode();
    const { log } = await node.run({ env: { CNI_CONF_NAME: "10-netplug.conf.off" } });
    expect(log.find(({ msg }) => msg.startsWith("no runtime reads"))?.fields).toEqual({ name: "10-netplug.conf.off" });
  });
});

describe("etcd's certificates", () => {
  const NAMES = ["etcd-ca", "etcd-cert", "etcd-key"];

  test("are copied for root only, are named in the config, and go when they are gone", async () => {
    using node = new InstallNode();
    for (const name of ["etcd-ca", "etcd-cert", "etcd-key", ".hidden", "other"]) writeFileSync(join(node.assetsDir, name), name);
    await node.run();
    const copies = Object.entries(node.content()).filter(([path]) => path.startsWith("net.d/netplug-tls/"));
    expect(copies.map(([path, { text, mode }]) => [path, text, mode])).toEqual(
      ["etcd-ca", "etcd-cert", "etcd-key"].map((name) => [`net.d/netplug-tls/${name}`, name, 0o600]),
    );
    expect(JSON.parse(node.read(`net.d/${CONFLIST}`))).toMatchObject({
      plugins: [{ etcd_key_file: "/etc/cni/net.d/netplug-tls/etcd-key" }, {}],
    });
    rmSync(join(node.assetsDir, "etcd-cert"));
    expect(errorOf(await node.run())).toBe(`read etcd certificates in "${node.assetsDir}": want "etcd-cert" and "etcd-key" together`);
    rmSync(join(node.assetsDir, "etcd-key"));
    await node.run();
    expect(Object.keys(node.content()).filter((path) => path.includes("tls"))).toEqual(["net.d/netplug-tls/etcd-ca"]);
  });

  test("are of one version where kubelet changes the Secret while they are read", async () => {
    using node = new InstallNode();
    const inAssets = (name: string): string => join(node.assetsDir, name);
    const project = (version: string): void => {
      mkdirSync(inAssets(`..${version}`));
      for (const name of NAMES) writeFileSync(inAssets(`..${version}/${name}`), version);
      symlinkSync(`..${version}`, inAssets("..data_tmp"));
      renameSync(inAssets("..data_tmp"), inAssets("..data"));
    };
    project("v1");
    for (const name of NAMES) symlinkSync(`..data/${name}`, inAssets(name));
    let isChanged = false;
    const readText = (path: string): string | undefined => {
      const text = durableFiles.readText(path);
      if (!isChanged && path.endsWith("/etcd-key")) {
        isChanged = true;
        project("v2");
        rmSync(inAssets("..v1"), { recursive: true });
      }
      return text;
    };
    await node.run({ host: { disk: filesWith({ readText }) } });
    expect(NAMES.map((name) => node.read(`net.d/netplug-tls/${name}`))).toEqual(["v2", "v2", "v2"]);
  });
});
