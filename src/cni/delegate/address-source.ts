/** Who gives a call its addresses. */

import { NetplugError } from "../../lib/errors.ts";
import { hasOwnIpam, type LocalCall } from "../call.ts";
import type { Delegate } from "./invoke.ts";

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
  throw new NetplugError("invalidConfig", 'read "ipam.type": got nothing, want "netplug-ipam" or another IPAM plugin');
}

/** The delegate that `ipam.type` names; undefined when there is none. */
export function delegateOf(call: LocalCall): Delegate | undefined {
  const { type } = call.config.ipam;
  if (type === undefined || hasOwnIpam(call)) return undefined;
  const { processes, files, clock, env } = call.host;
  // A delegate would refuse what we cannot read of them.
  const args = call.argsFault === undefined ? call.environment.args : "";
  const environment = { ...env, CNI_ARGS: args === "" ? undefined : args };
  const ports = { processes, files, clock, log: call.log };
  return { type, config: call.config.raw, environment, deadline: call.deadline, ports };
}
