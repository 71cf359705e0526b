/** Every verb in every spec version that has it, called through the CNI project's own library. */

import { describe, expect, test } from "bun:test";
import { mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { readCachedAddresses } from "../../src/cli/host/cached-addresses.ts";
import type { HostAddress } from "../../src/cli/host/host-addresses.ts";
import { checkNetworkConfig } from "../../src/install-cni/network-config/template.ts";
import { toAddressText } from "../../src/lib/ip/address.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { CNI_VERSIONS, cniPluginsFolder, distFolder } from "../support/programs/cni.ts";
import type { CniJson, CniVersion } from "../support/programs/cni.ts";
import { runInProcess } from "../support/cli/in-process.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const driver = process.env["LIBCNI_DRIVER"];
const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

interface DriverReply {
  readonly result?: CniJson | null;
  readonly error?: { readonly code?: number; readonly msg: string };
}

/** Where a plugin is put that was not there at first. */
const latePlugins = (): string => join(node.folder, "late-plugins");

async function drive(verb: string, config: Json, options: Readonly<Record<string, string>>): Promise<DriverReply> {
  const flags = Object.entries(options).flatMap(([name, value]) => [`-${name}`, value]);
  const command = [
    driver ?? "",
    "-verb",
    verb,
    "-path",
    `${distFolder}:${cniPluginsFolder}:${latePlugins()}`,
    "-cache",
    join(node.folder, "cache"),
    ...flags,
  ];
  const child = Bun.spawn(command, { stdin: Buffer.from(JSON.stringify(config)), stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (stdout === "") throw new Error(`driver: ${stderr}`);
  return JSON.parse(stdout) as DriverReply;
}

/** A conflist with our plugin and, where it knows the version, the project's `tuning` behind it. */
function conflist(cniVersion: CniVersion, chained: readonly Json[] = []): Json {
  const { cniVersion: _version, name, ...plugin } = node.config({ ipam: { assign_ipv6: "true" } });
  return { cniVersion, name, plugins: [plugin, ...chained] };
}

const has = (version: CniVersion, since: CniVersion): boolean => CNI_VERSIONS.indexOf(version) >= CNI_VERSIONS.indexOf(since);

test.skipIf(driver === undefined).each(CNI_VERSIONS)("libcni drives version %s from ADD to DEL (needs go)", async (cniVersion) => {
  using pod = new TestNetns();
  const container = node.newContainerID();
  const attachment = { container, netns: pod.path };
  const config = conflist(cniVersion);

  expect(await drive("validate", config, {})).toMatchObject({ result: expect.anything() });
  const added = await drive("add", config, attachment);
  expect(added.error).toBeUndefined();
  expect(pod.addresses("eth0")).toHaveLength(2);
  if (has(cniVersion, "0.4.0")) expect(await drive("check", config, attachment)).toEqual({ result: null });
  if (has(cniVersion, "1.1.0")) {
    expect(await drive("status", config, {})).toEqual({ result: null });
    expect(await drive("gc", config, { valid: JSON.stringify([{ containerID: container, ifname: "eth0" }]) })).toEqual({ result: null });
    expect(pod.addresses("eth0")).toHaveLength(2);
    expect(await drive("gc", config, { valid: "[]" })).toEqual({ result: null });
    expect(pod.link("eth0")).toBeUndefined();
  }
  expect(await drive("del", config, attachment)).toEqual({ result: null });
  expect(pod.link("eth0")).toBeUndefined();
  expect(await node.addressesInUse()).toBe(0);
});

test.skipIf(driver === undefined)("a chained plugin gets our result, and its own is what comes out (needs go)", async () => {
  using pod = new TestNetns();
  const attachment = { container: node.newContainerID(), netns: pod.path };
  const dataDir = join(node.folder, "tuning");
  const config = conflist("1.0.0", [{ type: "tuning", mac: "02:00:5e:00:00:11", mtu: 1380, dataDir }]);
  const { result, error } = await drive("add", config, attachment);
  expect(error).toBeUndefined();
  expect(result?.interfaces?.find(({ name }) => name === "eth0")?.mac).toBe("02:00:5e:00:00:11");
  expect(pod.link("eth0")).toMatchObject({ address: "02:00:5e:00:00:11", mtu: 1380 });
  expect(await readdir(dataDir)).toHaveLength(1);
  expect(await drive("check", config, attachment)).toEqual({ result: null });
  expect(await drive("del", config, attachment)).toEqual({ result: null });
  expect(await node.addressesInUse()).toBe(0);
});

test.skipIf(driver === undefined)(
  "a chained plugin that the node lacks fails ADD and DEL, and the address stays until it is there, as docs/troubleshooting.md says (needs go)",
  async () => {
    using pod = new TestNetns();
    const attachment = { container: node.newContainerID(), netns: pod.path };
    const config = conflist("1.0.0", [{ type: "late-tuning", dataDir: join(node.folder, "late-tuning") }]);
    const notFound = { error: { msg: expect.stringContaining('failed to find plugin "late-tuning" in path [') } };
    expect(await drive("add", config, attachment)).toMatchObject(notFound);
    expect(await drive("del", config, attachment)).toMatchObject(notFound);
    expect(await node.addressesInUse()).toBe(2);
    await mkdir(latePlugins());
    await symlink(join(cniPluginsFolder, "tuning"), join(latePlugins(), "late-tuning"));
    expect(await drive("del", config, attachment)).toEqual({ result: null });
    expect([pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 0]);
  },
);

/**
 * Settings of each, where its work shows, and what shows there. Not `portmap`, which the tests of whole clusters run: the CHECK of Debian 12's
 * finds a fault in any pod of both families.
 */
const CHAINED_PLUGINS: readonly (readonly [string, Json, (pod: TestNetns, hostName: string) => string, string])[] = [
  [
    "bandwidth",
    { ingressRate: 8_000_000, ingressBurst: 800_000 },
    (_pod, hostName) => nodePlace.run(["tc", "qdisc", "show", "dev", hostName]).stdout,
    "qdisc tbf",
  ],
  ["firewall", { backend: "iptables" }, () => nodePlace.must(["iptables", "-S", "CNI-FORWARD"]), "-s 10.65.0."],
  ["tuning", { promisc: true }, (pod) => String(pod.link("eth0")?.flags), "PROMISC"],
];

test.skipIf(driver === undefined).each(CHAINED_PLUGINS)(
  "with %s behind netplug a pod is reached, CHECK finds no fault, and DEL leaves nothing (needs go)",
  async (type, settings, show, effect) => {
    using pod = new TestNetns();
    using peer = new TestNetns();
    const [container, peerID] = [node.newContainerID(), node.newContainerID()];
    const attachment = { container, netns: pod.path };
    await node.add(peer, { containerID: peerID, config: node.config({ ipam: { assign_ipv6: "true" } }) });
    const config = conflist("1.0.0", [{ type, dataDir: join(node.folder, type), ...settings }]);
    const { result, error } = await drive("add", config, attachment);
    expect(error).toBeUndefined();
    const hostName = result?.interfaces?.find(({ sandbox }) => sandbox === undefined)?.name ?? "";
    expect(show(pod, hostName)).toContain(effect);
    expect(await drive("check", config, attachment)).toEqual({ result: null });
    const address = pod.addresses("eth0").find((one) => one.startsWith("10.65."));
    // over IPv6 a node forwards only if all of its interfaces do
    expect(peer.run(["ping", "-c1", "-W2", address?.replace("/32", "") ?? ""])).toMatchObject({ status: 0 });
    await node.del({ containerID: peerID });
    expect(await drive("del", config, attachment)).toEqual({ result: null });
    expect(show(pod, hostName)).not.toContain(effect);
    expect(await node.addressesInUse()).toBe(0);
  },
);

test.skipIf(driver === undefined)("capability arguments reach the plugin (needs go)", async () => {
  using pod = new TestNetns();
  const attachment = { container: node.newContainerID(), netns: pod.path };
  const { plugins, ...list } = conflist("1.1.0") as { readonly plugins: readonly Json[] } & Json;
  const config = {
    ...list,
    plugins: plugins.map((plugin) => ({ ...plugin, ipam: { type: "netplug-ipam" }, capabilities: { ips: true, mac: true } })),
  };
  const capabilities = JSON.stringify({ ips: ["10.65.0.99/32"], mac: "02:00:5e:00:00:22" });
  expect((await drive("add", config, { ...attachment, capabilities })).error).toBeUndefined();
  expect(pod.addresses("eth0")).toEqual(["10.65.0.99/32"]);
  expect(pod.link("eth0")?.address).toBe("02:00:5e:00:00:22");
  expect(await drive("del", config, { ...attachment, capabilities })).toEqual({ result: null });
});

test.skipIf(driver === undefined)(
  "a GC of a runtime that has no container, as CRI-O calls it, removes what libcni knows nothing of (needs go)",
  async () => {
    using pod = new TestNetns();
    await node.add(pod, { containerID: node.newContainerID() });
    // a list of Go that nothing was added to
    expect(await drive("gc", conflist("1.1.0"), { valid: "null" })).toEqual({ result: null });
    expect([pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, 0]);
  },
);

/** Made by the CNI project's `bridge`, which never removes it. */
const BRIDGE = "npgt-libcni";

describe("what libcni keeps of an ADD", () => {
  const folder = (): string => join(node.folder, "cache", "results");
  const hostAddresses = (onUnread: (text: string) => void): readonly HostAddress[] => readCachedAddresses(linuxFiles, onUnread, [folder()]);
  const readCache = (): readonly string[] =>
    hostAddresses((text) => expect(text).toBe(""))
      .map(({ attachment, address, where }) => [
        toAddressText(address),
        attachment.network,
        attachment.containerID,
        attachment.ifName,
        where,
      ])
      .map((texts) => texts.join(" "));
  const chainOf = (type: string, cniVersion: CniVersion = "1.0.0"): Json => {
    const { cniVersion: _version, name, ...plugin } = node.config({ ipam: { assign_ipv6: "true" } });
    return { cniVersion, name, plugins: [{ ...plugin, type, bridge: BRIDGE }] };
  };
  const adopt = (): ReturnType<typeof runInProcess> =>
    runInProcess(["ipam", "adopt", `--node=${node.nodename}`], { env: node.datastore.env, hostAddresses });

  test.skipIf(driver === undefined).each([
    ["ptp", "1.0.0"],
    ["ptp", "0.2.0"],
    ["bridge", "1.0.0"],
  ] as const)(
    "tells netplugctl whose the addresses under %s are, in version %s, while they are there (needs go)",
    async (type, version) => {
      using pod = new TestNetns();
      using _bridge = { [Symbol.dispose]: () => void nodePlace.run(["ip", "link", "del", BRIDGE]) };
      const attachment = { container: node.newContainerID(), netns: pod.path };
      expect((await drive("add", chainOf(type, version), attachment)).error).toBeUndefined();
      const given = pod.addresses("eth0").map((address) => address.replace(/\/\d+$/, ""));
      const whose = `test-net ${attachment.container} eth0 ${pod.path}`;
      expect([given.length, readCache()]).toEqual([2, given.map((address) => `${address} ${whose}`)]);
      await node.etcd.ctl(["del", "--prefix", "/netplug/ipam/"]);
      expect((await adopt()).stdout).toEndWith("allocated 2 of 2 addresses in use on this host, 0 already were\n");
      expect(await node.addressesInUse()).toBe(2);
      // a result that is older than what is in the namespace now
      pod.must(["ip", "-4", "address", "flush", "dev", "eth0"]);
      expect(readCache()).toEqual([`${given.find((address) => address.includes(":"))} ${whose}`]);
      pod.must(["ip", "link", "set", "eth0", "name", "eth1"]);
      expect(readCache()).toEqual([]);
      pod.must(["ip", "link", "set", "eth1", "name", "eth0"]);
      expect(await drive("del", chainOf(type, version), attachment)).toEqual({ result: null });
      expect(readCache()).toEqual([]);
      expect(await node.addressesInUse()).toBe(0);
    },
  );

  test.skipIf(driver === undefined)("does not tell whose an interface is that two containers have had (needs go)", async () => {
    using pod = new TestNetns();
    const attachment = { container: node.newContainerID(), netns: pod.path };
    await drive("add", chainOf("ptp"), attachment);
    const [name = ""] = await readdir(folder());
    const older = join(folder(), name.replace(attachment.container, "older"));
    await Bun.write(older, (await Bun.file(join(folder(), name)).text()).replaceAll(attachment.container, "older"));
    await node.etcd.ctl(["del", "--prefix", "/netplug/ipam/"]);
    const { status, stdout } = await adopt();
    expect([status, await node.addressesInUse()]).toEqual([1, 0]);
    expect(stdout).toMatch(/may be in use by container "older" \(.*\), but nothing tells whether it still is\n/);
    await rm(older);
    expect((await adopt()).status).toBe(0);
    await drive("del", chainOf("ptp"), attachment);
    expect(await node.addressesInUse()).toBe(0);
  });

  test.skipIf(driver === undefined)("tells nothing where the namespace is gone, nor of netplug's own interfaces (needs go)", async () => {
    const gone = { container: node.newContainerID() };
    {
      using pod = new TestNetns();
      await drive("add", chainOf("ptp"), { ...gone, netns: pod.path });
      expect(readCache()).toHaveLength(2);
    }
    expect(readCache()).toEqual([]);
    await drive("del", chainOf("ptp"), gone);
    using pod = new TestNetns();
    const attachment = { container: node.newContainerID(), netns: pod.path };
    expect((await drive("add", conflist("1.0.0"), attachment)).error).toBeUndefined();
    expect(readCache()).toEqual([]);
    expect(await drive("del", conflist("1.0.0"), attachment)).toEqual({ result: null });
    expect(await node.addressesInUse()).toBe(0);
  });
});

/** Values of keys that libcni reads itself, in a list and in a plugin's part, of each type. */
const VALUES: readonly unknown[] = [
  null,
  true,
  1,
  "",
  "true",
  "1.1.0",
  "1.1.0.0",
  "v1",
  [],
  ["1.0.0"],
  ["x"],
  [1],
  [null],
  {},
  { type: "x" },
  { type: 1 },
];

test.skipIf(driver === undefined)(
  "an installer refuses keys of a network config just where libcni does (needs go)",
  async () => {
    const ofList = ["cniVersion", "cniVersions", "disableCheck", "disableGC", "loadOnlyInlinedPlugins"];
    const ofPlugin = ["cniVersion", "name", "capabilities", "ipam", "dns", "prevResult"];
    const inDns = ["nameservers", "domain", "search", "options"];
    const base = { name: "pods", cniVersion: "1.0.0" };
    const documents: readonly Json[] = VALUES.flatMap((value) => [
      ...ofList.map((key) => ({ ...base, plugins: [{ type: "netplug" }], [key]: value })),
      ...ofPlugin.map((key) => ({ ...base, plugins: [{ type: "netplug", [key]: value }] })),
      ...inDns.map((key) => ({ ...base, plugins: [{ type: "netplug", dns: { [key]: value } }] })),
      { ...base, plugins: [{ type: "netplug", capabilities: { ips: value } }] },
    ]);
    const isAccepted = (document: Json): boolean => {
      try {
        checkNetworkConfig(JSON.stringify(document), "10.conflist", "it");
        return true;
      } catch {
        return false;
      }
    };
    const differing: unknown[] = [];
    for (const document of documents) {
      const { error } = await drive("validate", document, {});
      if (isAccepted(document) !== (error === undefined)) differing.push([JSON.stringify(document), error?.msg]);
    }
    expect(differing).toEqual([]);
    expect([true, false].map((accepted) => documents.filter((one) => isAccepted(one) === accepted).length > 30)).toEqual([true, true]);
  },
  60_000,
);
