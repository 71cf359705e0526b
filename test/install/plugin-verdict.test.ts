/** What `install-cni` lets the plugin say of a network config, before it is put in place. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeInstallerFolders } from "./support/installer-folders.ts";
import { run } from "./support/installer-process.ts";

let folder: string;
let bin: string;
let conf: string;
beforeEach(() => void ({ folder, bin, conf } = makeInstallerFolders()));
afterEach(() => rmSync(folder, { recursive: true }));

const places = (): readonly string[] => ["--bin-dir", bin, "--conf-dir", conf];

describe("a network config for which the plugin would refuse every pod", () => {
  const NETPLUG = { type: "netplug", ipam: { type: "netplug-ipam" } };
  const toConfig = (entry: object, cniVersion = "1.0.0"): string => JSON.stringify({ name: "pods", cniVersion, plugins: [entry] });
  const conflist = (): string => join(conf, "10-netplug.conflist");

  test.each<[what: string, config: string, message: string]>([
    ["a wrong value", toConfig({ ...NETPLUG, mtu: -1 }), 'read "mtu": got -1, want a whole number 68..65535'],
    ["a wrong path of the log", toConfig({ ...NETPLUG, log_file_path: "cni.log" }), 'read "log_file_path": got "cni.log"'],
    ["nobody who gives addresses", toConfig({ type: "netplug" }), 'read "ipam.type": got nothing'],
    ["keys that exclude each other", toConfig({ ...NETPLUG, ipam: { type: "host-local", ipv4_pools: ["a"] } }), 'use "ipam.ipv4_pools"'],
    ["a version that there is not", toConfig(NETPLUG, "1.2.0"), 'read "cniVersion": got "1.2.0"'],
  ])("is refused before anything is changed: %s", async (_what, config, message) => {
    writeFileSync(conflist(), "of before");
    const { status, lines } = await run([...places(), "--once"], { CNI_NETWORK_CONFIG: config });
    const said = lines.at(-1)?.["msg"] ?? "";
    expect([status, said]).toEqual([1, expect.stringContaining(message)]);
    expect(said).toStartWith("check CNI_NETWORK_CONFIG: netplug would refuse every pod: ");
    expect([readFileSync(conflist(), "utf8"), readdirSync(bin)]).toEqual(["of before", []]);
  });

  test("is refused with what the plugin says underneath, such as the versions that there are", async () => {
    const { lines } = await run([...places(), "--once"], { CNI_NETWORK_CONFIG: toConfig(NETPLUG, "1.2.0") });
    expect(lines.at(-1)).toMatchObject({
      code: 7,
      details: 'configured: "1.2.0"; supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0',
    });
  });

  test.each<[what: string, keys: object, message: string]>([
    ["a wrong value", { ipam: { type: "netplug-ipam", assign_ipv6: true } }, 'read "ipam.assign_ipv6": got true'],
    [
      "keys that exclude each other",
      { etcd_endpoints: "http://a:1", etcd_discovery_srv: "b" },
      "choose etcd endpoints: got etcd_endpoints and etcd_discovery_srv",
    ],
  ])("is refused under another main plugin, too: %s", async (_what, keys, message) => {
    const config = toConfig({ type: "ptp", ipam: { type: "netplug-ipam" }, ...keys });
    const { status, lines } = await run([...places(), "--once"], { CNI_NETWORK_CONFIG: config });
    const said = lines.at(-1)?.["msg"] ?? "";
    expect([status, said]).toEqual([1, expect.stringContaining(message)]);
    expect(said).toStartWith("check CNI_NETWORK_CONFIG: netplug-ipam would refuse every pod: ");
    expect([readdirSync(conf), readdirSync(bin)]).toEqual([[], []]);
    // Of another IPAM plugin under another main plugin nothing is ours to say.
    const others = toConfig({ type: "ptp", ...keys, ipam: { type: "host-local", assign_ipv6: true } });
    expect((await run([...places(), "--once"], { CNI_NETWORK_CONFIG: others })).status).toBe(0);
  });

  test("is none because of another main plugin's own keys, and nobody is asked who could give an address", async () => {
    const config = toConfig({ type: "ptp", mtu: 0, ipMasq: true, hairpinMode: "x", ipam: { type: "netplug-ipam" } });
    const answer = '{"code": 7, "msg": "no"}';
    writeFileSync(join(bin, "netplug-ipam"), `#!/bin/sh\ntouch ${folder}/asked\necho '${answer}'\nexit 1\n`, { mode: 0o755 });
    for (const env of [{ SKIP_CNI_BINARIES: "netplug-ipam" }, {}])
      expect((await run([...places(), "--once"], { ...env, CNI_NETWORK_CONFIG: config })).status).toBe(0);
    expect(existsSync(join(folder, "asked"))).toBe(false);
  });

  test.each<[what: string, entry: object]>([
    ["a datastore and files that cannot be reached from here", { etcd_endpoints: "https://192.0.2.1:2379", etcd_ca_cert_file: "/none" }],
    ["a kubeconfig that is not here", { datastore_type: "kubernetes", kubernetes: { kubeconfig: "/none" }, policy: { type: "k8s" } }],
    ["a password whose user the runtime's environment may name", { etcd_password: "s3cret" }],
    ["a name of the node that is in a file of the host", { nodename_file: "/dev/null/none" }],
    ["a file that says something else here than on the host", { nodename: "", nodename_file: "/proc/version" }],
    ["a file of the MTU that holds none here", { lib_dir: "/sys/class/net/lo" }],
    [
      "addresses that each container asks for itself",
      { ipam: { type: "netplug-ipam", assign_ipv4: "false" }, capabilities: { ips: true } },
    ],
  ])("is none because of %s", async (_what, keys) => {
    const log = join(folder, "cni.log");
    const config = toConfig({ ...NETPLUG, log_file_path: log, ...keys });
    const { status } = await run([...places(), "--once"], { CNI_NETWORK_CONFIG: config });
    expect([status, readFileSync(conflist(), "utf8"), existsSync(log)]).toEqual([0, config, false]);
  });

  test("is none because of a version that the runtime need not choose", async () => {
    const config = JSON.stringify({ name: "pods", cniVersion: "1.2.0", cniVersions: ["1.1.0", "1.2.0"], plugins: [NETPLUG] });
    expect((await run([...places(), "--once"], { CNI_NETWORK_CONFIG: config })).status).toBe(0);
  });

  test("is judged by the executable that pods will get, when that is somebody else's", async () => {
    const env = { CNI_NETWORK_CONFIG: toConfig({ ...NETPLUG, mtu: -1 }), SKIP_CNI_BINARIES: "netplug" };
    expect((await run([...places(), "--once"], env)).status).toBe(0);
    const theirs = (answer: string): void =>
      writeFileSync(join(bin, "netplug"), `#!/bin/sh\n[ "$CNI_COMMAND" = ADD ] && echo '${answer}'\nexit 1\n`, { mode: 0o755 });
    theirs('{"code": 8, "msg": "no such namespace"}');
    expect((await run([...places(), "--once"], env)).status).toBe(0);
    theirs('{"code": 7, "msg": "I know better"}');
    const kept = { ...env, SKIP_CNI_BINARIES: "", UPDATE_CNI_BINARIES: "false" };
    for (const leaving of [env, kept]) {
      const { status, lines } = await run([...places(), "--once"], leaving);
      expect([status, lines.at(-1)?.["msg"]]).toEqual([1, expect.stringContaining("every pod: I know better")]);
    }
    expect((await run([...places(), "--once"], { ...kept, CNI_NETWORK_CONFIG: toConfig({ type: "other" }) })).status).toBe(0);
  });
});
