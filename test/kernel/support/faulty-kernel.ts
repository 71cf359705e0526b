/** A kernel of which one step fails. */

import type { Kernel } from "../../../src/cni/link/kernel.ts";
import { linuxKernel } from "../../../src/cni/link/kernel.ts";
import { KernelError } from "../../../src/linux/kernel-error.ts";
import type { RouteSocket } from "../../../src/linux/netlink/route-socket.ts";

/** Where a fault strikes: before anything is done, after all of it, or after one part of several. */
export type FaultMoment = "before" | "after" | "between";

/**
 * Counts the calls that may fail; the one with number `failing` does. The calls of undo, which come after it, succeed.
 *
 * @returns the kernel, and whether the fault was reached
 */
export function faultyKernel(failing: number, moment: FaultMoment): { kernel: Kernel; hasFailed: () => boolean } {
  let calls = 0;
  let hasFailed = false;

  /** @param part of the work, for one that has several */
  const step = <T>(what: string, whole: () => T, part: () => unknown = () => {}): T => {
    if (++calls !== failing) return whole();
    hasFailed = true;
    // Nobody gets what was opened, so nobody else could close it.
    if (moment === "after") dispose(whole());
    if (moment === "between") part();
    throw new KernelError({ operation: what, object: "fault", errno: 5 });
  };

  const wrap = (socket: RouteSocket): RouteSocket => ({
    transact: (requests) =>
      step(
        requests.map((request) => request.operation).join(", "),
        () => socket.transact(requests),
        () => socket.transact(firstHalf(requests)),
      ),
    start: (request) => step(request.operation, () => socket.start(request)),
    dump: (request) => step(request.operation, () => socket.dump(request)),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  });

  const kernel: Kernel = {
    openNetns: (path) => step("open", () => linuxKernel.openNetns(path)),
    isHostNetns: (netns) => step("compare", () => linuxKernel.isHostNetns(netns)),
    isNamed: (netns) => linuxKernel.isNamed(netns),
    lockNetns: (netns) => step("lock", () => linuxKernel.lockNetns(netns)),
    openRouteSocket: (netns) => step("open socket", () => wrap(linuxKernel.openRouteSocket(netns))),
    writeSysctls: (settings, netns) =>
      step(
        "write settings",
        () => linuxKernel.writeSysctls(settings, netns),
        () => linuxKernel.writeSysctls(firstHalf(settings), netns),
      ),
  };
  return { kernel, hasFailed: () => hasFailed };
}

function firstHalf<T>(all: readonly T[]): readonly T[] {
  return all.slice(0, Math.ceil(all.length / 2));
}

function dispose(result: unknown): void {
  if (typeof result === "object" && result !== null && Symbol.dispose in result) (result as Disposable)[Symbol.dispose]();
}
