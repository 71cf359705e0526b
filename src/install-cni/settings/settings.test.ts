import { describe, expect, test } from "bun:test";
import { parseCommandLine } from "./command-line.ts";
import { readSettings, type Settings } from "./settings.ts";

function settingsOf(env: Readonly<Record<string, string>> = {}, ...args: readonly string[]): Settings {
  const command = parseCommandLine(args);
  if (!("options" in command)) throw new Error("no options");
  return readSettings(command.options, env);
}

const POD = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

describe("command line", () => {
  test.each<[args: readonly string[], binDir: string | undefined, confDir: string | undefined, isOnce: boolean]>([
    [[], undefined, undefined, false],
    [["--once"], undefined, undefined, true],
    [["--bin-dir", "/b", "--conf-dir=/c", "--once"], "/b", "/c", true],
    [["--bin-dir=/a=b", "--bin-dir", "/last"], "/last", undefined, false],
  ])("%j", (args, binDir, confDir, isOnce) => expect(parseCommandLine(args)).toEqual({ options: { binDir, confDir, isOnce } }));

  test.each<[args: readonly string[]]>([[["--help"]], [["-h"]], [["--once", "--help"]]])("%j asks for help", (args) => {
    expect(parseCommandLine(args)).toEqual({ isHelpWanted: true });
  });

  test("--ready asks whether another one is ready, and says nothing of this one", () => {
    expect(parseCommandLine(["--ready"])).toEqual({ isReadinessAsked: true });
  });

  test.each<[args: readonly string[], fault: string]>([
    [["--bin-dir"], "--bin-dir: got nothing, want a folder"],
    [["--conf-dir="], "--conf-dir: got nothing, want a folder"],
    [["--bin-dir", "--once"], '--bin-dir: got "--once", want a folder'],
    [["--once=true"], 'got "--once=true", want --bin-dir, --conf-dir or --once, or --ready alone'],
    [["now"], 'got "now", want --bin-dir, --conf-dir or --once, or --ready alone'],
    [["--once", "--ready"], 'got "--ready", want --bin-dir, --conf-dir or --once, or --ready alone'],
  ])("%j is refused", (args, fault) => expect(parseCommandLine(args)).toEqual({ fault }));
});

