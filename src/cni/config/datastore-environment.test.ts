import { describe, expect, test } from "bun:test";
import { refuseUntilKubernetes, resolveDatastore } from "./datastore-environment.ts";
import { parseNetworkConfig } from "./parse-network-config.ts";

function resolve(keys: object, env: Record<string, string>): unknown {
  return resolveDatastore(parseNetworkConfig(JSON.stringify({ name: "pods", cniVersion: "1.0.0", ...keys }), "ADD").config, env);
}

describe("resolveDatastore()", () => {
  test.each<[what: string, keys: object, env: Record<string, string>, etcd: object]>([
    ["nothing is said", {}, {}, { endpoints: [] }],
    ["only the environment says something", {}, { ETCD_ENDPOINTS: "http://a:1, http://b:2" }, { endpoints: ["http://a:1", "http://b:2"] }],
    [
      "the variable with prefix wins",
      {},
      { ETCD_ENDPOINTS: "http://a:1", NETPLUG_ETCD_ENDPOINTS: "http://b:2" },
      { endpoints: ["http://b:2"] },
    ],
    ["the config wins", { etcd_endpoints: "http://c:3" }, { ETCD_ENDPOINTS: "http://a:1" }, { endpoints: ["http://c:3"] }],
    [
      "endpoints of the config hide SRV of the environment",
      { etcd_endpoints: "http://c:3" },
      { ETCD_DISCOVERY_SRV: "d" },
      { endpoints: ["http://c:3"] },
    ],
    [
      "SRV of the config hides endpoints of the environment",
      { etcd_discovery_srv: "d" },
      { ETCD_ENDPOINTS: "http://a:1" },
      { endpoints: [], discoverySrv: "d" },
    ],
    [
      "the deprecated form hides them too",
      { etcd_scheme: "https" },
      { ETCD_ENDPOINTS: "http://a:1", ETCD_DISCOVERY_SRV: "d" },
      { endpoints: ["https://127.0.0.1:2379"] },
    ],
    [
      "each other value comes from where it is",
      { etcd_username: "root" },
      { ETCD_PASSWORD: "p", ETCD_CA_CERT_FILE: "/ca" },
      { endpoints: [], username: "root", password: "p", caCertFile: "/ca" },
    ],
  ])("%s", (_, keys, env, etcd) => expect(resolve(keys, env)).toEqual({ type: "etcdv3", etcd }));

  test("the type comes from config, then environment", () => {
    expect(resolve({}, { DATASTORE_TYPE: "kubernetes" })).toMatchObject({ type: "kubernetes" });
    expect(resolve({ datastore_type: "etcdv3" }, { DATASTORE_TYPE: "kubernetes" })).toMatchObject({ type: "etcdv3" });
  });

  test.each<[keys: object, env: Record<string, string>]>([
    [{}, { DATASTORE_TYPE: "sqlite" }],
    [{}, { ETCD_ENDPOINTS: "http://a", ETCD_DISCOVERY_SRV: "d" }],
    [{}, { ETCD_KEY_FILE: "/k" }],
    [{ etcd_username: "root" }, {}],
  ])("%j with %j is code 7", (keys, env) => expect(() => resolve(keys, env)).toThrow(expect.objectContaining({ kind: "invalidConfig" })));
});

test("refuseUntilKubernetes() refuses that datastore, and lets etcd pass, with Kubernetes policy and without", () => {
  const refuse = (keys: object): void => {
    const { config } = parseNetworkConfig(JSON.stringify({ name: "pods", cniVersion: "1.0.0", ...keys }), "ADD");
    refuseUntilKubernetes(resolveDatastore(config, {}));
  };
  expect(() => refuse({ datastore_type: "kubernetes" })).toThrow('read "datastore_type": got "kubernetes"');
  refuse({});
  refuse({ policy: { type: "k8s" } });
});
