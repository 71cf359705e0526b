/** What a link needs from the kernel: the seam at which tests make each step fail. */

import { tryLock } from "../../linux/flock.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { NetlinkSocket } from "../../linux/netlink/socket.ts";
import { inNetns, isNamed, isOwnNetns, type Netns, openNetns } from "../../linux/netns.ts";
import { type SysctlWrite, writeSysctl } from "../../linux/sysctl.ts";

/** The kernel, in the network namespace that the process is in ("the host's") and in the pods'. All synchronous. */
export interface Kernel {
  /** @returns undefined when nothing is there @throws {NetplugError} badNetns */
  openNetns(path: string): Netns | undefined;
  /** Whether it is the host's. */
  isHostNetns(netns: Netns): boolean;
  /** Whether the namespace's path still names it, so that it was not removed. */
  isNamed(netns: Netns): boolean;
  /**
   * Takes the lock by which calls in one namespace wait for each other, until `netns` is disposed of.
   *
   * @returns false while another call has the lock
   * @throws {KernelError}
   */
  lockNetns(netns: Netns): boolean;
  /** A socket that stays bound to `netns`; without it, to the host's. @throws {KernelError} */
  openRouteSocket(netns?: Netns): RouteSocket;
  /** Makes all settings in order. @throws {KernelError} */
  writeSysctls(settings: readonly SysctlWrite[], netns?: Netns): void;
}

/** The real one. */
export const linuxKernel: Kernel = {
  openNetns,
  isHostNetns: isOwnNetns,
  isNamed,
  lockNetns: ({ fd, path }) => tryLock(fd, path),
  openRouteSocket: (netns) => (netns === undefined ? NetlinkSocket.open() : inNetns(netns, () => NetlinkSocket.open())),
  writeSysctls(settings, netns) {
    const writeAll = (): void => settings.forEach(writeSysctl);
    if (netns === undefined) writeAll();
    else if (settings.length > 0) inNetns(netns, writeAll);
  },
};
