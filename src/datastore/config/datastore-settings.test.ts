import { describe, expect, test } from "bun:test";
import {
  datastoreSettingsOfEnvironment,
  mergeDatastoreSettings,
  parseEndpoints,
  settingsOfEtcd,
  toDatastoreConfig,
} from "./datastore-settings.ts";

describe("datastoreSettingsOfEnvironment()", () => {
  test("lets the variable with the prefix win, and takes an empty one for absent", () => {
    const env = {
      ETCD_ENDPOINTS: "http://a:1",
      NETPLUG_ETCD_ENDPOINTS: "http://b:1",
      ETCD_USERNAME: "u",
      NETPLUG_ETCD_USERNAME: "",
      ETCD_PASSWORD: "",
    };
    expect(datastoreSettingsOfEnvironment(env)).toEqual({ etcdEndpoints: "http://b:1", etcdUsername: "u" });
  });
});

describe("mergeDatastoreSettings()", () => {
  test("takes each value from the first source that has it", () => {
    expect(mergeDatastoreSettings({ etcdKeyFile: "k" }, { etcdKeyFile: "other", etcdEndpoints: "e" })).toEqual({
      etcdKeyFile: "k",
      etcdEndpoints: "e",
    });
  });

  test("hides a later way of finding etcd behind an earlier one", () => {
    expect(mergeDatastoreSettings({ etcdEndpoints: "e" }, { etcdDiscoverySrv: "d" })).toEqual({ etcdEndpoints: "e" });
    expect(mergeDatastoreSettings({ etcdDiscoverySrv: "d" }, { etcdEndpoints: "e" })).toEqual({ etcdDiscoverySrv: "d" });
  });

  test("hides a later server, and a later token, behind an earlier kubeconfig", () => {
    const later = { kubeconfig: "/b", k8sAPIEndpoint: "https://b", k8sAPIToken: "t", k8sCAFile: "/ca", etcdKeyFile: "k" };
    expect(mergeDatastoreSettings({ kubeconfig: "/a" }, later)).toEqual({ kubeconfig: "/a", etcdKeyFile: "k" });
    const earlier = { kubeconfig: "/a", k8sAPIEndpoint: "https://a" };
    expect(mergeDatastoreSettings(earlier, later)).toEqual({ ...earlier, etcdKeyFile: "k" });
    expect(mergeDatastoreSettings({ k8sAPIEndpoint: "https://a" }, later)).toEqual({ ...later, k8sAPIEndpoint: "https://a" });
  });
});

test("settingsOfEtcd() is the way back of toDatastoreConfig()", () => {
  const settings = { etcdEndpoints: "https://a:1,https://b:1", etcdCACertFile: "/ca", etcdCertFile: "/c", etcdKeyFile: "/k" };
  for (const given of [{}, settings, { etcdDiscoverySrv: "d", etcdUsername: "u", etcdPassword: "p" }]) {
    const config = toDatastoreConfig(given);
    expect("etcd" in config && settingsOfEtcd(config.etcd)).toEqual(given);
  }
});

describe("toDatastoreConfig()", () => {
  test("is etcd without any setting", () => {
    expect(toDatastoreConfig({})).toEqual({ type: "etcdv3", etcd: { endpoints: [] } });
  });

  test("normalises endpoints", () => {
    expect(toDatastoreConfig({ etcdEndpoints: "http://a, https://b:1/" })).toEqual({
      type: "etcdv3",
      etcd: { endpoints: ["http://a:2379", "https://b:1"] },
    });
  });

  test.each([
    [{ datastoreType: "sqlite" }, 'got type "sqlite", want "etcdv3" or "kubernetes"'],
    [{ etcdEndpoints: "http://a", etcdDiscoverySrv: "d" }, "want only one of them"],
    [{ etcdUsername: "u" }, "want etcd_username and etcd_password together"],
    [{ etcdCertFile: "c" }, "want etcd_cert_file and etcd_key_file together"],
  ])("refuses %j", (settings, message) => {
    expect(() => toDatastoreConfig(settings)).toThrow(message);
  });
});

describe("parseEndpoints()", () => {
  test("does not count spaces and empty entries", () => {
    expect(parseEndpoints(" http://a:1 ,,http://b:2, ")).toEqual(["http://a:1", "http://b:2"]);
    expect(parseEndpoints(" , ")).toEqual([]);
  });

  test.each([
    ["http://10.0.0.1", "http://10.0.0.1:2379"],
    ["http://etcd.example:4001", "http://etcd.example:4001"],
    ["http://1.etcd2:4001", "http://1.etcd2:4001"],
    ["http://10.0.0.1.example", "http://10.0.0.1.example:2379"],
    ["https://etcd.example/", "https://etcd.example:2379"],
    ["https://etcd.example:443", "https://etcd.example:443"],
    ["http://etcd.example:80/", "http://etcd.example:80"],
    ["http://[fd00::1]", "http://[fd00::1]:2379"],
    ["https://[fd00::1]:4001", "https://[fd00::1]:4001"],
    ["HTTPS://ETCD.example", "https://etcd.example:2379"],
  ])("makes of %p %p", (text, endpoint) => {
    expect(parseEndpoints(text)).toEqual([endpoint]);
    expect(parseEndpoints(endpoint)).toEqual([endpoint]);
  });

  test.each([
    "host",
    "host:2379",
    "[fd00::1]:2379",
    "http:host:2379",
    "http://host/path",
    "http://host?x=1",
    "http://host#x",
    "http://host?",
    "http://host:80?",
    "http://host:80#",
    "https://host:443?",
    "http://host:80\\",
    "http://host:8\n0",
    "unix:///run/etcd.sock",
    "http://host:99999",
    "http://",
    "a b",
    "http://a\nb:1x",
    // To `URL`, 8.0.0.1, 127.0.0.1, 127.0.0.1, 10.0.0.8, 10.0.0.1 and 0.0.0.0.
    "http://010.0.0.1:2379",
    "http://127.1",
    "http://0x7f.0.0.1",
    "http://167772168",
    "http://10.0.0.0x1.",
    "http://0x",
  ])("refuses %p, and shows it", (text) => {
    expect(() => parseEndpoints(text)).toThrow(
      `parse etcd endpoint ${JSON.stringify(text)}: want http://host:port or https://host:port, IPv4 without leading zeros, IPv6 in brackets, joined by commas`,
    );
  });

  test.each(["http://user:s3cret@host", "user:s3cret@host:2379", "http://user:s3#cret@host"])(
    "refuses %p without showing the password",
    (text) => {
      expect(() => parseEndpoints(text)).toThrow("got one with user or password, want them in etcd_username and etcd_password");
      expect(() => parseEndpoints(text)).not.toThrow("s3");
    },
  );
});
