/** Every key of the network config: what it may hold, and its default. */

import {
  parseAddressOrCidr,
  parseEtcdAuthority,
  parseEtcdEndpoints,
  parseHttpUrl,
  readAttachment,
  readLabel,
  readRoute,
} from "./values.ts";
import { ANYTHING, custom, flag, integer, list, needed, oneOf, parsed, path, secret, section, text } from "./field.ts";
import { tryParseMac } from "../../lib/mac-address.ts";

/** Kernel limits of a veth: smallest MTU of IPv4, largest of the device; queues of one device. */
const MTU = { min: 68, max: 65_535 } as const;
const MAX_QUEUES = 4096;

/** A day: nobody holds a pod back longer by intent. */
const MAX_POLICY_WAIT_SECONDS = 86_400;

const LOG_LEVELS = ["ERROR", "WARNING", "INFO", "DEBUG"] as const;

/** The strings that `assign_ipv4` and `assign_ipv6` accept; a boolean is refused, as the contract says. */
const TRUE_OR_FALSE = ["true", "false"] as const;

/** Plugins whose `ipam` keys we know all of. */
const KNOWN_IPAM_TYPES: readonly unknown[] = [undefined, "netplug-ipam", "host-local"];

/** @see spec 2.4; the keys of `host-local` are its own to check */
const IPAM = {
  type: needed(text(undefined, /^[^/\p{Cc}]+$/u, 'the name of a plugin, without "/"')),
  assign_ipv4: oneOf(TRUE_OR_FALSE, "true", { anyCase: true, emptyIsAbsent: false }),
  assign_ipv6: oneOf(TRUE_OR_FALSE, "false", { anyCase: true, emptyIsAbsent: false }),
  ipv4_pools: list("a pool's name or CIDR", [], (entry) =>
    typeof entry === "string" && /^[^\s\p{Cc}]+$/u.test(entry) ? entry : undefined,
  ),
  ipv6_pools: list("a pool's name or CIDR", [], (entry) =>
    typeof entry === "string" && /^[^\s\p{Cc}]+$/u.test(entry) ? entry : undefined,
  ),
  routes: list("an object with dst", undefined, readRoute),
  name: ANYTHING,
  ranges: ANYTHING,
  subnet: ANYTHING,
  rangeStart: ANYTHING,
  rangeEnd: ANYTHING,
  gateway: ANYTHING,
  dataDir: ANYTHING,
  resolvConf: ANYTHING,
} as const;

const addressList = list("an address", [], (entry) => (typeof entry === "string" ? parseAddressOrCidr(entry) : undefined));

/** The whole network config. Keys that are only known so that their neighbours' misspellings are found hold {@link ANYTHING}. */
export const NETWORK_CONFIG = {
  name: ANYTHING,
  cniVersion: ANYTHING,
  cniVersions: ANYTHING,
  type: ANYTHING,
  capabilities: ANYTHING,
  dns: ANYTHING,
  prevResult: ANYTHING,
  disableCheck: ANYTHING,
  nodename: needed(text(undefined)),
  nodename_file: needed(path(undefined)),
  nodename_file_optional: ANYTHING,
  hostname: needed(text(undefined)),
  lib_dir: needed(path("/var/lib/netplug")),
  datastore_type: needed(oneOf(["etcdv3", "kubernetes"], undefined)),
  etcd_endpoints: needed(parsed("http:// or https:// URLs without user and path, joined by commas", [], parseEtcdEndpoints)),
  etcd_discovery_srv: needed(
    text(undefined, /^(?!.{254})[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*\.?$/i, "a domain name"),
  ),
  etcd_key_file: needed(path(undefined)),
  etcd_cert_file: needed(path(undefined)),
  etcd_ca_cert_file: needed(path(undefined)),
  etcd_username: needed(text(undefined)),
  etcd_password: secret(needed(text(undefined))),
  etcd_authority: needed(parsed("host:port", undefined, parseEtcdAuthority)),
  etcd_scheme: needed(oneOf(["http", "https"], undefined)),
  ipam: section(IPAM, (document) => KNOWN_IPAM_TYPES.includes(document["type"])),
  log_level: oneOf(LOG_LEVELS, "INFO", { anyCase: true }),
  log_file_path: path(undefined),
  log_file_max_size: integer(1, 1_000_000, 100, true),
  log_file_max_age: integer(1, 36_500, 30, true),
  log_file_max_count: integer(1, 100_000, 10, true),
  container_settings: section({ allow_ip_forwarding: flag(false) }),
  readiness_gates: list("an absolute http:// or https:// URL", [], (entry) =>
    typeof entry === "string" ? parseHttpUrl(entry) : undefined,
  ),
  kubernetes: section({
    kubeconfig: path(undefined),
    k8s_api_root: parsed("an absolute http:// or https:// URL", undefined, parseHttpUrl),
    node_name: text(undefined),
  }),
  policy: section({
    type: oneOf(["k8s"], undefined),
    k8s_api_root: parsed("an absolute http:// or https:// URL", undefined, parseHttpUrl),
    k8s_auth_token: ANYTHING,
    k8s_client_certificate: ANYTHING,
    k8s_client_key: ANYTHING,
    k8s_certificate_authority: ANYTHING,
  }),
  policy_setup_timeout_seconds: integer(0, MAX_POLICY_WAIT_SECONDS, 0),
  policy_setup_timeout_action: oneOf(["start", "fail"], "start"),
  endpoint_status_dir: path("/var/run/netplug/endpoint-status"),
  feature_control: section({ ip_addrs_no_ipam: flag(false), floating_ips: flag(false) }),
  num_queues: integer(1, MAX_QUEUES, 1, true),
  mtu: integer(MTU.min, MTU.max, 0, true),
  require_mtu_file: flag(false),
  include_default_routes: flag(false),
  qps: integer(1, 1_000_000, undefined, true),
  burst: integer(1, 1_000_000, undefined, true),
  agent_socket: custom('an absolute path, or "" to ask no agent', "/var/run/netplug/agent.sock", (value) =>
    value === "" || (typeof value === "string" && /^\/[^\p{Cc}]*$/u.test(value)) ? value : undefined,
  ),
  ipam_lock_file: path("/var/run/netplug/ipam.lock"),
  netplug_api_group: ANYTHING,
  device_type: ANYTHING,
  dataplane_options: ANYTHING,
  runtimeConfig: section({
    ips: addressList,
    mac: parsed("a unicast address aa:bb:cc:dd:ee:ff", undefined, tryParseMac),
    ipRanges: ANYTHING,
    portMappings: ANYTHING,
    bandwidth: ANYTHING,
    dns: ANYTHING,
    aliases: ANYTHING,
  }),
  args: section({ cni: section({ labels: list('an object with the texts "key" and "value"', [], readLabel), ips: addressList }) }),
  "cni.dev/valid-attachments": needed(list('an object with the texts "containerID" and "ifname"', undefined, readAttachment)),
  "cni.dev/attachments": ANYTHING,
} as const;