describe("environment", () => {
  test("with nothing in it everything has its default", () => {
    expect(settingsOf()).toEqual({
      binDir: undefined,
      confDir: undefined,
      hostConfDir: "/etc/cni/net.d",
      isOnce: false,
      removesOnStop: false,
      stateFile: undefined,
      tokenRefreshMs: Infinity,
      confName: "10-netplug.conflist",
      oldConfName: undefined,
      template: undefined,
      skippedBinaries: [],
      updatesBinaries: true,
      tlsAssetsDir: "/netplug-secrets",
      mtu: 0,
      requiresMtuFile: false,
      log: { level: "INFO", path: "/var/log/netplug/cni/cni.log", maxSize: 100, maxAge: 30, maxCount: 10 },
      datastoreType: "etcdv3",
      etcdEndpoints: [],
      etcdDiscoverySrv: undefined,
      nodeName: undefined,
      service: { protocol: "https", host: undefined, port: undefined },
      kube: undefined,
      skipsTlsVerify: false,
      account: "netplug-cni-plugin",
      unusedVariables: [],
    });
  });

  test.each<[env: Readonly<Record<string, string>>, expected: object]>([
    [{ SLEEP: "false" }, { isOnce: true }],
    [{ SLEEP: "TRUE" }, { isOnce: false }],
    [{ SLEEP: "" }, { isOnce: false }],
    [{ CNI_OLD_CONF_NAME: "10-netplug.conflist" }, { confName: "10-netplug.conflist", oldConfName: "10-netplug.conflist" }],
    [
      { CNI_CONF_NAME: "05-a.conflist", CNI_OLD_CONF_NAME: "10-b.conf" },
      { confName: "05-a.conflist", oldConfName: "10-b.conf" },
    ],
    [{ STATE_FILE: "/run/netplug/state" }, { stateFile: "/run/netplug/state" }],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "90" }, { tokenRefreshMs: 90_000 }],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "90s" }, { tokenRefreshMs: 90_000 }],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "5m" }, { tokenRefreshMs: 300_000 }],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "12h" }, { tokenRefreshMs: 43_200_000 }],
    [{ CNI_NET_DIR: "/etc/cni/multus/net.d/" }, { hostConfDir: "/etc/cni/multus/net.d" }],
    [{ CNI_NETWORK_CONFIG: "{}" }, { template: { text: "{}" } }],
    [{ CNI_NETWORK_CONFIG: "{}", CNI_NETWORK_CONFIG_FILE: "/t" }, { template: { path: "/t" } }],
    [{ CNI_CONF_NAME: "10-a.conf", CNI_NETWORK_CONFIG: "{}" }, { confName: "10-a.conf" }],
    [{ CNI_CONF_NAME: "10-a.json", CNI_NETWORK_CONFIG_FILE: "/t" }, { confName: "10-a.json" }],
    [{ SKIP_CNI_BINARIES: " netplug-ipam,, bandwidth" }, { skippedBinaries: ["netplug-ipam", "bandwidth"] }],
    [{ CNI_MTU: "0" }, { mtu: 0 }],
    [{ CNI_NET_DIR: "/" }, { hostConfDir: "/" }],
    [{ CNI_MTU: "68" }, { mtu: 68 }],
    [{ CNI_MTU: "65535" }, { mtu: 65_535 }],
    [{ LOG_LEVEL: "warning" }, { log: { level: "WARNING", path: "/var/log/netplug/cni/cni.log", maxSize: 100, maxAge: 30, maxCount: 10 } }],
    [{ DATASTORE_TYPE: "kubernetes", NETPLUG_DATASTORE_TYPE: "etcdv3" }, { datastoreType: "etcdv3" }],
    [{ ETCD_ENDPOINTS: "https://a, http://b:2380/" }, { etcdEndpoints: ["https://a:2379", "http://b:2380"] }],
    [{ DATASTORE_TYPE: "kubernetes", ETCD_ENDPOINTS: "http://a", ETCD_DISCOVERY_SRV: "b" }, { datastoreType: "kubernetes" }],
    [{ NETPLUG_CNI_SERVICE_ACCOUNT: "other" }, { account: "other" }],
    [{ ETCD_KEY_FILE: "/k", NETPLUG_ETCD_PASSWORD: "p" }, { unusedVariables: ["ETCD_KEY_FILE", "NETPLUG_ETCD_PASSWORD"] }],
  ])("%j", (env, expected) => expect(settingsOf(env)).toMatchObject(expected));

  test.each<[env: Readonly<Record<string, string>>, kube: object | undefined]>([
    [POD, { apiRoot: "https://10.96.0.1:443" }],
    [{ ...POD, KUBERNETES_SERVICE_HOST: "fd00::1" }, { apiRoot: "https://[fd00::1]:443" }],
    [{ ...POD, KUBERNETES_SERVICE_PROTOCOL: "http" }, { apiRoot: "http://10.96.0.1:443" }],
    [{ ...POD, K8S_API_ENDPOINT: "https://a" }, { apiRoot: "https://a" }],
    [{ ...POD, KUBECONFIG: "/k" }, { kubeconfig: "/k" }],
    [{ ...POD, KUBERNETES_SERVICE_HOST: "api_server.local" }, { apiRoot: "https://api_server.local:443" }],
    [{ ...POD, KUBERNETES_SERVICE_HOST: "https://api/", KUBECONFIG: "/k" }, { kubeconfig: "/k" }],
    [
      { KUBECONFIG: "/k", NETPLUG_K8S_API_ENDPOINT: "https://a" },
      { kubeconfig: "/k", apiRoot: "https://a" },
    ],
    [{ K8S_API_TOKEN: "t" }, undefined],
  ])("the API server with %j", (env, kube) => {
    const { kube: found } = settingsOf(env);
    // The token itself is never shown by a failed comparison.
    expect(found === undefined ? undefined : JSON.parse(JSON.stringify({ ...found, token: undefined, names: undefined }))).toEqual(kube);
  });

  test.each<[env: Readonly<Record<string, string>>, names: object]>([
    [POD, { apiRoot: "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT" }],
    [
      { ...POD, NETPLUG_K8S_API_ENDPOINT: "https://a", K8S_API_TOKEN: "t", K8S_CA_FILE: "/c" },
      { apiRoot: "NETPLUG_K8S_API_ENDPOINT", token: "K8S_API_TOKEN", caFile: "K8S_CA_FILE" },
    ],
  ])("what messages call the API server with %j", (env, names) => expect(settingsOf(env).kube?.names).toEqual(names));

  test.each<[env: Readonly<Record<string, string>>, message: string]>([
    [{ SLEEP: "never" }, 'read SLEEP: got "never", want "true" or "false"'],
    [{ CNI_CONF_NAME: "../10.conflist" }, 'read CNI_CONF_NAME: got "../10.conflist", want the name of a file, without a folder'],
    [
      { CNI_CONF_NAME: "10-netplug.conf" },
      'read CNI_CONF_NAME: got "10-netplug.conf", want a name that ends in .conflist: it is a list of plugins',
    ],
    [{ CNI_CONF_NAME: "a.conflist.json" }, 'read CNI_CONF_NAME: got "a.conflist.json", want a name that ends in .conflist'],
    [{ CNI_CONF_NAME: "10-\n.conflist" }, 'read CNI_CONF_NAME: got "10-\\n.conflist", want the name of a file, without a folder'],
    [{ CNI_OLD_CONF_NAME: "\t" }, 'read CNI_OLD_CONF_NAME: got "\\t", want the name of a file'],
    [{ CNI_CONF_NAME: `${"ü".repeat(116)}.conflist` }, "want the name of a file, of at most 240 bytes"],
    [{ ...POD, KUBERNETES_SERVICE_HOST: "api/" }, 'read KUBERNETES_SERVICE_HOST: got "api/", want a host name or an IP address'],
    [{ ...POD, KUBERNETES_SERVICE_PORT: "443/x" }, 'read KUBERNETES_SERVICE_PORT: got "443/x", want a port number'],
    [{ CNI_OLD_CONF_NAME: ".." }, 'read CNI_OLD_CONF_NAME: got "..", want the name of a file, without a folder'],
    [{ CNI_CONF_NAME: "netplug-kubeconfig" }, "want a name that is not taken by another file of ours"],
    [{ CNI_OLD_CONF_NAME: "netplug-tls" }, "want a name that is not taken by another file of ours"],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "0s" }, 'read CNI_TOKEN_REFRESH_INTERVAL: got "0s", want a time such as "90s", "5m" or "12h"'],
    [{ CNI_TOKEN_REFRESH_INTERVAL: "1d" }, 'got "1d"'],
    [{ CNI_NET_DIR: "net.d" }, 'read CNI_NET_DIR: got "net.d", want an absolute path'],
    [{ LOG_FILE_PATH: "/a\nb" }, 'read LOG_FILE_PATH: got "/a\\nb", want an absolute path'],
    [{ CNI_MTU: "67" }, 'read CNI_MTU: got "67", want 68..65535, or 0 to let the plugin find out'],
    [{ CNI_MTU: "9e3" }, 'read CNI_MTU: got "9e3", want a whole number 0..65535'],
    [{ CNI_MTU: "-1" }, 'read CNI_MTU: got "-1", want a whole number 0..65535'],
    [
      { KUBERNETES_NODE_NAME: "rack/1" },
      'read KUBERNETES_NODE_NAME: got "rack/1", want letters, digits, ".", "_" and "-", a letter or digit first and last, at most 253',
    ],
    [{ LOG_LEVEL: "trace" }, 'read LOG_LEVEL: got "trace", want "ERROR", "WARNING", "INFO" or "DEBUG"'],
    [{ DATASTORE_TYPE: "etcd" }, 'read DATASTORE_TYPE: got "etcd", want "etcdv3" or "kubernetes"'],
    [{ NETPLUG_DATASTORE_TYPE: "etcd" }, 'read NETPLUG_DATASTORE_TYPE: got "etcd"'],
    [{ ETCD_ENDPOINTS: "http://a", ETCD_DISCOVERY_SRV: "b" }, "got ETCD_ENDPOINTS and ETCD_DISCOVERY_SRV, want only one of them"],
    [
      { NETPLUG_ETCD_ENDPOINTS: "http://a", ETCD_DISCOVERY_SRV: "b" },
      "got NETPLUG_ETCD_ENDPOINTS and ETCD_DISCOVERY_SRV, want only one of them",
    ],
    [{ ETCD_ENDPOINTS: "ftp://a" }, 'parse ETCD_ENDPOINTS "ftp://a"'],
    [{ ETCD_DISCOVERY_SRV: "http://a" }, 'read ETCD_DISCOVERY_SRV: got "http://a", want a domain name'],
    [{ NETPLUG_ETCD_ENDPOINTS: "http://me:secret@a" }, "parse NETPLUG_ETCD_ENDPOINTS: got one with user or password"],
    [{ KUBERNETES_SERVICE_HOST: "a" }, "got one of them, want both or none"],
    [{ ...POD, KUBERNETES_SERVICE_PROTOCOL: "ftp" }, 'read KUBERNETES_SERVICE_PROTOCOL: got "ftp", want "https" or "http"'],
  ])("%j is refused, naming the variable", (env, message) => expect(() => settingsOf(env)).toThrow(message));

  test("SLEEP is refused beside --once, too, which needs it not", () =>
    expect(() => readSettings({ binDir: undefined, confDir: undefined, isOnce: true }, { SLEEP: "never" })).toThrow(
      'read SLEEP: got "never"',
    ));
});
