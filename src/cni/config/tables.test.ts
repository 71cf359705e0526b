import { describe, expect, test } from "bun:test";
import { configOf, faultOf, parseKeys } from "../../../test/support/calls/network-config.ts";
import { parseAddress, toAddressText } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";

describe("defaults", () => {
  test("are those of the contract", () => {
    const { raw: _, ...config } = configOf({});
    expect(config).toEqual({
      name: "pods",
      cniVersion: "1.1.0",
      type: "netplug",
      prevResult: undefined,
      nodename: undefined,
      nodenameFile: "/var/lib/netplug/nodename",
      hostname: undefined,
      libDir: "/var/lib/netplug",
      datastoreType: undefined,
      etcd: {
        endpoints: [],
        discoverySrv: undefined,
        keyFile: undefined,
        certFile: undefined,
        caCertFile: undefined,
        username: undefined,
        password: undefined,
      },
      ipam: { type: undefined, families: [4], pools: {}, routes: undefined },
      log: { level: "INFO", filePath: undefined, maxSizeBytes: 104_857_600, maxAgeMs: 2_592_000_000, maxCount: 10 },
      allowIpForwarding: false,
      readinessGates: [],
      kubernetes: { kubeconfig: undefined, apiRoot: undefined, nodeName: undefined },
      policyType: undefined,
      policySetupTimeoutMs: 0,
      policySetupTimeoutAction: "start",
      endpointStatusDir: "/var/run/netplug/endpoint-status",
      featureControl: { ipAddrsNoIpam: false, floatingIPs: false },
      numQueues: 1,
      mtu: 0,
      requireMtuFile: false,
      includeDefaultRoutes: false,
      qps: undefined,
      burst: undefined,
      ipamLockFile: "/var/run/netplug/ipam.lock",
      runFolder: "/var/run/netplug",
      runtimeConfig: { ips: [], mac: undefined },
      args: { labels: {}, ips: [] },
      validAttachments: undefined,
    });
  });

  test("hold for null, for empty text, and for 0 where it means the default", () => {
    const empty = {
      nodename: "",
      datastore_type: "",
      etcd_endpoints: "",
      etcd_key_file: "",
      log_level: "",
      log_file_path: "",
      log_file_max_size: 0,
      log_file_max_age: 0,
      log_file_max_count: 0,
      mtu: 0,
      num_queues: 0,
      qps: 0,
      burst: 0,
      policy: { type: "" },
      kubernetes: null,
      ipam: { type: "", ipv4_pools: [], routes: null },
      container_settings: null,
      readiness_gates: null,
      prevResult: null,
      policy_setup_timeout_seconds: 0,
    };
    const { raw: _, ...config } = configOf(empty);
    const { raw: __, ...defaults } = configOf({});
    expect(config).toEqual(defaults);
  });
});

