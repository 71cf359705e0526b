/** STATUS: whether an ADD could succeed now, found out by asking. */

import { CLUSTER_INFORMATION, requireReady } from "../datastore/cluster-state.ts";
import type { Query } from "../datastore/datastore.ts";
import { IP_POOLS } from "../ipam/cluster.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { type Call, hasOwnIpam } from "./call.ts";
import { resolveMtu } from "./config/node-facts.ts";
import { delegateStatus } from "./delegate/mod.ts";
import { delegateOf, requireIpam } from "./delegate/address-source.ts";
import type { Kernel } from "./link/kernel.ts";
import { arePodsLookedUp, isNodeLookedUp } from "./pod/facts.ts";

/** @throws NetplugError notAvailable or degraded with the reason */
export async function status(call: Call): Promise<void> {
  const delegate = delegateOf(call);
  await orNotAvailable(async () => {
    requireIpam(call);
    if (call.plugin === "netplug") {
      resolveMtu(call.config, call.host.files);
      requireRights(call.host.kernel);
    }
    const wantsToCommit = hasOwnIpam(call) ? "addresses" : "records";
    const [[cluster]] = await Promise.all([
      call.deadline.wait("the datastore", (signal) => call.datastore.read(queriesOf(call), { signal, mayLag: true, wantsToCommit })),
      arePodsLookedUp(call) || isNodeLookedUp(call)
        ? import("./pod/ask.ts").then(({ probeKubernetes }) => probeKubernetes(call))
        : undefined,
    ]);
    requireReady(cluster, "add");
  });
  if (delegate !== undefined) await delegateStatus(delegate);
}

/** Pools too, which every ADD reads: they may be forbidden or damaged, or on Kubernetes their CRD may be missing. */
function queriesOf(call: Call): readonly [typeof CLUSTER_INFORMATION, ...Query[]] {
  return hasOwnIpam(call) ? [CLUSTER_INFORMATION, IP_POOLS] : [CLUSTER_INFORMATION];
}

/** Enters a network namespace as an ADD does. @throws {KernelError} */
function requireRights(kernel: Kernel): void {
  using netns = kernel.openNetns("/proc/thread-self/ns/net");
  kernel.openRouteSocket(netns)[Symbol.dispose]();
}

async function orNotAvailable(probe: () => Promise<void>): Promise<void> {
  try {
    await probe();
  } catch (cause) {
    throw new NetplugError("notAvailable", messageOf(cause), {
      cause,
      ...(cause instanceof NetplugError && cause.details !== undefined && { details: cause.details }),
    });
  }
}
