/** The real kernel, with a namespace of the test's as "the host's": what a plugin does then touches no interface of this machine. */

import { type Kernel, linuxKernel } from "../../../src/cni/link/kernel.ts";
import { inNetns, type Netns } from "../../../src/linux/netns.ts";

/** @param host stays open for as long as the kernel is used */
export function kernelIn(host: Netns): Kernel {
  return {
    ...linuxKernel,
    isHostNetns: (netns) => inNetns(host, () => linuxKernel.isHostNetns(netns)),
    openRouteSocket: (netns) => linuxKernel.openRouteSocket(netns ?? host),
    writeSysctls: (settings, netns) => linuxKernel.writeSysctls(settings, netns ?? host),
  };
}
