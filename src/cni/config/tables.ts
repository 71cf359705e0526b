/** Every key of the network config and what it may hold. Plain literals: see `field.ts`. Defaults are in `to-network-config.ts`. */

import { ETH_MAX_MTU, ETH_MIN_MTU } from "../../linux/netlink/constants.ts";
import type { Table } from "./field.ts";

const FOREIGN = { kind: "foreign" } as const;
const TEXT = { kind: "text" } as const;
const PATH = { kind: "path" } as const;
const OFF = { kind: "flag" } as const;
const POOLS = { kind: "list", of: "pool" } as const;
const ADDRESSES = { kind: "list", of: "address" } as const;
const NEEDED_TEXT = { kind: "text", needed: "removal" } as const;
const OF_ETCD = { needed: "removal", datastore: "etcdv3" } as const;
const OF_KUBERNETES = { needed: "removal", datastore: "kubernetes" } as const;
const ETCD_PATH = { kind: "path", ...OF_ETCD } as const;
const API_ROOT = { kind: "url", ...OF_KUBERNETES } as const;
const OTHER_NODE_NAME = { needed: "removal", unless: "nodename" } as const;
const OLD_ENDPOINT = { ...OF_ETCD, unless: "etcd_endpoints" } as const;

/** The strings that `assign_ipv4` and `assign_ipv6` accept; a boolean is refused, as the contract says. */
const TRUE_OR_FALSE = ["true", "false"] as const;

/** The keys of `host-local` are its own to check. */
const IPAM = {
  type: { kind: "plugin", needed: "removal" },
  assign_ipv4: { kind: "enum", values: TRUE_OR_FALSE, anyCase: true, strict: true },
  assign_ipv6: { kind: "enum", values: TRUE_OR_FALSE, anyCase: true, strict: true },
  ipv4_pools: POOLS,
  ipv6_pools: POOLS,
  routes: { kind: "list", of: "route" },
  name: FOREIGN,
  ranges: FOREIGN,
  subnet: FOREIGN,
  rangeStart: FOREIGN,
  rangeEnd: FOREIGN,
  gateway: FOREIGN,
  dataDir: FOREIGN,
  resolvConf: FOREIGN,
} as const;

const KUBERNETES = { kubeconfig: { kind: "path", ...OF_KUBERNETES }, k8s_api_root: API_ROOT, node_name: TEXT } as const;

const POLICY = {
  type: { kind: "enum", values: ["k8s"] },
  k8s_api_root: API_ROOT,
  k8s_auth_token: FOREIGN,
  k8s_client_certificate: FOREIGN,
  k8s_client_key: FOREIGN,
  k8s_certificate_authority: FOREIGN,
} as const;

const RUNTIME_CONFIG = {
  ips: ADDRESSES,
  mac: { kind: "mac" },
  ipRanges: FOREIGN,
  portMappings: FOREIGN,
  bandwidth: FOREIGN,
  dns: FOREIGN,
  aliases: FOREIGN,
} as const;

const CNI_CONVENTIONS = { labels: { kind: "list", of: "label" }, ips: ADDRESSES } as const;

/** The whole network config. Foreign keys are listed so that misspellings of their neighbours are found. */
export const NETWORK_CONFIG = {
  name: FOREIGN,
  cniVersion: FOREIGN,
  cniVersions: FOREIGN,
  type: TEXT,
  capabilities: FOREIGN,
  dns: FOREIGN,
  prevResult: FOREIGN,
  disableCheck: FOREIGN,
  nodename: NEEDED_TEXT,
  nodename_file: { kind: "path", ...OTHER_NODE_NAME },
  nodename_file_optional: FOREIGN,
  hostname: { kind: "text", ...OTHER_NODE_NAME },
  lib_dir: { kind: "path", ...OTHER_NODE_NAME },
  datastore_type: { kind: "enum", values: ["etcdv3", "kubernetes"], needed: "removal" },
  etcd_endpoints: { kind: "endpoints", ...OF_ETCD },
  etcd_discovery_srv: { kind: "domain", ...OF_ETCD },
  etcd_key_file: ETCD_PATH,
  etcd_cert_file: ETCD_PATH,
  etcd_ca_cert_file: ETCD_PATH,
  etcd_username: { kind: "text", ...OF_ETCD },
  etcd_password: { kind: "text", ...OF_ETCD, isSecret: true },
  etcd_authority: { kind: "authority", ...OLD_ENDPOINT },
  etcd_scheme: { kind: "enum", values: ["http", "https"], ...OLD_ENDPOINT },
  ipam: { kind: "section", table: IPAM, knownTypes: [undefined, "netplug-ipam", "host-local"] },
  log_level: { kind: "enum", values: ["ERROR", "WARNING", "INFO", "DEBUG"], anyCase: true },
  log_file_path: PATH,
  /** Megabytes, days, files. */
  log_file_max_size: { kind: "integer", min: 1, max: 1_000_000, zeroIsAbsent: true },
  log_file_max_age: { kind: "integer", min: 1, max: 36_500, zeroIsAbsent: true },
  log_file_max_count: { kind: "integer", min: 1, max: 100_000, zeroIsAbsent: true },
  container_settings: { kind: "section", table: { allow_ip_forwarding: OFF } },
  readiness_gates: { kind: "list", of: "url" },
  kubernetes: { kind: "section", table: KUBERNETES },
  policy: { kind: "section", table: POLICY, isOld: true },
  /** At most a day: nobody holds a pod back longer by intent. */
  policy_setup_timeout_seconds: { kind: "integer", min: 0, max: 86_400 },
  policy_setup_timeout_action: { kind: "enum", values: ["start", "fail"] },
  endpoint_status_dir: { kind: "path" },
  feature_control: { kind: "section", table: { ip_addrs_no_ipam: OFF, floating_ips: OFF } },
  /** The kernel's limit for one device. */
  num_queues: { kind: "integer", min: 1, max: 4096, zeroIsAbsent: true },
  /** From the smallest of IPv4 to the largest of a veth. */
  mtu: { kind: "integer", min: ETH_MIN_MTU, max: ETH_MAX_MTU, zeroIsAbsent: true },
  require_mtu_file: OFF,
  include_default_routes: OFF,
  qps: { kind: "integer", min: 1, max: 1_000_000, zeroIsAbsent: true },
  burst: { kind: "integer", min: 1, max: 1_000_000, zeroIsAbsent: true },
  /** Reserved for a later agent: only checked. */
  agent_socket: { kind: "socket" },
  ipam_lock_file: { kind: "path" },
  netplug_api_group: FOREIGN,
  device_type: FOREIGN,
  dataplane_options: FOREIGN,
  runtimeConfig: { kind: "section", table: RUNTIME_CONFIG },
  args: { kind: "section", table: { cni: { kind: "section", table: CNI_CONVENTIONS } } },
  "cni.dev/valid-attachments": { kind: "list", of: "attachment", needed: "GC" },
  "cni.dev/attachments": FOREIGN,
} as const satisfies Table;