describe("every key", () => {
  test.each<[keys: object, path: string, expected: unknown]>([
    [{ nodename: "node-1" }, "nodename", "node-1"],
    [{ nodename_file: "/x" }, "nodenameFile", "/x"],
    [{ lib_dir: "/x" }, "libDir", "/x"],
    [{ lib_dir: "/x" }, "nodenameFile", "/x/nodename"],
    [{ hostname: "h" }, "hostname", "h"],
    [{ datastore_type: "kubernetes" }, "datastoreType", "kubernetes"],
    [{ datastore_type: "etcdv3" }, "datastoreType", "etcdv3"],
    [{ etcd_endpoints: " http://a:1 , https://[::1]:2379/,," }, "etcd.endpoints", ["http://a:1", "https://[::1]:2379/"]],
    [{ etcd_discovery_srv: "etcd.example.org" }, "etcd.discoverySrv", "etcd.example.org"],
    [{ etcd_key_file: "/k", etcd_cert_file: "/c" }, "etcd.keyFile", "/k"],
    [{ etcd_key_file: "/k", etcd_cert_file: "/c" }, "etcd.certFile", "/c"],
    [{ etcd_ca_cert_file: "/ca" }, "etcd.caCertFile", "/ca"],
    [{ etcd_username: "root" }, "etcd.username", "root"],
    [{ etcd_password: "s3cret" }, "etcd.password", "s3cret"],
    [{ etcd_authority: "10.0.0.1:2379" }, "etcd.endpoints", ["http://10.0.0.1:2379"]],
    [{ etcd_scheme: "https" }, "etcd.endpoints", ["https://127.0.0.1:2379"]],
    [{ etcd_authority: "a:1", etcd_scheme: "https" }, "etcd.endpoints", ["https://a:1"]],
    [{ etcd_authority: "a:1", etcd_endpoints: "http://b:1" }, "etcd.endpoints", ["http://b:1"]],
    [{ etcd_authority: "a:1", etcd_discovery_srv: "b" }, "etcd.endpoints", []],
    [{ ipam: { type: "netplug-ipam" } }, "ipam.type", "netplug-ipam"],
    [{ ipam: { assign_ipv4: "False", assign_ipv6: "TRUE" } }, "ipam.families", [6]],
    [{ ipam: { assign_ipv6: "true" } }, "ipam.families", [4, 6]],
    [{ ipam: { assign_ipv4: "false" } }, "ipam.families", []],
    [{ ipam: { ipv4_pools: ["blue", "10.0.0.0/16"], ipv6_pools: [] } }, "ipam.pools", { 4: ["blue", "10.0.0.0/16"] }],
    [{ ipam: { ipv6_pools: ["fd00::/64"] } }, "ipam.pools", { 6: ["fd00::/64"] }],
    [{ ipam: { routes: [] } }, "ipam.routes", []],
    [{ ipam: { routes: [{ dst: "10.1.2.3/8", gw: "x" }, {}, { dst: "::/0" }] } }, "ipam.routes", ["10.0.0.0/8", "::/0"].map(parsePrefix)],
    [{ log_level: "warning" }, "log.level", "WARNING"],
    [{ log_level: "DEBUG" }, "log.level", "DEBUG"],
    [{ log_file_path: "/var/log/x.log" }, "log.filePath", "/var/log/x.log"],
    [{ log_file_max_size: 2 }, "log.maxSizeBytes", 2_097_152],
    [{ log_file_max_age: 1 }, "log.maxAgeMs", 86_400_000],
    [{ log_file_max_count: 3 }, "log.maxCount", 3],
    [{ container_settings: { allow_ip_forwarding: true } }, "allowIpForwarding", true],
    [
      { readiness_gates: ["http://127.0.0.1:9099/readiness", "https://[::1]/x?y"] },
      "readinessGates",
      ["http://127.0.0.1:9099/readiness", "https://[::1]/x?y"],
    ],
    [{ kubernetes: { kubeconfig: "/k" } }, "kubernetes.kubeconfig", "/k"],
    [{ kubernetes: { k8s_api_root: "https://10.0.0.1:443/api/v1/" } }, "kubernetes.apiRoot", "https://10.0.0.1:443/api/v1/"],
    [{ policy: { k8s_api_root: "https://10.0.0.1/" } }, "kubernetes.apiRoot", "https://10.0.0.1/"],
    [{ kubernetes: { node_name: "n" } }, "kubernetes.nodeName", "n"],
    [{ policy: { type: "k8s" } }, "policyType", "k8s"],
    [{ policy_setup_timeout_seconds: 20 }, "policySetupTimeoutMs", 20_000],
    [{ policy_setup_timeout_action: "fail" }, "policySetupTimeoutAction", "fail"],
    [{ endpoint_status_dir: "/e" }, "endpointStatusDir", "/e"],
    [{ feature_control: { ip_addrs_no_ipam: true } }, "featureControl.ipAddrsNoIpam", true],
    [{ feature_control: { floating_ips: true } }, "featureControl.floatingIPs", true],
    [{ num_queues: 4 }, "numQueues", 4],
    [{ mtu: 9000 }, "mtu", 9000],
    [{ require_mtu_file: true }, "requireMtuFile", true],
    [{ include_default_routes: true }, "includeDefaultRoutes", true],
    [{ qps: 5, burst: 100 }, "qps", 5],
    [{ qps: 5, burst: 100 }, "burst", 100],
    [{ ipam_lock_file: "/l" }, "ipamLockFile", "/l"],
    [{ ipam_lock_file: "/l" }, "runFolder", ""],
    [{ ipam_lock_file: "/a/b/l" }, "runFolder", "/a/b"],
    [{ runtimeConfig: { ips: ["10.0.0.7/24", "fd00::7"] } }, "runtimeConfig.ips", ["10.0.0.7", "fd00::7"].map(parseAddress)],
    [{ runtimeConfig: { mac: "02-00-00-00-00-0A" } }, "runtimeConfig.mac", "02:00:00:00:00:0a"],
    [{ args: { cni: { ips: ["10.0.0.8"] } } }, "args.ips", [parseAddress("10.0.0.8")]],
    [
      {
        args: {
          cni: {
            labels: [
              { key: "app", value: "web" },
              { key: "netplug.io/namespace", value: "blue" },
            ],
          },
        },
      },
      "args.labels",
      { app: "web", "netplug.io/namespace": "blue" },
    ],
    [{ prevResult: { ips: [{ address: "10.0.0.9/24" }] } }, "prevResult.ips", [{ address: "10.0.0.9/24" }]],
    [
      { "cni.dev/valid-attachments": [{ containerID: "abc", ifname: "eth0" }] },
      "validAttachments",
      [{ containerID: "abc", ifName: "eth0" }],
    ],
    [{ vendor: { x: 1 } }, "raw.vendor", { x: 1 }],
  ])("%j gives %s", (keys, path, expected) => {
    const { config, warnings } = parseKeys(keys);
    const found = path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], config);
    expect(found).toEqual(expected);
    expect(warnings.filter((warning) => !warning.includes("deprecated"))).toEqual([]);
  });
});

