/** What we write is read by the plugin's own parser: no warning, no error, and the values that were asked for. */

import { describe, expect, test } from "bun:test";
import { parseNetworkConfig } from "../../cni/config/parse-network-config.ts";
import { readSettings } from "../settings/settings.ts";
import type { TlsAssets } from "../tls-assets.ts";
import { toConflist } from "./conflist.ts";

const OPTIONS = { binDir: undefined, confDir: undefined, isOnce: false };

interface Conflist {
  readonly name: string;
  readonly cniVersion: string;
  readonly plugins: readonly Readonly<Record<string, unknown>>[];
}

function conflistOf(env: Readonly<Record<string, string>>, assets: TlsAssets = {}, kubeconfigPath?: string): Conflist {
  const text = toConflist(readSettings(OPTIONS, env), { assets, kubeconfigPath, cniVersion: "1.1.0" });
  return JSON.parse(text) as Conflist;
}

/** As a runtime hands it to the plugin. */
function parse({ name, cniVersion, plugins }: Conflist): ReturnType<typeof parseNetworkConfig> {
  return parseNetworkConfig(JSON.stringify({ ...plugins[0], name, cniVersion }), "ADD");
}

describe("the conflist", () => {
  test("has the plugin with our addresses and policy, the spec's log defaults, and portmap behind it", () => {
    expect(conflistOf({ DATASTORE_TYPE: "kubernetes" }, {}, "/etc/cni/net.d/netplug-kubeconfig")).toEqual({
      name: "k8s-pod-network",
      cniVersion: "1.1.0",
      plugins: [
        {
          type: "netplug",
          log_level: "INFO",
          log_file_path: "/var/log/netplug/cni/cni.log",
          log_file_max_size: 100,
          log_file_max_age: 30,
          log_file_max_count: 10,
          datastore_type: "kubernetes",
          mtu: 0,
          ipam: { type: "netplug-ipam" },
          policy: { type: "k8s" },
          kubernetes: { kubeconfig: "/etc/cni/net.d/netplug-kubeconfig" },
        },
        { type: "portmap", snat: true, capabilities: { portMappings: true } },
      ],
    });
  });

  test.each<[env: Readonly<Record<string, string>>, assets: TlsAssets]>([
    [{ DATASTORE_TYPE: "kubernetes" }, {}],
    [{ ETCD_ENDPOINTS: "https://a:1,https://b:1" }, { caCert: "x", cert: "x", key: "x" }],
    [{ ETCD_DISCOVERY_SRV: "example.org" }, { caCert: "x" }],
    [{ CNI_MTU: "1450", REQUIRE_MTU_FILE: "true", KUBERNETES_NODE_NAME: "node-1", LOG_LEVEL: "debug", LOG_FILE_MAX_SIZE: "0" }, {}],
  ])("with %j is what the plugin reads without a warning", (env, assets) => {
    expect(parse(conflistOf(env, assets, "/k")).warnings).toEqual([]);
  });

  test("has the log's limits that the plugin takes by itself, where nobody sets them", () => {
    const conflist = conflistOf({});
    const log = Object.entries(conflist.plugins[0] ?? {}).filter(([key]) => key.startsWith("log_file_max_"));
    expect(log).toHaveLength(3);
    const bare = { ...conflist, plugins: [{ log_file_path: "/var/log/netplug/cni/cni.log" }] };
    expect(parse(conflist).config.log).toEqual(parse(bare).config.log);
  });

  test.each([
    ["LOG_FILE_MAX_SIZE", "log_file_max_size", 1_000_000],
    ["LOG_FILE_MAX_AGE", "log_file_max_age", 36_500],
    ["LOG_FILE_MAX_COUNT", "log_file_max_count", 100_000],
  ])("takes for %s as much as the plugin does for %s: %d", (variable, key, most) => {
    expect(parse(conflistOf({ [variable]: String(most) })).warnings).toEqual([]);
    expect(() => conflistOf({ [variable]: String(most + 1) })).toThrow(variable);
    const conflist = conflistOf({});
    const more = { ...conflist, plugins: [{ ...conflist.plugins[0], [key]: most + 1 }] };
    expect(() => parse(more)).toThrow(`read "${key}"`);
  });

  test.each<[env: Readonly<Record<string, string>>, assets: TlsAssets, keys: Readonly<Record<string, string>>]>([
    [{}, {}, {}],
    [{ ETCD_ENDPOINTS: "https://a:1,https://b:1" }, {}, { etcd_endpoints: "https://a:1,https://b:1" }],
    [
      { ETCD_DISCOVERY_SRV: "example.org" },
      { caCert: "x" },
      { etcd_discovery_srv: "example.org", etcd_ca_cert_file: "/etc/cni/net.d/netplug-tls/etcd-ca" },
    ],
    [{ DATASTORE_TYPE: "kubernetes", ETCD_ENDPOINTS: "https://a:1" }, { caCert: "x" }, {}],
  ])("with %j says of etcd what was set, and nothing else", (env, assets, keys) => {
    const plugin = conflistOf(env, assets).plugins[0] ?? {};
    expect(Object.fromEntries(Object.entries(plugin).filter(([key]) => key.startsWith("etcd_")))).toEqual(keys);
  });

  test("carries every setting to where the plugin looks for it", () => {
    const env = {
      CNI_NET_DIR: "/etc/cni/x",
      CNI_MTU: "1450",
      REQUIRE_MTU_FILE: "true",
      KUBERNETES_NODE_NAME: "node-1",
      LOG_LEVEL: "debug",
      LOG_FILE_PATH: "/var/log/x",
      LOG_FILE_MAX_SIZE: "5",
      LOG_FILE_MAX_AGE: "6",
      LOG_FILE_MAX_COUNT: "7",
      ETCD_ENDPOINTS: "https://a:1",
    };
    const { config } = parse(conflistOf(env, { caCert: "x", cert: "x", key: "x" }, "/k"));
    expect(config).toMatchObject({
      mtu: 1450,
      requireMtuFile: true,
      nodename: "node-1",
      log: { level: "DEBUG", filePath: "/var/log/x", maxSizeBytes: 5 * 1024 * 1024, maxAgeMs: 6 * 86_400_000, maxCount: 7 },
      etcd: {
        endpoints: ["https://a:1"],
        caCertFile: "/etc/cni/x/netplug-tls/etcd-ca",
        certFile: "/etc/cni/x/netplug-tls/etcd-cert",
        keyFile: "/etc/cni/x/netplug-tls/etcd-key",
      },
      kubernetes: { kubeconfig: "/k" },
    });
  });
});
