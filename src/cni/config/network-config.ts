/** The network config as the rest of the plugin sees it: every default applied, every value checked. */

import type { Attachment } from "../../ipam/request.ts";
import type { Address, Family } from "../../lib/ip/address.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { LogLevel } from "../../lib/log/log.ts";
import type { RotationLimits } from "../../lib/log/log-file.ts";
import type { MacAddress } from "../../lib/mac-address.ts";
import type { CniResult } from "../protocol/result.ts";
import type { CniVersion } from "../protocol/versions.ts";
import type { EtcdSettings } from "../../datastore/config/datastore-settings.ts";
import type { DatastoreType } from "./field.ts";

/** What `parseNetworkConfig` makes of stdin. Spelling of the file stays behind; times are in milliseconds. */
export interface NetworkConfig {
  readonly name: string;
  readonly cniVersion: CniVersion;
  /** File name of the main plugin: ours, or the one that calls `netplug-ipam`. */
  readonly type: string | undefined;
  /** Unset: from file or host name, see `resolveNodeName`. */
  readonly nodename: string | undefined;
  readonly nodenameFile: string;
  readonly hostname: string | undefined;
  readonly libDir: string;
  /** As written; undefined: the environment or the default decides, see `resolveDatastore`. */
  readonly datastoreType: DatastoreType | undefined;
  /** The environment may add to it, see `resolveDatastore`. */
  readonly etcd: EtcdSettings;
  readonly ipam: IpamConfig;
  readonly log: LogConfig;
  readonly allowIpForwarding: boolean;
  /** Absolute URLs, http or https. */
  readonly readinessGates: readonly string[];
  readonly kubernetes: {
    readonly kubeconfig: string | undefined;
    /** Older configs name a path of the API; the client takes only what is before it. */
    readonly apiRoot: string | undefined;
    readonly nodeName: string | undefined;
  };
  readonly policyType: "k8s" | undefined;
  /** 0: do not wait. */
  readonly policySetupTimeoutMs: number;
  readonly policySetupTimeoutAction: "start" | "fail";
  readonly endpointStatusDir: string;
  readonly featureControl: { readonly ipAddrsNoIpam: boolean; readonly floatingIPs: boolean };
  readonly numQueues: number;
  /** 0: from the MTU file, else 1500. */
  readonly mtu: number;
  readonly requireMtuFile: boolean;
  readonly includeDefaultRoutes: boolean;
  /** Kubernetes client: requests a second, and how many at once. */
  readonly qps: number | undefined;
  readonly burst: number | undefined;
  readonly ipamLockFile: string;
  /** The folder of `ipamLockFile`, with the files that the processes of a node share. */
  readonly runFolder: string;
  readonly runtimeConfig: { readonly ips: readonly Address[]; readonly mac: MacAddress | undefined };
  readonly args: { readonly labels: Readonly<Record<string, string>>; readonly ips: readonly Address[] };
  /** For chaining and CHECK; undefined when absent. As it came, it is in `raw`. */
  readonly prevResult: CniResult | undefined;
  /** GC: the attachments to keep. undefined when the key is absent, which GC refuses. */
  readonly validAttachments: readonly Attachment[] | undefined;
  /** The whole document as it came, for delegates. */
  readonly raw: JsonObject;
}

/** The section `ipam`: who gives the addresses, from which pools and of which families, and what the pod's routes are. */
export interface IpamConfig {
  /** `netplug-ipam`, `host-local`, or any other delegate; undefined when the config has none. */
  readonly type: string | undefined;
  /** Those with `assign_ipv4` or `assign_ipv6`; may be none, which only an explicit address makes useful. */
  readonly families: readonly Family[];
  /** Names or CIDRs as written; a family without an entry may use all pools. */
  readonly pools: Readonly<Partial<Record<Family, readonly string[]>>>;
  /** undefined: default routes of the families the pod has. Empty: none. */
  readonly routes: readonly Prefix[] | undefined;
}

/** What the keys `log_…` say: stderr always has the log, the file only where there is a path. */
export interface LogConfig extends RotationLimits {
  readonly level: LogLevel;
  /** undefined: no file. */
  readonly filePath: string | undefined;
}
