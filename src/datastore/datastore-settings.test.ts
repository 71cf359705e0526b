import { describe, expect, test } from "bun:test";
import { datastoreSettingsOfEnvironment, mergeDatastoreSettings, settingsOfEtcd, toDatastoreConfig } from "./datastore-settings.ts";

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
    expect(toDatastoreConfig({ etcdEndpoints: "a, https://b:1/" })).toEqual({
      type: "etcdv3",
      etcd: { endpoints: ["http://a:2379", "https://b:1"] },
    });
  });

  test.each([
    [{ datastoreType: "sqlite" }, 'got type "sqlite", want "etcdv3" or "kubernetes"'],
    [{ etcdEndpoints: "a", etcdDiscoverySrv: "d" }, "want only one of them"],
    [{ etcdUsername: "u" }, "want etcd_username and etcd_password together"],
    [{ etcdCertFile: "c" }, "want etcd_cert_file and etcd_key_file together"],
  ])("refuses %j", (settings, message) => {
    expect(() => toDatastoreConfig(settings)).toThrow(message);
  });
});
