/** Waiting for the kernel's workers, which make a link usable. Nearly always it is so at once, and nothing of this is loaded. */

import type { Clock } from "../../lib/ports.ts";
import type { Ifindex } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import type { PodLink } from "../../endpoint/pod-link.ts";
import type { LinkSockets } from "./sockets.ts";
import { hostEnd, type LinkEnd, looksAt, podEnd, unusableOf } from "./usable.ts";

/** Milliseconds between looks: at first, and at most. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

/** How long an ADD waits. */
export interface UsableOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Milliseconds. */
  readonly waitMs: number;
}

/**
 * Waits until both ends send, and receive for their addresses. Looks once even when no time is left: the first look may be long ago.
 *
 * @returns what is not usable after all this time, one text for each; empty when the link is ready
 * @throws {KernelError} an end is gone
 */
export async function whenUsable(
  { host, pod }: Pick<LinkSockets, "host" | "pod">,
  link: PodLink,
  { index, peer }: { readonly index: Ifindex; readonly peer: Ifindex },
  { clock, waitMs }: UsableOptions,
): Promise<readonly string[]> {
  const end = clock.monotonic() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() < end) await clock.sleep(pauseMs);
    const left = [...look(pod, podEnd(link, peer)), ...look(host, hostEnd(link, index))];
    if (left.length === 0 || clock.monotonic() >= end) return left;
  }
}

/** {@link unusableOf} as it is now. @throws {KernelError} the end is gone */
export function look(socket: RouteSocket, end: LinkEnd): readonly string[] {
  return unusableOf(end, socket.transact(looksAt(end)));
}
