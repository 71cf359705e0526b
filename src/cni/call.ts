/** One CNI call, read and checked: what every verb works with. */

import type { AttachmentId } from "../api/ipam-block.ts";
import type { Datastore } from "../datastore/datastore.ts";
import type { Workload } from "../endpoint/names.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { NetplugError } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import type { NetworkConfig } from "./config/network-config.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import type { PrefetchFile } from "./prefetch-file.ts";
import type { CniArgs } from "./protocol/cni-args.ts";
import type { CniEnvironment } from "./protocol/environment.ts";

/** The plugins that the executable is, by the name that it is called by. */
export type PluginName = "netplug" | "netplug-ipam";

/** What a call can do on this host alone. */
export interface LocalCall {
  readonly plugin: PluginName;
  readonly environment: CniEnvironment;
  readonly args: CniArgs;
  /** Why `CNI_ARGS` could not be read, and `args` is empty. Only a DEL goes on then. */
  readonly argsFault: NetplugError | undefined;
  readonly config: NetworkConfig;
  readonly host: Host;
  readonly log: Log;
  readonly ledger: Ledger;
  /** Limits the whole call, except for the wait for the pod's policy. */
  readonly deadline: Deadline;
}

/** What a call can do with the datastore as well. */
export interface Call extends LocalCall {
  /** The name of this node. */
  readonly node: string;
  /** Opened before the verb is called, and closed after it. */
  readonly datastore: Datastore;
  /** Whether the datastore's answers leave out damaged blocks, see `damaged-block/`: then nobody knows who has their addresses. */
  readonly isWithoutDamaged?: true;
  /** A text that is equal for calls with the same access to the same datastore: one of them may serve another. */
  readonly datastoreKey: () => string;
  readonly prefetch: PrefetchFile;
  /**
   * How often calls of the node had begun or ended work for others before this call read anything, see `countWork` in `linux/turns/`;
   * undefined: unknown.
   */
  readonly workCount: number | undefined;
  /** The call's one client of the Kubernetes API, shared with a Kubernetes datastore; made at the first use. */
  readonly openKube: () => Promise<KubeClient>;
}

/** Milliseconds to undo a failed ADD, from then on: the deadline of its call may be over. */
export const UNDO_MS = 10_000;

/** Whose attachment the call is about. */
export function workloadOf({ environment, args }: LocalCall): Workload {
  return { containerID: environment.containerID, ifName: environment.ifName, pod: args.pod };
}

/** What its allocations are known by, and its files on this node. */
export function attachmentIdOf({ config, environment }: LocalCall): AttachmentId {
  return { network: config.name, containerID: environment.containerID, ifName: environment.ifName };
}

/** Whether a plugin, of a call or of a hold, is the main plugin: it makes the interface, and records it. `netplug-ipam` gives addresses alone. */
export function isMain(plugin: string | undefined): boolean {
  return plugin === "netplug";
}

/** Whether addresses come from our own address management, in this process. */
export function hasOwnIpam({ plugin, config }: LocalCall): boolean {
  return !isMain(plugin) || config.ipam.type === "netplug-ipam";
}
