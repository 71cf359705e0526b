/** One CNI call, read and checked: what every verb works with. */

import type { Datastore } from "../datastore/datastore.ts";
import type { Workload } from "../endpoint/names.ts";
import type { TransactPorts } from "../ipam/transact.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Deadline } from "../lib/deadline.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { DelegateCall, DelegatePorts } from "./delegate/mod.ts";
import type { Host } from "./host.ts";
import type { Ledger } from "./ledger.ts";
import type { NetworkConfig } from "./network-config.ts";
import type { NextAdd } from "./next-add.ts";
import type { CniArgs } from "./protocol/cni-args.ts";
import type { CniEnvironment } from "./protocol/environment.ts";

/** The plugins that the executable is, by the name that it is called by. */
export type PluginName = "netplug" | typeof OWN_IPAM;

/** Our own address management. */
export const OWN_IPAM = "netplug-ipam";

/** What a call can do on this host alone. */
export interface LocalCall {
  readonly plugin: PluginName;
  readonly environment: CniEnvironment;
  readonly args: CniArgs;
  readonly config: NetworkConfig;
  readonly host: Host;
  readonly log: Log;
  readonly ledger: Ledger;
  /** For the whole call, besides the policy wait. */
  readonly deadline: Deadline;
}

export interface Call extends LocalCall {
  /** Under which this node is known. */
  readonly node: string;
  /** Opened by the caller of the verb, closed by it too. */
  readonly datastore: Datastore;
  readonly nextAdd: NextAdd;
  /** The one client of the Kubernetes API, which is also that of a datastore there; made by the first who asks. */
  readonly openKube: () => Promise<KubeClient>;
}

/** What the loop of `ipam/` needs, with every request of it counted as time spent on the datastore. */
export function transactPortsOf(call: Call): TransactPorts {
  const { datastore, host, deadline, config, nextAdd } = call;
  const takeTurn = (waitMs: number): Promise<Disposable | undefined> => host.takeTurn(config.ipamLockFile, waitMs);
  const ports = { datastore, clock: host.clock, random: host.random, deadline, takeTurn, mayLag: true };
  // Where others give the addresses, the note is another network's.
  return hasOwnIpam(call) ? { ...ports, leaveAhead: nextAdd.leave } : ports;
}

/** Whose attachment the call is about. */
export function workloadOf({ environment, args }: LocalCall): Workload {
  return { containerID: environment.containerID, ifName: environment.ifName, pod: args.pod };
}

/** Whether addresses come from our own address management, in this process. */
export function hasOwnIpam({ plugin, config }: LocalCall): boolean {
  return plugin === "netplug-ipam" || config.ipam.type === OWN_IPAM;
}

/** A delegate, and how it is called on behalf of a call. */
export interface Delegate {
  readonly call: DelegateCall;
  readonly ports: DelegatePorts;
}

/**
 * Who gives addresses: a delegate, or undefined for our own address management.
 *
 * @throws NetplugError invalidConfig when the config names nobody
 */
export function requireIpam(call: LocalCall): Delegate | undefined {
  if (hasOwnIpam(call)) return undefined;
  const delegate = delegateOf(call);
  if (delegate !== undefined) return delegate;
  if (Array.isArray(call.config.raw["plugins"]))
    throw new NetplugError(
      "invalidConfig",
      'read network config: got a conflist, want an entry of its "plugins" with "name" and "cniVersion" in it',
    );
  throw new NetplugError("invalidConfig", `read "ipam.type": got nothing, want "${OWN_IPAM}" or another IPAM plugin`);
}

/** The delegate that `ipam.type` names; undefined when there is none. */
export function delegateOf(call: LocalCall): Delegate | undefined {
  const { type } = call.config.ipam;
  if (type === undefined || hasOwnIpam(call)) return undefined;
  const { processes, files, clock, env } = call.host;
  return {
    call: { type, config: call.config.raw, environment: env, deadline: call.deadline },
    ports: { processes, files, clock, log: call.log },
  };
}
