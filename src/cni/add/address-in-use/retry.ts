/**
 * Runs an ADD again after the node turned out to have a route to the address that it was given, when its work is undone. Somebody here uses that
 * address, although the datastore has it free: it was restored from a backup, say. Otherwise a node whose only free address is such a one
 * would give it to each ADD, and no pod could start. This time addresses to which the node has routes, and its gateways, are not given.
 */

import { NetplugError } from "../../../lib/errors.ts";
import { toHostPrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { KernelError } from "../../../linux/kernel-error.ts";
import { listRoutes, toRoutes } from "../../../linux/netlink/route.ts";
import { hasNodeFile } from "../../attachment-state/node-files.ts";
import type { Call } from "../../call.ts";
import type { Kernel } from "../../link/kernel.ts";
import type { FailedRun } from "../../failed-run.ts";
import { isOfUser } from "./routed.ts";
import { withReserved } from "./with-reserved.ts";

/** @throws `fault` where the pools have no other address; NetplugError */
export async function retryElsewhere(call: Call, { fault, run }: FailedRun<KernelError>): Promise<void> {
  const inUse = routedAddresses(call.host.kernel);
  // A DEL that came while the ADD was undone has removed the hold; the second run would take one of its own, and not notice.
  if (!inUse.includes(fault.object) || !hasNodeFile(call, "attached")) throw fault;
  call.log.warning("the address is in use on this node, and allocated to nobody: take another one", { reason: fault.message });
  // Of this process alone: whoever served its request in the queue would not know what is in use.
  const datastoreKey = (): string => `${call.datastoreKey()} of process ${call.host.processId}`;
  try {
    await run({ ...call, datastore: withReserved(call.datastore, inUse), datastoreKey });
  } catch (thrown) {
    if (!(thrown instanceof NetplugError) || thrown.kind !== "noAddressLeft") throw thrown;
    throw new NetplugError(fault.kind, fault.message, { cause: fault, details: thrown.message });
  }
}

/** `10.65.0.7/32`, of all to which the host has a route of their own, of its own, and of its gateways. */
function routedAddresses(kernel: Kernel): readonly string[] {
  using host = kernel.openRouteSocket();
  const routes = [...host.dump(listRoutes(4)), ...host.dump(listRoutes(6))].flatMap(toRoutes);
  const all = routes.flatMap((route) => [
    ...(isOfUser(route) ? [toPrefixText(route.destination)] : []),
    ...(route.gateway === undefined ? [] : [toPrefixText(toHostPrefix(route.gateway))]),
  ]);
  return [...new Set(all)];
}
