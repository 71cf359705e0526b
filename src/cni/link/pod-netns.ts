/** `CNI_NETNS`, checked before any side effect. */

import { NetplugError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import type { Kernel } from "./kernel.ts";

/** Milliseconds between tries for a namespace in which another call works; an ADD takes about twenty. */
const PAUSE_MS = 5;

/**
 * Opens the pod's network namespace for an ADD or CHECK.
 *
 * @param allowsOwn whether the host's own will do
 * @throws {NetplugError} badNetns: nothing is there, it is something else, or it is the plugin's own
 */
export function openPodNetns(kernel: Kernel, path: string, allowsOwn = false): Netns {
  const netns = kernel.openNetns(path);
  if (netns === undefined) throw new NetplugError("badNetns", `open network namespace ${quote(path)}: it does not exist`);
  if (!allowsOwn && isHostNetnsOrClose(kernel, netns)) {
    netns[Symbol.dispose]();
    throw new NetplugError(
      "badNetns",
      `open network namespace ${quote(path)}: it is the plugin's own, want the container's (set CNI_NETNS_OVERRIDE to allow it)`,
    );
  }
  return netns;
}

/**
 * As {@link openPodNetns} for a DEL, which needs no namespace.
 *
 * @returns undefined when nothing is at the path, or something else than a namespace: then no interface of the pod is left there
 */
export function openNetnsIfThere(kernel: Kernel, path: string): Netns | undefined {
  try {
    return kernel.openNetns(path);
  } catch (cause) {
    if (cause instanceof NetplugError && cause.kind === "badNetns") return undefined;
    throw cause;
  }
}

/**
 * Throws when a namespace has lost its name. During a slow ADD its runtime may end, and the next runtime may call DEL and remove the
 * namespace, which then lives only because we hold it open. Nobody would call DEL for what the ADD sets up from then on.
 *
 * @throws {NetplugError} badNetns
 */
export function requireNetns(kernel: Kernel, netns: Netns): void {
  if (kernel.isNamed(netns)) return;
  throw new NetplugError("badNetns", `use network namespace ${quote(netns.path)}: it was removed, the container has ended meanwhile`);
}

/** How long one call waits for another in the same namespace. */
export interface NetnsLockOptions {
  readonly clock: Pick<Clock, "sleep">;
  /** Milliseconds that are left. */
  readonly remainingMs: () => number;
}

/**
 * Waits until no other ADD or DEL works in the pod's namespace. A runtime should not call two at once, but does after it gave up on an ADD
 * without ending it. Neither call may then take the other's interface or addresses for leftovers.
 *
 * @returns `at-once`, `waited` (what was read before is out of date), or `busy`: another call had the lock all the time
 */
export async function waitForNetnsLock(
  kernel: Kernel,
  netns: Netns,
  { clock, remainingMs }: NetnsLockOptions,
): Promise<"at-once" | "waited" | "busy"> {
  if (kernel.lockNetns(netns)) return "at-once";
  while (remainingMs() > 0) {
    await clock.sleep(Math.min(PAUSE_MS, remainingMs()));
    if (kernel.lockNetns(netns)) return "waited";
  }
  return "busy";
}

function isHostNetnsOrClose(kernel: Kernel, netns: Netns): boolean {
  try {
    return kernel.isHostNetns(netns);
  } catch (cause) {
    netns[Symbol.dispose]();
    throw cause;
  }
}
