import { describe, expect, test } from "bun:test";
import { resolveDatastore, resolveKubeSettings } from "./datastore-environment.ts";
import { parseNetworkConfig } from "./parse-network-config.ts";

function resolve(keys: object, env: Record<string, string>): unknown {
  return resolveDatastore(parseNetworkConfig(JSON.stringify({ name: "pods", cniVersion: "1.0.0", ...keys }), "ADD").config, env);
}

describe("endpoints", () => {
  test.each([
    ..."a|a:1|http:/a|http:a:1|http://|http:///a|http://:1|http://a:|http://a:0|http://a:007|http://a:65536|http://a:+1|http://a//".split(
      "|",
    ),
    ..."http://a?x|http://a\\|http://a\t:1|http://-a|http://%61|http://[zz]|http://[fe80::1%25eth0]|ftp://a|unix:///x|http://u@a".split(
      "|",
    ),
  ])("%j are refused, whoever names them", (text) => {
    expect(() => resolve({ etcd_endpoints: text }, {})).toThrow("etcd_endpoints");
    expect(() => resolve({}, { ETCD_ENDPOINTS: text })).toThrow("parse ETCD_ENDPOINTS");
  });

  test.each([..."http://a|https://a:1/|HTTP://A|https://[fd00::1]:1|http://1.2.3.4:80".split("|"), " http://a:1 , http://b:2,"])(
    "%j are the same, whoever names them",
    (text) => {
      expect(resolve({ etcd_endpoints: text }, {})).toEqual(resolve({}, { ETCD_ENDPOINTS: text }));
    },
  );
});

test.each(["http://a", "a:1", "a/b", "a b", "-a"])("the domain %j is refused, whoever names it", (text) => {
  expect(() => resolve({ etcd_discovery_srv: text }, {})).toThrow(`got "${text}", want a domain name`);
  expect(() => resolve({}, { ETCD_DISCOVERY_SRV: text })).toThrow(`read etcd_discovery_srv: got "${text}", want a domain name`);
});

test("a domain that may hold a password is not repeated", () => {
  expect(() => resolve({}, { ETCD_DISCOVERY_SRV: "u:s3cret@a" })).toThrow(
    "read etcd_discovery_srv: got one with user or password, want a domain name",
  );
});

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

describe("resolveKubeSettings()", () => {
  const settings = (kubernetes: object, env: Record<string, string>): unknown =>
    resolveKubeSettings(parseNetworkConfig(JSON.stringify({ name: "pods", kubernetes }), "ADD").config, env);
  const ENV = { KUBECONFIG: "/env", K8S_API_ENDPOINT: "https://env", K8S_API_TOKEN: "token", K8S_CA_FILE: "/ca" };

  const NAMES = { apiRoot: "K8S_API_ENDPOINT", token: "K8S_API_TOKEN", caFile: "K8S_CA_FILE" };
  const OWN_ROOT = '"kubernetes.k8s_api_root"';

  test.each<[what: string, kubernetes: object, env: Record<string, string>, wanted: object]>([
    ["nothing is said", {}, {}, { names: {} }],
    [
      "only the environment says something",
      {},
      ENV,
      { kubeconfig: "/env", apiRoot: "https://env", token: "token", caFile: "/ca", names: NAMES },
    ],
    [
      "messages name the variable with prefix where that one wins",
      {},
      { ...ENV, NETPLUG_K8S_CA_FILE: "/better" },
      { kubeconfig: "/env", apiRoot: "https://env", token: "token", caFile: "/better", names: { ...NAMES, caFile: "NETPLUG_K8S_CA_FILE" } },
    ],
    ["a kubeconfig of the config hides all of it", { kubeconfig: "/own" }, ENV, { kubeconfig: "/own", names: {} }],
    [
      "an address of the config hides that of the environment",
      { k8s_api_root: "https://own/api/v1" },
      { ...ENV, KUBECONFIG: "" },
      { apiRoot: "https://own/api/v1", token: "token", caFile: "/ca", names: { ...NAMES, apiRoot: OWN_ROOT } },
    ],
    [
      "the config may have both",
      { kubeconfig: "/own", k8s_api_root: "https://own" },
      ENV,
      { kubeconfig: "/own", apiRoot: "https://own", names: { apiRoot: OWN_ROOT } },
    ],
  ])("%s", (_, kubernetes, env, wanted) => expect(settings(kubernetes, env)).toEqual(wanted));
});
