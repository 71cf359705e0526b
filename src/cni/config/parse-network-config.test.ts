import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { configOf, faultOf, parseKeys, refusalOf } from "../../../test/support/calls/network-config.ts";
import { testSeed } from "../../../test/support/seed.ts";
import { NetplugError } from "../../lib/errors.ts";
import { SUPPORTED_VERSIONS } from "../protocol/versions.ts";
import { parseNetworkConfig } from "./parse-network-config.ts";

const seed = testSeed();

describe("order of errors", () => {
  test.each<[text: string, command: string, code: number]>([
    ["", "ADD", 6],
    ["{", "NONSENSE", 6],
    ["[]", "ADD", 6],
    ["null", "ADD", 6],
    ['"x"', "ADD", 6],
    ['{"cniVersion": 1}', "NONSENSE", 6],
    ['{"cniVersion": "9.9.9"}', "NONSENSE", 7],
    ['{"cniVersion": "9.9.9", "name": 5}', "ADD", 7],
    ['{"cniVersion": "9.9.9", "name": "-x"}', "ADD", 7],
    ['{"cniVersion": "9.9.9", "name": "x/y"}', "ADD", 7],
    ['{"cniVersion": "9.9.9", "name": "x", "mtu": "x"}', "NONSENSE", 1],
    ['{"cniVersion": "1.1.0", "name": "x", "mtu": "x"}', "NONSENSE", 4],
    ['{"cniVersion": "1.1.0", "name": "x", "mtu": "x"}', "add", 4],
    ['{"cniVersion": "0.3.1", "name": "x", "mtu": "x"}', "CHECK", 1],
    ['{"cniVersion": "1.0.0", "name": "x", "mtu": "x"}', "GC", 1],
    ['{"cniVersion": "1.0.0", "name": "x", "mtu": "x"}', "STATUS", 1],
    ['{"name": "x", "mtu": "x"}', "STATUS", 1],
    ['{"cniVersion": "1.1.0", "name": "x", "mtu": "x"}', "CHECK", 7],
  ])("%p with %s is code %p", (text, command, code) => expect(refusalOf(text, command).code).toBe(code));

  test("an unsupported version is told with the supported ones", () => {
    const { message, details } = refusalOf('{"cniVersion": "9.9.9", "name": "x"}');
    expect(message).toBe('read "cniVersion": got "9.9.9", want one that is supported');
    expect(details).toBe('configured: "9.9.9"; supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0');
  });

  test("a verb that the version does not have is told with the version that has it", () => {
    expect(refusalOf('{"cniVersion": "0.3.1", "name": "x"}', "CHECK").message).toBe("call CHECK in CNI 0.3.1: want 0.4.0 or later");
  });

  test("a missing or empty cniVersion is 0.1.0, and every version of ours is accepted", () => {
    expect(parseNetworkConfig('{"name":"x"}', "ADD").config.cniVersion).toBe("0.1.0");
    expect(parseNetworkConfig('{"name":"x","cniVersion":""}', "DEL").config.cniVersion).toBe("0.1.0");
    for (const cniVersion of SUPPORTED_VERSIONS) expect(configOf({ cniVersion }).cniVersion).toBe(cniVersion);
  });
});

describe("what a verb requires", () => {
  test("CHECK wants prevResult", () => {
    expect(faultOf({}, "CHECK")).toBe('7: read "prevResult": got nothing, want the result of the ADD that is checked');
    expect(parseKeys({ prevResult: { ips: [] } }, "CHECK").verb).toBe("CHECK");
  });

  test.each<[attachments: unknown, message: string]>([
    [undefined, 'read "cni.dev/valid-attachments": got nothing'],
    [null, 'read "cni.dev/valid-attachments": got nothing'],
    ["", 'read "cni.dev/valid-attachments": got "", want a list'],
    [{}, 'read "cni.dev/valid-attachments": got an object, want a list'],
    [["abc"], 'read "cni.dev/valid-attachments[0]": got "abc", want an object'],
    [[{ containerID: "abc" }], 'read "cni.dev/valid-attachments[0].ifname": got nothing'],
    [[{ containerID: "a/b", ifname: "eth0" }], 'read "cni.dev/valid-attachments[0].containerID": got "a/b"'],
    [[{ containerID: "abc", ifname: "" }], 'read "cni.dev/valid-attachments[0].ifname": got ""'],
  ])("GC refuses the list %j", (attachments, message) => {
    expect(faultOf({ "cni.dev/valid-attachments": attachments }, "GC")).toStartWith(`7: ${message}`);
  });

  test("GC takes an empty list for what it says", () => {
    expect(configOf({ "cni.dev/valid-attachments": [] }, "GC").validAttachments).toEqual([]);
  });

  test("GC takes null for an empty list where libcni says it, under both names of the key", () => {
    expect(parseKeys({ "cni.dev/valid-attachments": null, "cni.dev/attachments": null }, "GC").verb).toBe("GC");
    expect(faultOf({ "cni.dev/attachments": null }, "GC")).toStartWith('7: read "cni.dev/valid-attachments": got nothing');
  });
});

