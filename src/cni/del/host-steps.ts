/** The steps of a DEL that need no datastore. */

import { messageOf } from "../../lib/errors.ts";
import type { Netns } from "../../linux/netns.ts";
import type { EndedHold } from "../attachment-state/ended-hold.ts";
import { linkNamesOf } from "../call-requests.ts";
import { isMain, type LocalCall } from "../call.ts";
import { delegateOf } from "../delegate/address-source.ts";
import type { Settled } from "../failures.ts";
import { openNetnsIfThere, waitForNetnsLock } from "../link/pod-netns.ts";
import { beginRemoval, type Removal } from "../link/remove.ts";

/** Milliseconds; an ADD takes about twenty, but may wait much longer for gates and policy. */
const LOCK_WAIT_MS = 5_000;

/**
 * Waits for an ADD in the same namespace. If that ADD hangs, or the namespace cannot be locked, the DEL goes on without the lock.
 *
 * @returns holds the lock until it is disposed of
 */
export async function lockPodNetns({ plugin, environment, host, log }: LocalCall): Promise<Disposable | undefined> {
  if (!isMain(plugin) || environment.netns === undefined) return undefined;
  let netns: Netns | undefined;
  try {
    netns = openNetnsIfThere(host.kernel, environment.netns);
    const end = host.clock.monotonic() + LOCK_WAIT_MS;
    const remainingMs = (): number => end - host.clock.monotonic();
    if (netns !== undefined) await waitForNetnsLock(host.kernel, netns, { clock: host.clock, remainingMs });
  } catch (thrown) {
    log.debug("cannot wait for other calls in the network namespace", { reason: messageOf(thrown) });
  }
  return netns;
}

/** A link's removal that has begun. Steps that must not run beside the link call {@link requireUnregistered}. */
export interface LinkRemoval extends Pick<Removal, "isAnotherNetworks" | "isUnregistered"> {
  /** Waits for the removal; later calls return the same outcome. */
  finish(): Settled;
}

/** Begins to remove the call's link, if it may have one. */
export function beginLinkRemoval(call: LocalCall): LinkRemoval {
  if (!isMain(call.plugin)) return { isAnotherNetworks: false, isUnregistered: () => true, finish: () => ({ ok: true }) };
  const span = call.ledger.phase("kernel");
  let begun: Removal;
  try {
    begun = beginRemoval(call.host.kernel, linkNamesOf(call), call.environment.netns);
  } catch (error) {
    span[Symbol.dispose]();
    return { isAnotherNetworks: false, isUnregistered: () => false, finish: () => ({ ok: false, error }) };
  }
  const wait = (): Settled => {
    using _span = span;
    try {
      if (!begun.finish()) call.log.debug("no interface to delete");
      return { ok: true };
    } catch (error) {
      return { ok: false, error };
    }
  };
  let outcome: Settled | undefined;
  return { ...begun, finish: () => (outcome ??= wait()) };
}

/** As long as the link can be used, its addresses must not be given to anybody else. @throws what keeps the link */
export function requireUnregistered(removal: LinkRemoval): void {
  if (removal.isUnregistered()) return;
  const link = removal.finish();
  if (!link.ok) throw link.error;
}

/** Tells the delegate, once the link cannot be used any more. @throws what keeps the link, or what the delegate says */
export async function releaseFromDelegate(call: LocalCall, removal: LinkRemoval, ended: EndedHold): Promise<void> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return;
  requireUnregistered(removal);
  const [{ delegateDel }, { forgetDns }] = await Promise.all([import("../delegate/mod.ts"), import("../attachment-state/delegate-dns.ts")]);
  if (ended.isTaken()) return;
  await call.ledger.time("delegate", () => delegateDel(delegate));
  forgetDns(call);
  call.log.debug("delegate released", { delegate: delegate.type });
}
