/** What an ADD fails with whose address is in use on the node. */

import { type AddRequest, askerOf } from "../../../endpoint/plan-add.ts";
import { toOriginText } from "../../../ipam/owner-text.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { WIDTH } from "../../../lib/ip/address.ts";
import { tryParsePrefix } from "../../../lib/ip/prefix.ts";
import { EEXIST } from "../../../linux/errno.ts";
import { KernelError } from "../../../linux/kernel-error.ts";
import type { RouteSocket } from "../../../linux/netlink/route-socket.ts";
import { withUser } from "../../link/address-user.ts";
import { USE_ADDRESS } from "../../link/node-address.ts";

/**
 * Whether an ADD failed because its address is in use: the node has a route to it, or has it itself, or as a gateway. False for an ADD that left
 * something behind: what it throws is the failure of the undo.
 */
export function isAddressInUse(fault: unknown): fault is KernelError {
  if (!(fault instanceof KernelError) || fault.errno !== EEXIST) return false;
  if (fault.operation !== "add route" && fault.operation !== USE_ADDRESS) return false;
  const destination = tryParsePrefix(fault.object);
  return destination !== undefined && destination.length === WIDTH[destination.family];
}

/** The failure of an ADD of `netplug`: where its address is in use, it says who uses it. @see withAsker */
export function toAddFailure(request: AddRequest, host: RouteSocket, fault: unknown): unknown {
  return isAddressInUse(fault) ? withAsker(withUser(host, fault), askerOf(request)) : fault;
}

/**
 * The failure of an ADD for which somebody asks for this very address. It says who asks; and it is none of those of {@link isAddressInUse}, so
 * the ADD does not run again: it would be given the same address.
 *
 * @param askedBy undefined where nobody asks: the failure stays as it is
 */
export function withAsker(fault: unknown, askedBy: string | undefined): unknown {
  if (askedBy === undefined || !isAddressInUse(fault)) return fault;
  return new NetplugError(fault.kind, `${fault.message}${toOriginText(askedBy, "it")}`, { cause: fault });
}
