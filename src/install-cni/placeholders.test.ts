import { describe, expect, test } from "bun:test";
import { toPlaceholders } from "./placeholders.ts";
import { readSettings } from "./settings.ts";
import type { TlsAssets } from "./tls-assets.ts";

const OPTIONS = { binDir: undefined, confDir: undefined, isOnce: false };

describe("placeholders", () => {
  const placeholdersOf = (env: Readonly<Record<string, string>>, assets: TlsAssets = {}): Readonly<Record<string, string>> =>
    toPlaceholders(readSettings(OPTIONS, env), { assets, kubeconfigPath: "/k" }, () => "Host-A");

  test("have the defaults where nothing is set", () => {
    expect(placeholdersOf({})).toEqual({
      CNI_CONF_NAME: "10-netplug.conflist",
      CNI_MTU: "0",
      CNI_NET_DIR: "/etc/cni/net.d",
      CNI_OLD_CONF_NAME: "10-netplug.conflist",
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
      REQUIRE_MTU_FILE: "false",
      SKIP_TLS_VERIFY: "false",
      TLS_ASSETS_DIR: "/netplug-secrets",
    });
  });

  test("name etcd's files only where they are", () => {
    expect(placeholdersOf({ CNI_NET_DIR: "/n" }, { caCert: "x" })).toMatchObject({
      ETCD_CA_CERT_FILE: "/n/netplug-tls/etcd-ca",
      ETCD_CERT_FILE: "",
      ETCD_KEY_FILE: "",
    });
  });
});
