import { describe, expect, test } from "bun:test";
import { readSettings } from "../settings/settings.ts";
import type { TlsAssets } from "../tls-assets.ts";
import { toPlaceholders } from "./placeholders.ts";

const OPTIONS = { binDir: undefined, confDir: undefined, isOnce: false };

describe("placeholders", () => {
  const placeholdersOf = (env: Readonly<Record<string, string>>, assets: TlsAssets = {}): Readonly<Record<string, string>> =>
    toPlaceholders(readSettings(OPTIONS, env), { assets, kubeconfigPath: "/k" }, () => "Host-A");

  test("have the defaults where nothing is set", () => {
    expect(placeholdersOf({})).toEqual({
      CNI_CONF_NAME: "10-netplug.conflist",
      CNI_MTU: "0",
      CNI_NET_DIR: "/etc/cni/net.d",
      CNI_NETWORK_CONFIG: "",
      CNI_NETWORK_CONFIG_FILE: "",
      CNI_OLD_CONF_NAME: "",
      DATASTORE_TYPE: "etcdv3",
      ETCD_CA_CERT_FILE: "",
      ETCD_CERT_FILE: "",
      ETCD_DISCOVERY_SRV: "",
      ETCD_ENDPOINTS: "",
      ETCD_KEY_FILE: "",
      KUBECONFIG_FILEPATH: "/k",
      KUBERNETES_NODE_NAME: "host-a",
      KUBERNETES_SERVICE_HOST: "",
      KUBERNETES_SERVICE_PORT: "",
      KUBERNETES_SERVICE_PROTOCOL: "https",
      LOG_FILE_MAX_AGE: "30",
      LOG_FILE_MAX_COUNT: "10",
      LOG_FILE_MAX_SIZE: "100",
      LOG_FILE_PATH: "/var/log/netplug/cni/cni.log",
      LOG_LEVEL: "INFO",
      REMOVE_ON_STOP: "false",
      REQUIRE_MTU_FILE: "false",
      SKIP_CNI_BINARIES: "",
      SKIP_TLS_VERIFY: "false",
      SLEEP: "true",
      TLS_ASSETS_DIR: "/netplug-secrets",
      UPDATE_CNI_BINARIES: "true",
    });
  });

  test("have what is set, and every variable of the contract is one", () => {
    const env = {
      CNI_NET_DIR: "/etc/n",
      CNI_CONF_NAME: "05-a.conflist",
      CNI_OLD_CONF_NAME: "05-b.conf",
      CNI_NETWORK_CONFIG: '{"name": "a"}',
      SLEEP: "false",
      SKIP_CNI_BINARIES: "netplug,netplug-ipam",
      UPDATE_CNI_BINARIES: "false",
      TLS_ASSETS_DIR: "/tls",
      SKIP_TLS_VERIFY: "true",
      CNI_MTU: "1400",
      LOG_LEVEL: "DEBUG",
      LOG_FILE_PATH: "/var/log/a",
      DATASTORE_TYPE: "kubernetes",
      ETCD_ENDPOINTS: "https://a:1,https://b:2",
      ETCD_DISCOVERY_SRV: "example.org",
      KUBERNETES_NODE_NAME: "Node-1",
      KUBERNETES_SERVICE_HOST: "10.96.0.1",
      KUBERNETES_SERVICE_PORT: "443",
      KUBERNETES_SERVICE_PROTOCOL: "http",
      LOG_FILE_MAX_SIZE: "1",
      LOG_FILE_MAX_AGE: "2",
      LOG_FILE_MAX_COUNT: "3",
      REQUIRE_MTU_FILE: "true",
      REMOVE_ON_STOP: "true",
    };
    expect(placeholdersOf(env)).toMatchObject(env);
    expect(placeholdersOf({ CNI_NETWORK_CONFIG_FILE: "/t" })).toMatchObject({ CNI_NETWORK_CONFIG_FILE: "/t", CNI_NETWORK_CONFIG: "" });
    expect(placeholdersOf({ CNI_OLD_CONF_NAME: "10-netplug.conflist" })).toMatchObject({ CNI_OLD_CONF_NAME: "10-netplug.conflist" });
  });

  test("name etcd's files only where they are", () => {
    expect(placeholdersOf({ CNI_NET_DIR: "/n" }, { caCert: "x" })).toMatchObject({
      ETCD_CA_CERT_FILE: "/n/netplug-tls/etcd-ca",
      ETCD_CERT_FILE: "",
      ETCD_KEY_FILE: "",
    });
  });
});
