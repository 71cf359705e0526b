/** What a cluster is, and whether its datastore may be used: one object, `default`. */

import type { Resource } from "./resource.ts";

/** Made by `initialise()`. Without it the datastore counts as never initialised: additions are refused, releases are not. */
export interface ClusterInformationSpec {
  /** 32 hexadecimal digits; made when the datastore is initialised, then never changed. */
  readonly clusterGUID?: string;
  /** What the cluster consists of, comma-separated, e.g. `etcd` or `k8s`. */
  readonly clusterType?: string;
  /** The newest netplug version that initialised or upgraded the datastore, e.g. `v3.31.0`. */
  readonly netplugVersion?: string;
  /** Absent or false: locked; ADD waits for it, DEL and releases go on. */
  readonly datastoreReady?: boolean;
  /** Set by a migration: nothing at all is written. @default false */
  readonly datastoreFrozen?: boolean;
}

/**
 * Writes carry its revision as a condition: on etcd none is committed once a migration has frozen the datastore. On Kubernetes the condition is
 * looked at some seconds before, so writes that were under way may still come.
 */
export type ClusterInformation = Resource<"ClusterInformation", ClusterInformationSpec>;

/** The name of the one object of each kind that has only one. */
export const SINGLETON_NAME = "default";
