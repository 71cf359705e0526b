/** DEL: the link at once, the datastore and the delegate as far as they can be reached, success when nothing is left to do. */

import { endpointRef } from "../endpoint/plan-add.ts";
import { type DelRequest, delQueries, planDel } from "../endpoint/plan-del.ts";
import { isSameAttachment } from "../ipam/block.ts";
import type { Facts } from "../ipam/facts.ts";
import { readFacts, transact, type TransactOptions } from "../ipam/transact.ts";
import { messageOf } from "../lib/errors.ts";
import type { Netns } from "../linux/netns.ts";
import { linkNamesOf } from "./attachment.ts";
import { type Call, delegateOf, hasOwnIpam, type LocalCall, transactPortsOf, workloadOf } from "./call.ts";
import { settle, type Settled, throwFirstFailure } from "./failures.ts";
import { type EndedHold, endHold, type Hold } from "./hold.ts";
import { openNetnsIfThere, takeTurnInNetns } from "./link/pod-netns.ts";
import { beginRemoval, type Removal } from "./link/remove.ts";
import { hasNotes } from "./unreleased.ts";

/** Milliseconds; an ADD takes about twenty, but may wait much longer for gates and policy. */
const TURN_WAIT_MS = 5_000;

/**
 * Does all that can be done, then throws the first failure: the runtime tries again.
 *
 * @throws NetplugError tryAgainLater when the datastore is away
 */
export async function del(call: Call): Promise<void> {
  const { ledger } = call;
  const request = toDelRequest(call);
  using _turn = await takeTurn(call);
  const ended = endHold(call);
  if (ended.isTaken()) return leaveTaken(call);
  // The kernel needs most of the time; what the datastore holds is read and decided meanwhile.
  const removal = beginTakingDown(call);
  const reading = ledger.time("datastore", () => readFacts(transactPortsOf(call), delQueries(request)));
  reading.catch(() => {
    // Reported below, after the local work.
  });
  const isNoted = isAnyNoted(call);
  const delegate = await settle(() => releaseFromDelegate(call, removal, ended));
  const store = await settle(async () => withdrawOwn(call, request, await reading, { removal, ended }));
  const link = removal.finish();
  if (store.ok) {
    if (await isNoted) await releaseNoted(call);
  } else if (link.ok && hasOwnIpam(call)) (await import("./give-back.ts")).noteUnreleased(call, store.error, ended.plugin);
  throwFirstFailure([link, delegate, store]);
}

/** Whether there is something to give back besides the call's own. */
async function isAnyNoted(call: Call): Promise<boolean> {
  return hasOwnIpam(call) && hasNotes(call) && (await import("./give-back.ts")).hasUnreleased(call);
}

/** Gives back what earlier calls could not. That it fails again is no failure of this one, which is done. */
async function releaseNoted(call: Call): Promise<void> {
  const released = await settle(async () => (await import("./give-back.ts")).releaseUnreleased(call));
  if (!released.ok) call.log.info("cannot release what earlier calls left", { reason: messageOf(released.error) });
}

/**
 * What a DEL can do that does not know the datastore, or itself in it: the link goes, and what a delegate gave.
 *
 * @throws the fault that is the reason, with what else went wrong in its details
 */
export async function delLocally(call: LocalCall, fault: unknown): Promise<never> {
  using _turn = await takeTurn(call);
  const ended = endHold(call);
  if (ended.isTaken()) throw fault;
  const removal = beginTakingDown(call);
  const delegate = await settle(() => releaseFromDelegate(call, removal, ended));
  throwFirstFailure([{ ok: false, error: fault }, removal.finish(), delegate]);
  throw fault;
}

/** The way back of an ADD: its addresses and its record, read afresh; those of a newer ADD stay. */
export async function withdrawAttachment(call: Call, hold: Hold): Promise<void> {
  const { unlessTaken } = await import("./give-back.ts");
  await unlessTaken(call, hold, () => withdraw(call, toDelRequest(call)));
}

