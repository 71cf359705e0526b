/** From the keys of the file to the names that the program uses. */

import type { Family } from "../../lib/ip/address.ts";
import type { EtcdSettings } from "../../datastore/config/datastore-settings.ts";
import type { IpamConfig, NetworkConfig } from "./network-config.ts";
import type { Label } from "./field.ts";
import type { ConfigValues } from "./read-table.ts";

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

const DEFAULT_AUTHORITY = "127.0.0.1:2379";
const DEFAULT_SCHEME = "http";

/**
 * Maps the checked values and fills in the defaults. Contradictions between keys are found where the keys are used, after merging with the
 * environment.
 *
 * @param known what is read before the fields
 * @param warnings gets a line for each key without effect
 */
export function toNetworkConfig(
  known: Pick<NetworkConfig, "name" | "cniVersion" | "prevResult" | "raw">,
  values: ConfigValues,
  warnings: string[],
): NetworkConfig {
  const libDir = values.lib_dir ?? "/var/lib/netplug";
  const labels = values.args?.cni?.labels;
  const ipamLockFile = values.ipam_lock_file ?? "/var/run/netplug/ipam.lock";
  return {
    name: known.name,
    cniVersion: known.cniVersion,
    type: values.type,
    nodename: values.nodename,
    nodenameFile: values.nodename_file ?? `${libDir}/nodename`,
    hostname: values.hostname,
    libDir,
    datastoreType: values.datastore_type,
    etcd: toEtcdSettings(values, warnings),
    ipam: toIpam(values.ipam ?? {}),
    log: {
      level: values.log_level ?? "INFO",
      filePath: values.log_file_path,
      maxSizeBytes: (values.log_file_max_size ?? 100) * MIB,
      maxAgeMs: (values.log_file_max_age ?? 30) * DAY_MS,
      maxCount: values.log_file_max_count ?? 10,
    },
    allowIpForwarding: values.container_settings?.allow_ip_forwarding ?? false,
    readinessGates: values.readiness_gates ?? [],
    kubernetes: {
      kubeconfig: values.kubernetes?.kubeconfig,
      apiRoot: values.kubernetes?.k8s_api_root ?? values.policy?.k8s_api_root,
      nodeName: values.kubernetes?.node_name,
    },
    policyType: values.policy?.type,
    policySetupTimeoutMs: (values.policy_setup_timeout_seconds ?? 0) * 1000,
    policySetupTimeoutAction: values.policy_setup_timeout_action ?? "start",
    endpointStatusDir: values.endpoint_status_dir ?? "/var/run/netplug/endpoint-status",
    featureControl: {
      ipAddrsNoIpam: values.feature_control?.ip_addrs_no_ipam ?? false,
      floatingIPs: values.feature_control?.floating_ips ?? false,
    },
    numQueues: values.num_queues ?? 1,
    mtu: values.mtu ?? 0,
    requireMtuFile: values.require_mtu_file ?? false,
    includeDefaultRoutes: values.include_default_routes ?? false,
    qps: values.qps,
    burst: values.burst,
    ipamLockFile,
    runFolder: ipamLockFile.slice(0, ipamLockFile.lastIndexOf("/")),
    runtimeConfig: { ips: values.runtimeConfig?.ips ?? [], mac: values.runtimeConfig?.mac },
    args: { labels: labels === undefined ? {} : toLabels(labels), ips: values.args?.cni?.ips ?? [] },
    prevResult: known.prevResult,
    validAttachments: values["cni.dev/valid-attachments"],
    raw: known.raw,
  };
}

function toLabels(labels: readonly Label[]): Readonly<Record<string, string>> {
  const record: Record<string, string> = {};
  for (const { key, value } of labels) record[key] = value;
  return record;
}

function toIpam(ipam: NonNullable<ConfigValues["ipam"]>): IpamConfig {
  const { type, assign_ipv4 = "true", assign_ipv6 = "false", ipv4_pools = [], ipv6_pools = [], routes } = ipam;
  const families: Family[] = [];
  if (assign_ipv4 === "true") families.push(4);
  if (assign_ipv6 === "true") families.push(6);
  const pools: { 4?: readonly string[]; 6?: readonly string[] } = {};
  if (ipv4_pools.length > 0) pools[4] = ipv4_pools;
  if (ipv6_pools.length > 0) pools[6] = ipv6_pools;
  return { type, families, pools, routes };
}

function toEtcdSettings(values: ConfigValues, warnings: string[]): EtcdSettings {
  return {
    endpoints: toEndpoints(values, warnings),
    discoverySrv: values.etcd_discovery_srv,
    keyFile: values.etcd_key_file,
    certFile: values.etcd_cert_file,
    caCertFile: values.etcd_ca_cert_file,
    username: values.etcd_username,
    password: values.etcd_password,
  };
}

/** The deprecated keys count only when no other key says where etcd is. */
function toEndpoints(
  { etcd_endpoints = [], etcd_discovery_srv, etcd_authority, etcd_scheme }: ConfigValues,
  warnings: string[],
): readonly string[] {
  if (etcd_authority === undefined && etcd_scheme === undefined) return etcd_endpoints;
  if (etcd_endpoints.length > 0 || etcd_discovery_srv !== undefined) {
    warnings.push('"etcd_authority" and "etcd_scheme" are deprecated and have no effect beside "etcd_endpoints" or "etcd_discovery_srv"');
    return etcd_endpoints;
  }
  warnings.push('"etcd_authority" and "etcd_scheme" are deprecated: write "etcd_endpoints"');
  return [`${etcd_scheme ?? DEFAULT_SCHEME}://${etcd_authority ?? DEFAULT_AUTHORITY}`];
}