describe("DEL and GC", () => {
  const bad = {
    mtu: "1500",
    log_level: 5,
    policy: "x",
    runtimeConfig: { mac: 5 },
    ipam: { assign_ipv4: true, type: "netplug-ipam" },
    prevResult: 5,
    readiness_gates: "x",
  };

  test.each(["DEL", "GC"])("%s goes on with defaults where it does not need a key, and warns", (command) => {
    const { config, warnings } = parseKeys({ ...bad, "cni.dev/valid-attachments": [] }, command);
    expect(config).toMatchObject({ mtu: 0, policyType: undefined, ipam: { type: "netplug-ipam", families: [4] }, prevResult: undefined });
    expect(warnings).toHaveLength(7);
    expect(warnings).toContain(
      'read "ipam.assign_ipv4": got true, want "true" or "false" as text, in any case; not needed here, the default is used',
    );
  });

  test.each<[keys: object, key: string]>([
    [{ etcd_endpoints: 5 }, "etcd_endpoints"],
    [{ ipam: 5 }, "ipam"],
    [{ ipam: { type: 5 } }, "ipam.type"],
    [{ nodename: 5 }, "nodename"],
    [{ nodename_file: 5 }, "nodename_file"],
    [{ datastore_type: "x" }, "datastore_type"],
    [{ etcd_authority: 5 }, "etcd_authority"],
    [{ datastore_type: "kubernetes", kubernetes: 5 }, "kubernetes"],
    [{ datastore_type: "kubernetes", kubernetes: { kubeconfig: 5 } }, "kubernetes.kubeconfig"],
    [{ datastore_type: "kubernetes", kubernetes: { k8s_api_root: "x" } }, "kubernetes.k8s_api_root"],
  ])("cannot know for %j what to remove: GC refuses it, DEL keeps it for the end", (keys, key) => {
    expect(faultOf({ ...keys, "cni.dev/valid-attachments": [] }, "GC")).toStartWith(`7: read "${key}": got `);
    const { fault, warnings } = parseKeys(keys, "DEL");
    expect([fault?.code, fault?.message, warnings]).toEqual([7, expect.stringContaining(`read "${key}": got `), []]);
  });

  test.each<[keys: object]>([
    [{ nodename: "a", nodename_file: 5, lib_dir: 5, hostname: 5 }],
    [{ etcd_endpoints: "http://a:1", etcd_authority: 5, etcd_scheme: 5 }],
    [{ datastore_type: "kubernetes", etcd_endpoints: 5, etcd_password: 5, etcd_scheme: 5 }],
    [{ datastore_type: "etcdv3", kubernetes: { kubeconfig: 5, k8s_api_root: "x" } }],
    [{ kubernetes: "x" }],
    [{ datastore_type: "kubernetes", policy: 5 }],
  ])("do not need what another key makes superfluous: %j", (keys) => {
    expect(configOf({ ...keys, "cni.dev/valid-attachments": [] }, "GC").name).toBe("pods");
    expect(parseKeys(keys, "DEL").fault).toBeUndefined();
  });

  test("only GC needs the list of valid attachments", () => {
    for (const list of [5, "x", [{ containerID: "../x", ifname: "eth0" }]]) {
      const { fault, warnings } = parseKeys({ "cni.dev/valid-attachments": list }, "DEL");
      expect([fault, warnings.length]).toEqual([undefined, 1]);
    }
  });

  test("ADD, CHECK and STATUS do not go on", () => {
    for (const command of ["ADD", "CHECK", "STATUS"]) expect(faultOf({ mtu: "1500", prevResult: {} }, command)).toStartWith("7: ");
  });
});

test("a route without dst beside others has no effect, and its misspelling is warned about", () => {
  const { config, warnings } = parseKeys({ ipam: { routes: [{ dst: "::/0" }, { dts: "10.0.0.0/8" }, {}] } });
  expect(config.ipam.routes).toHaveLength(1);
  expect(warnings).toEqual(['key "ipam.routes[1].dts" is unknown and has no effect: was "ipam.routes[1].dst" meant?']);
});