describe("code 7, naming key, found and wanted", () => {
  test.each<[keys: object, message: string]>([
    [{ type: 5 }, 'read "type": got 5, want a text'],
    [{ nodename: 5 }, 'read "nodename": got 5, want a text'],
    [{ nodename: "a\nb" }, 'read "nodename": got "a\\nb", want a text'],
    [{ nodename_file: "x" }, 'read "nodename_file": got "x", want an absolute path'],
    [{ nodename_file: "/x\u0000" }, 'read "nodename_file": got "/x\\u0000", want an absolute path'],
    [{ lib_dir: "../x" }, 'read "lib_dir": got "../x", want an absolute path'],
    [{ datastore_type: "etcd" }, 'read "datastore_type": got "etcd", want "etcdv3" or "kubernetes"'],
    [{ etcd_endpoints: ["http://a"] }, 'read "etcd_endpoints": got a list, want http:// or https:// URLs'],
    [{ etcd_endpoints: "ftp://a" }, 'read "etcd_endpoints": got "ftp://a", want http:// or https:// URLs'],
    [{ etcd_endpoints: "http://a:1,b" }, 'read "etcd_endpoints": got "http://a:1,b"'],
    [{ etcd_endpoints: "http://010.0.0.1:2379" }, 'read "etcd_endpoints": got "http://010.0.0.1:2379", want http:// or https:// URLs'],
    [{ etcd_endpoints: "," }, 'read "etcd_endpoints": got ","'],
    [{ etcd_endpoints: "http://a:1/v3" }, 'read "etcd_endpoints": got'],
    [{ etcd_discovery_srv: "a b" }, 'read "etcd_discovery_srv": got "a b", want a domain name'],
    [{ etcd_authority: "http://a" }, 'read "etcd_authority": got "http://a", want host:port'],
    [{ etcd_authority: "127.1:2379" }, 'read "etcd_authority": got "127.1:2379", want host:port, IPv4 without leading zeros'],
    [{ etcd_scheme: "ftp" }, 'read "etcd_scheme": got "ftp", want "http" or "https"'],
    [{ ipam: "netplug-ipam" }, 'read "ipam": got "netplug-ipam", want an object'],
    [{ ipam: [] }, 'read "ipam": got an empty list, want an object'],
    [{ ipam: { type: "../../bin/sh" } }, 'read "ipam.type": got "../../bin/sh", want the name of a plugin'],
    [{ ipam: { assign_ipv4: true } }, 'read "ipam.assign_ipv4": got true, want "true" or "false" as text, in any case'],
    [{ ipam: { assign_ipv6: "yes" } }, 'read "ipam.assign_ipv6": got "yes", want "true" or "false"'],
    [{ ipam: { assign_ipv6: "" } }, 'read "ipam.assign_ipv6": got "", want "true" or "false"'],
    [{ ipam: { ipv4_pools: "blue" } }, 'read "ipam.ipv4_pools": got "blue", want a list, each a pool\'s name or CIDR'],
    [{ ipam: { ipv4_pools: ["blue green"] } }, 'read "ipam.ipv4_pools[0]": got "blue green", want a pool\'s name or CIDR'],
    [{ ipam: { ipv6_pools: ["fd00::/64", 5] } }, 'read "ipam.ipv6_pools[1]": got 5, want a pool\'s name or CIDR'],
    [{ ipam: { routes: {} } }, 'read "ipam.routes": got an object, want a list'],
    [{ ipam: { routes: ["0.0.0.0/0"] } }, 'read "ipam.routes[0]": got "0.0.0.0/0", want an object with dst'],
    [{ ipam: { routes: [{}, { dst: null }] } }, 'read "ipam.routes[0].dst": got nothing, want address/length'],
    [{ ipam: { routes: [{ dts: "0.0.0.0/0" }] } }, 'read "ipam.routes[0].dst": got nothing, want address/length'],
    [{ ipam: { routes: [{ dst: "" }] } }, 'read "ipam.routes[0].dst": got "", want address/length'],
    [{ ipam: { routes: [{ dst: 5 }] } }, 'read "ipam.routes[0].dst": got 5, want address/length'],
    [{ ipam: { routes: [{ dst: "10.0.0.0" }] } }, 'read "ipam.routes[0].dst": got "10.0.0.0", want address/length'],
    [{ log_level: "loud" }, 'read "log_level": got "loud", want "ERROR", "WARNING", "INFO" or "DEBUG" as text, in any case'],
    [{ log_file_path: true }, 'read "log_file_path": got true, want an absolute path'],
    [{ log_file_max_size: -1 }, 'read "log_file_max_size": got -1, want a whole number 1..1000000, or 0 for the default'],
    [{ log_file_max_age: "30" }, 'read "log_file_max_age": got "30", want a whole number'],
    [{ log_file_max_count: 1.5 }, 'read "log_file_max_count": got 1.5, want a whole number'],
    [
      { container_settings: { allow_ip_forwarding: "true" } },
      'read "container_settings.allow_ip_forwarding": got "true", want true or false, without quotes',
    ],
    [{ container_settings: { allow_ip_forwarding: "" } }, 'read "container_settings.allow_ip_forwarding": got "", want true or false'],
    [{ container_settings: true }, 'read "container_settings": got true, want an object'],
    [{ readiness_gates: "http://a" }, 'read "readiness_gates": got "http://a", want a list'],
    [{ readiness_gates: ["http://a", "/x"] }, 'read "readiness_gates[1]": got "/x", want an absolute http:// or https:// URL'],
    [{ readiness_gates: ["http://"] }, 'read "readiness_gates[0]": got "http://"'],
    [{ readiness_gates: ["http://a:99999"] }, 'read "readiness_gates[0]": got "http://a:99999"'],
    [{ readiness_gates: ["file:///etc/passwd"] }, 'read "readiness_gates[0]": got "file:///etc/passwd"'],
    [{ kubernetes: { kubeconfig: {} } }, 'read "kubernetes.kubeconfig": got an object, want an absolute path'],
    [
      { kubernetes: { k8s_api_root: "https://fd00::1:6443" } },
      'read "kubernetes.k8s_api_root": got "https://fd00::1:6443", want an absolute http:// or https:// URL, IPv6 in brackets',
    ],
    [{ policy: { type: "calico" } }, 'read "policy.type": got "calico", want "k8s"'],
    [{ policy: "k8s" }, 'read "policy": got "k8s", want an object'],
    [{ policy_setup_timeout_seconds: -1 }, 'read "policy_setup_timeout_seconds": got -1, want a whole number 0..86400'],
    [{ policy_setup_timeout_seconds: "" }, 'read "policy_setup_timeout_seconds": got "", want a whole number'],
    [{ policy_setup_timeout_action: "stop" }, 'read "policy_setup_timeout_action": got "stop", want "start" or "fail"'],
    [{ feature_control: { floating_ips: 1 } }, 'read "feature_control.floating_ips": got 1, want true or false'],
    [{ num_queues: -1 }, 'read "num_queues": got -1, want a whole number 1..4096'],
    [{ mtu: 67 }, 'read "mtu": got 67, want a whole number 68..65535, or 0 for the default'],
    [{ mtu: 65_536 }, 'read "mtu": got 65536'],
    [{ require_mtu_file: "yes" }, 'read "require_mtu_file": got "yes", want true or false'],
    [{ qps: -1 }, 'read "qps": got -1'],
    [{ agent_socket: "agent.sock" }, 'read "agent_socket": got "agent.sock", want an absolute path, or "" to ask no agent'],
    [{ runtimeConfig: { ips: ["10.0.0.256"] } }, 'read "runtimeConfig.ips[0]": got "10.0.0.256", want an address'],
    [{ runtimeConfig: { mac: "ff:ff:ff:ff:ff:ff" } }, 'read "runtimeConfig.mac": got "ff:ff:ff:ff:ff:ff", want a unicast address'],
    [{ runtimeConfig: { mac: "EE-EE-EE-EE-EE-EE" } }, 'read "runtimeConfig.mac": got "EE-EE-EE-EE-EE-EE", want a unicast address'],
    [{ args: { cni: { ips: "10.0.0.1" } } }, 'read "args.cni.ips": got "10.0.0.1", want a list, each an address'],
    [{ args: { cni: { labels: { app: "web" } } } }, 'read "args.cni.labels": got an object, want a list'],
    [{ args: { cni: { labels: [{ key: "-a", value: "b" }] } } }, 'read "args.cni.labels[0].key": got "-a", want a label key'],
    [{ args: { cni: { labels: [{ key: "a" }] } } }, 'read "args.cni.labels[0].value": got nothing, want a label value'],
    [
      { args: { cni: { labels: [{ key: "netplug.io/namespace", value: "A_B" }] } } },
      'read "args.cni.labels[0].value": got "A_B", want a DNS label',
    ],
    [{ prevResult: [] }, 'read "prevResult": got an empty list, want an object'],
    [{ prevResult: { ips: [{}] } }, 'read "prevResult": ips[0].address: got nothing, want address/length'],
  ])("%j", (keys, message) => {
    expect(faultOf(keys)).toStartWith(`7: ${message}`);
  });

  test("a password is never shown, nor a URL with one", () => {
    expect(faultOf({ etcd_password: 12345 })).toBe('7: read "etcd_password" (never shown): got a number, want a text');
    expect(faultOf({ etcd_endpoints: "http://root:s3cret@a:1" })).not.toContain("s3cret");
    expect(faultOf({ readiness_gates: ["ftp://root:s3cret@a"] })).not.toContain("s3cret");
  });
});

test("addresses that are asked for keep their order", () => {
  const { runtimeConfig } = configOf({ runtimeConfig: { ips: ["fd00::2", "10.0.0.2/8", "fd00::1/64"] } });
  expect(runtimeConfig.ips.map(toAddressText)).toEqual(["fd00::2", "10.0.0.2", "fd00::1"]);
});
