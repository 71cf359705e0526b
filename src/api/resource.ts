/** What all resources share. */

/** The group of our kinds in the Kubernetes API. */
export const API_GROUP = "netplug.io";

/** The version in which the group serves them. */
export const API_GROUP_VERSION = "v3";

/** The `apiVersion` of everything that an administrator writes, on both datastores. */
export const API_VERSION = `${API_GROUP}/${API_GROUP_VERSION}` as const;

/** The namespace of what names none, unless the caller knows another one. */
export const DEFAULT_NAMESPACE = "default";

/** Kinds that are stored as resources; `IPAMBlock` is kept apart because only the system writes it. */
export type Kind =
  "IPPool" | "IPReservation" | "IPAMConfiguration" | "ClusterInformation" | "Node" | "Profile" | "Tier" | "WorkloadEndpoint";

/** Kinds that Kubernetes has itself: ours are views of its nodes and pods. */
type ViewKind = "Node" | "WorkloadEndpoint";

/** Kinds with a CRD. */
export type CustomKind = Exclude<Kind, ViewKind>;

/** Of `metadata` in the Kubernetes API, what a resource keeps on every datastore. */
export interface Metadata {
  readonly name: string;
  /** Only of namespaced kinds. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uid?: string;
  /** RFC 3339, UTC. */
  readonly creationTimestamp?: string;
  /** Set on what was read, never stored. */
  readonly resourceVersion?: string;
  readonly generateName?: string;
}

/** An object of a kind; its spec `S` is unknown where it was read and is not checked yet. */
export interface Resource<K extends string = Kind, S = unknown> {
  readonly apiVersion: string;
  readonly kind: K;
  readonly metadata: Metadata;
  readonly spec: S;
}