describe("misspelt keys", () => {
  test.each<[keys: object, found: string, meant: string]>([
    [{ MTU: 1500 }, "MTU", "mtu"],
    [{ log_levl: "x" }, "log_levl", "log_level"],
    [{ etcd_endpoint: "x" }, "etcd_endpoint", "etcd_endpoints"],
    [{ policySetupTimeoutSeconds: 5 }, "policySetupTimeoutSeconds", "policy_setup_timeout_seconds"],
    [{ feature_control: { ipAddrsNoIpam: true } }, "feature_control.ipAddrsNoIpam", "feature_control.ip_addrs_no_ipam"],
    [{ IPAM: {} }, "IPAM", "ipam"],
    [{ ipam: { asign_ipv4: "true" } }, "ipam.asign_ipv4", "ipam.assign_ipv4"],
    [{ ipam: { type: "host-local", Routes: [] } }, "ipam.Routes", "ipam.routes"],
    [{ ipam: { routes: [{ dst: "0.0.0.0/0", GW: "10.0.0.1" }] } }, "ipam.routes[0].GW", "ipam.routes[0].gw"],
    [
      { container_settings: { allow_ip_forwardin: true } },
      "container_settings.allow_ip_forwardin",
      "container_settings.allow_ip_forwarding",
    ],
    [{ kubernetes: { Kubeconfig: "/x" } }, "kubernetes.Kubeconfig", "kubernetes.kubeconfig"],
    [{ runtimeConfig: { IPs: [] } }, "runtimeConfig.IPs", "runtimeConfig.ips"],
    [{ args: { cni: { label: [] } } }, "args.cni.label", "args.cni.labels"],
    [{ prevresult: {} }, "prevresult", "prevResult"],
    [{ ipam: { etcd_endpoints: "http://127.0.0.1:1" } }, "ipam.etcd_endpoints", "etcd_endpoints"],
    [{ policy: { policy_setup_timeout_seconds: 5 } }, "policy.policy_setup_timeout_seconds", "policy_setup_timeout_seconds"],
  ])("%j is warned about and has no effect", (keys, found, meant) => {
    const { config, warnings } = parseKeys(keys);
    expect(warnings).toEqual([`key "${found}" is unknown and has no effect: was "${meant}" meant?`]);
    const { raw: _, ...rest } = config;
    const { raw: __, ...defaults } = configOf({ ipam: { ...(JSON.stringify(keys).includes("host-local") && { type: "host-local" }) } });
    const withoutRoutes: unknown = { ...rest, ipam: { ...rest.ipam, routes: undefined } };
    expect(withoutRoutes).toEqual(defaults);
  });

  test("keys of another plugin's ipam are its own", () => {
    expect(parseKeys({ ipam: { type: "whereabouts", range: "10.0.0.0/24" } }).warnings).toEqual([]);
  });

  test("keys that resemble nothing are not mentioned", () => {
    expect(parseKeys({ vendor: 1, isGateway: true, ipMasq: true, mode: "l2", __proto__: { mtu: 5 } }).warnings).toEqual([]);
  });

  test("a key that an object inherits is no key of the config", () => {
    expect(configOf({ toString: "x", constructor: 5 }).name).toBe("pods");
    expect(refusalOf('{"__proto__": {"name": "x"}}').code).toBe(7);
  });
});

describe("hostile input", () => {
  test("ten megabytes, deep nesting and a hundred thousand keys end soon and clearly", () => {
    expect(refusalOf(`{"name":"${"x".repeat(10_000_000)}"}`).message).toBe(
      "read network config: got 10000011 characters, want at most 1048576",
    );
    expect(refusalOf(`{"name":${"[".repeat(100_000)}`).message).toBe("read network config: got more than 64 levels of nesting");
    const start = performance.now();
    const many = Object.fromEntries(Array.from({ length: 40_000 }, (_, i) => [`mt${i}`, i]));
    expect(parseKeys(many).warnings.length).toBeLessThan(51);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  test("a verb that CNI does not have is refused with those that it has", () => {
    const message = 'read CNI_COMMAND: got "FLY", want ADD, DEL, CHECK, STATUS, GC or VERSION';
    expect(refusalOf('{"name": "x"}', "FLY").message).toBe(message);
  });

  test("a broken document does not show what is in it", () => {
    expect(refusalOf('{"etcd_password": s3cret}').message).toBe(
      "read network config: line 1, column 19: want a value, in double quotes if it is text",
    );
  });

  test("whatever stands under the keys, the outcome is a config or an error that names what is wrong", () => {
    const keys = fc.constantFrom(
      ...Object.keys(configOf({})),
      "mtu",
      "ipam",
      "policy",
      "args",
      "etcd_endpoints",
      "readiness_gates",
      "log_level",
      "runtimeConfig",
      "prevResult",
      "cni.dev/valid-attachments",
    );
    fc.assert(
      fc.property(
        fc.dictionary(keys, fc.jsonValue({ maxDepth: 4 })),
        fc.constantFrom("ADD", "DEL", "CHECK", "GC", "STATUS"),
        (document, command) => {
          try {
            parseKeys({ ...document, name: "pods", cniVersion: "1.1.0" }, command);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(NetplugError);
            expect((thrown as NetplugError).kind).toBe("invalidConfig");
            expect((thrown as NetplugError).message).toMatch(/^read "[^"]+"( \(never shown\))?: got .*, want /u);
          }
        },
      ),
      { seed, numRuns: 2_000 },
    );
  });
});
