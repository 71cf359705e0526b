/** `CNI_NETNS`, checked before any side effect. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import type { Kernel } from "./kernel.ts";

export interface PodNetnsOptions {
  /** `CNI_NETNS_OVERRIDE`: the host's own namespace will do. @default false */
  readonly allowOwn?: boolean;
}

/**
 * Opens the pod's network namespace for an ADD or CHECK.
 *
 * @throws {NetplugError} badNetns: nothing is there, it is something else, or it is the plugin's own
 */
export function openPodNetns(kernel: Kernel, path: string, { allowOwn = false }: PodNetnsOptions = {}): Netns {
  const netns = kernel.openNetns(path);
  if (netns === undefined) throw new NetplugError("badNetns", `open network namespace ${quote(path)}: it does not exist`);
  if (!allowOwn && isHostNetnsOrClose(kernel, netns)) {
    netns[Symbol.dispose]();
    throw new NetplugError(
      "badNetns",
      `open network namespace ${quote(path)}: it is the plugin's own, want the container's (set CNI_NETNS_OVERRIDE to allow it)`,
    );
  }
  return netns;
}

function isHostNetnsOrClose(kernel: Kernel, netns: Netns): boolean {
  try {
    return kernel.isHostNetns(netns);
  } catch (cause) {
    netns[Symbol.dispose]();
    throw cause;
  }
}