function toDelRequest(call: Call): DelRequest {
  const { config, environment, node } = call;
  const workload = workloadOf(call);
  const id = { network: config.name, containerID: environment.containerID, ifName: environment.ifName };
  return {
    node,
    isOwnerMeant: (owner) => isSameAttachment(owner, id),
    isEndpointMeant: ({ spec }) =>
      spec.containerID === id.containerID && spec.endpoint === id.ifName && (spec.network ?? id.network) === id.network,
    endpoints: call.plugin === "netplug-ipam" ? [] : [endpointRef({ node, workload, labels: config.args.labels })],
  };
}

/** For a DEL that comes late: its runtime has gone, and the next one has called another. */
function leaveTaken(call: Call): void {
  call.log.info("a newer ADD has the attachment, leave it");
}

/** Not what a newer ADD has, though its owner is the same. */
async function withdrawOwn(
  call: Call,
  request: DelRequest,
  facts: Facts,
  { removal, ended }: { readonly removal: TakingDown; readonly ended: EndedHold },
): Promise<void> {
  let isTaken = false;
  const beforeCommit = (): void => {
    expectGone(removal);
    isTaken = ended.isTaken();
    if (isTaken) throw new Error("a newer ADD has the attachment");
  };
  const withdrawn = await settle(() => withdraw(call, request, { facts, beforeCommit }));
  if (isTaken) leaveTaken(call);
  else if (!withdrawn.ok) throw withdrawn.error;
}

async function withdraw(call: Call, request: DelRequest, options: TransactOptions<void> = {}): Promise<void> {
  await call.ledger.time("datastore", () =>
    transact<void>(
      transactPortsOf(call),
      delQueries(request),
      (known, { now }) => {
        const plan = planDel(request, known, now);
        return "wanted" in plan ? plan : { writes: plan.writes, result: undefined };
      },
      options,
    ),
  );
}

/**
 * Lets an ADD in the same namespace end first. One that hangs does not keep us from our work, nor does a namespace that cannot be locked.
 *
 * @returns what ends the turn
 */
async function takeTurn({ plugin, environment, host, log }: LocalCall): Promise<Disposable | undefined> {
  if (plugin === "netplug-ipam" || environment.netns === undefined) return undefined;
  let netns: Netns | undefined;
  try {
    netns = openNetnsIfThere(host.kernel, environment.netns);
    const end = host.clock.monotonic() + TURN_WAIT_MS;
    const remainingMs = (): number => end - host.clock.monotonic();
    if (netns !== undefined) await takeTurnInNetns(host.kernel, netns, { clock: host.clock, remainingMs });
  } catch (thrown) {
    log.debug("cannot wait for other calls in the network namespace", { reason: messageOf(thrown) });
  }
  return netns;
}

/** The end of the link, which is asked for by all who may go on only then. */
interface TakingDown {
  /** Waits for it, the first time. */
  finish(): Settled;
}

function beginTakingDown(call: LocalCall): TakingDown {
  if (call.plugin === "netplug-ipam") return { finish: () => ({ ok: true }) };
  const span = call.ledger.phase("kernel");
  let begun: Removal | undefined;
  let outcome: Settled | undefined;
  try {
    begun = beginRemoval(call.host.kernel, linkNamesOf(call), call.environment.netns);
  } catch (error) {
    span[Symbol.dispose]();
    outcome = { ok: false, error };
  }
  const wait = (): Settled => {
    using _span = span;
    try {
      if (begun?.finish() === false) call.log.debug("no interface to delete");
      return { ok: true };
    } catch (error) {
      return { ok: false, error };
    }
  };
  return { finish: () => (outcome ??= wait()) };
}

/** While the link stands, its addresses must not be given to anybody else. @throws what keeps it */
function expectGone(removal: TakingDown): void {
  const link = removal.finish();
  if (!link.ok) throw link.error;
}

async function releaseFromDelegate(call: LocalCall, removal: TakingDown, ended: EndedHold): Promise<void> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return;
  expectGone(removal);
  if (ended.isTaken()) return;
  const { delegateDel } = await import("./delegate/mod.ts");
  await call.ledger.time("delegate", () => delegateDel(delegate.call, delegate.ports));
  call.log.debug("delegate released", { delegate: delegate.call.type });
}
