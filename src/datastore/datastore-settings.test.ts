import { describe, expect, test } from "bun:test";
import { datastoreSettingsOfEnvironment, mergeDatastoreSettings, toDatastoreConfig } from "./datastore-settings.ts";

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
