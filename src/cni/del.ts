/** DEL: removes the link, then what it can at the datastore and the delegate. It succeeds when nothing is left to do. */

import { type DelRequest, delQueries } from "../endpoint/plan-del.ts";
import type { Facts } from "../ipam/facts.ts";
import { messageOf } from "../lib/errors.ts";
import type { Netns } from "../linux/netns.ts";
import { type EndedHold, endHold } from "./attachment-state/hold.ts";
import { linkNamesOf } from "./call-requests.ts";
import { type Call, hasOwnIpam, type LocalCall } from "./call.ts";
import { delegateOf } from "./delegate/address-source.ts";
import { settle, type Settled, throwFirstFailure } from "./failures.ts";
import { openNetnsIfThere, waitForNetnsLock } from "./link/pod-netns.ts";
import { beginRemoval, type Removal } from "./link/remove.ts";
import type { PendingOfDel } from "./pending-release/while-deleting.ts";
import { beginReading } from "./transact-ports.ts";
import { toDelRequest, withdraw } from "./withdraw/withdraw.ts";

/** Milliseconds; an ADD takes about twenty, but may wait much longer for gates and policy. */
const LOCK_WAIT_MS = 5_000;

/**
 * Does all that can be done, then throws the first failure: the runtime tries again. Without `CNI_ARGS` the attachment's allocations tell
 * what its record is called.
 *
 * @throws NetplugError tryAgainLater when the datastore is away, malformedRequest when `CNI_ARGS` could not be read
 */
export async function del(call: Call): Promise<void> {
  const { argsFault } = call;
  const request = toDelRequest(call);
  using _locked = await lockPodNetns(call);
  const own = isNoted(call) ? (await import("./pending-release/while-deleting.ts")).preparePendingOfDel(call) : undefined;
  const ended = endHold(call, own?.write);
  if (ended.isTaken()) return logTaken(call);
  // The kernel takes longest. Meanwhile, read the datastore, decide, and release what the link no longer uses.
  const removal = beginLinkRemoval(call);
  const reading = beginReading(call, delQueries(request));
  const isAnyPending = preparePending(call, own);
  const delegate = await settle(() => releaseFromDelegate(call, removal, ended));
  const store = await settle(async () => withdrawOwn(call, request, await reading, { removal, ended }));
  const link = removal.finish();
  if (store.ok) {
    own?.settle();
    if (await isAnyPending) await (await import("./pending-release/carry-out.ts")).releasePending(call);
  } else if (link.ok && hasOwnIpam(call) && !ended.isTaken()) {
    // Of what a newer ADD has, its own DEL leaves one.
    const { leavePending } = await import("./pending-release/after-failed-del.ts");
    leavePending(call, store.error, ended.plugin, own);
  }
  throwFirstFailure([link, delegate, store, argsFault === undefined ? { ok: true } : { ok: false, error: argsFault }]);
}

/**
 * Whether the call notes ahead what it is to release. No other DEL may come if it is killed, also where the runtime knows the ADD's result:
 * another interface's ADD may have failed, or the sandbox after it.
 */
export function isNoted(call: LocalCall): boolean {
  return hasOwnIpam(call) && call.plugin === "netplug";
}

/**
 * Makes pending releases of stale holds.
 *
 * @param own the call's pending release
 * @returns whether earlier calls left something to release
 */
async function preparePending(call: Call, own: PendingOfDel | undefined): Promise<boolean> {
  if (call.isWithoutDamaged === true || !hasOwnIpam(call)) return false;
  if (call.plugin === "netplug") {
    const { isAnyPending, noteStaleHolds } = await import("./pending-release/from-stale-holds.ts");
    // The ADD has failed, for all that the runtime knows.
    const isLast = own !== undefined && !call.config.prevResult;
    noteStaleHolds(call, isLast ? "most" : "some");
    if (!isAnyPending(call, { besides: own?.until() === undefined ? 0 : 1 })) return false;
  }
  return (await import("./pending-release/carry-out.ts")).hasPending(call);
}

/** A late DEL does nothing: its runtime has ended, and the next one has called ADD. */
function logTaken(call: Call): void {
  call.log.info("a newer ADD has the attachment, leave it");
}

/** Withdraws addresses and record, unless a newer ADD has the attachment: its addresses would have the same owner. */
async function withdrawOwn(
  call: Call,
  request: DelRequest,
  facts: Facts,
  { removal, ended }: { readonly removal: LinkRemoval; readonly ended: EndedHold },
): Promise<void> {
  let isTaken = false;
  const beforeCommit = (): void => {
    requireUnregistered(removal);
    isTaken = ended.isTaken();
    if (isTaken) throw new Error("a newer ADD has the attachment");
  };
  // On Kubernetes a record does not name its network, so this one may belong to that other network.
  const own: DelRequest = removal.isAnotherNetworks ? { ...request, records: "none" } : request;
  const withdrawn = await settle(async () => {
    const { released } = await withdraw(call, own, { facts, beforeCommit });
    if (released.length > 0 || call.config.prevResult === undefined || !hasOwnIpam(call)) return;
    await (await import("./withdraw/withdraw-elsewhere.ts")).withdrawRemembered(call, own, { beforeCommit });
  });
  if (isTaken) logTaken(call);
  else if (!withdrawn.ok) throw withdrawn.error;
}

/**
 * Waits for an ADD in the same namespace. If that ADD hangs, or the namespace cannot be locked, the DEL goes on without the lock.
 *
 * @returns holds the lock until it is disposed of
 */
export async function lockPodNetns({ plugin, environment, host, log }: LocalCall): Promise<Disposable | undefined> {
  if (plugin === "netplug-ipam" || environment.netns === undefined) return undefined;
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
interface LinkRemoval extends Pick<Removal, "isAnotherNetworks" | "isUnregistered"> {
  /** Waits for the removal; later calls return the same outcome. */
  finish(): Settled;
}

/** Begins to remove the call's link, if it may have one. */
export function beginLinkRemoval(call: LocalCall): LinkRemoval {
  if (call.plugin === "netplug-ipam") return { isAnotherNetworks: false, isUnregistered: () => true, finish: () => ({ ok: true }) };
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
function requireUnregistered(removal: LinkRemoval): void {
  if (removal.isUnregistered()) return;
  const link = removal.finish();
  if (!link.ok) throw link.error;
}

/** Once the link cannot be used any more. @throws what keeps it, or what the delegate says */
export async function releaseFromDelegate(call: LocalCall, removal: LinkRemoval, ended: EndedHold): Promise<void> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return;
  requireUnregistered(removal);
  const [{ delegateDel }, { forgetDns }] = await Promise.all([import("./delegate/mod.ts"), import("./attachment-state/delegate-dns.ts")]);
  if (ended.isTaken()) return;
  await call.ledger.time("delegate", () => delegateDel(delegate));
  forgetDns(call);
  call.log.debug("delegate released", { delegate: delegate.type });
}
