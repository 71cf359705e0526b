/**
 * Runs an ADD again, once its work is undone, because the node has a route to the address that it was given. Somebody here uses that address,
 * although the datastore calls it free, for example after it was restored from a backup. Without a second run, a node whose only free address is
 * in use would give it to each ADD, and no pod could start. The second run gets no address to which the node has a route, and no gateway.
 */

import { NetplugError } from "../../../lib/errors.ts";
import { toHostPrefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { KernelError } from "../../../linux/kernel-error.ts";
import { listRoutes, toRoutes } from "../../../linux/netlink/route.ts";
import { hasNodeFile } from "../../attachment-state/node-files.ts";
import type { Call } from "../../call.ts";
import type { Kernel } from "../../link/kernel.ts";
import type { FailedRun } from "../../failed-run.ts";
import { isToOneAddress } from "./require-unused.ts";
import { withReserved } from "./with-reserved.ts";

/** @throws `fault` where the pools have no other address; NetplugError */
export async function retryElsewhere(call: Call, { fault, run }: FailedRun<KernelError>): Promise<void> {
  const inUse = routedAddresses(call.host.kernel);
  // A DEL that came during the undo has removed the hold; the second run would take a hold of its own, and not notice the DEL.
  if (!inUse.includes(fault.object) || !hasNodeFile(call, "attached")) throw fault;
  call.log.warning("the address is in use on this node, and allocated to nobody: take another one", { reason: fault.message });
  // A key that no other process has: one that served our request from the queue would not know what is in use.
  const datastoreKey = (): string => `${call.datastoreKey()} of process ${call.host.processId}`;
  try {
    await run({ ...call, datastore: withReserved(call.datastore, inUse), datastoreKey });
  } catch (thrown) {
    if (!(thrown instanceof NetplugError) || thrown.kind !== "noAddressLeft") throw thrown;
    // Nobody finds a reservation of those that the second run was not to get.
    const details = `${thrown.message}; addresses to which this node has a route count as reserved`;
    throw new NetplugError(fault.kind, fault.message, { cause: fault, details });
  }
}

/** In the form `10.65.0.7/32`: addresses that have a route of their own on the host, the host's own addresses, and its gateways. */
function routedAddresses(kernel: Kernel): readonly string[] {
  using host = kernel.openRouteSocket();
  const routes = [...host.dump(listRoutes(4)), ...host.dump(listRoutes(6))].flatMap(toRoutes);
  const all = routes.flatMap((route) => [
    ...(isToOneAddress(route) ? [toPrefixText(route.destination)] : []),
    ...(route.gateway === undefined ? [] : [toPrefixText(toHostPrefix(route.gateway))]),
  ]);
  return [...new Set(all)];
}
