/** ADD: facts in parallel, one plan, one commit, one link; and all of it undone when a step fails. */

import { CLUSTER_INFORMATION, requireReady } from "../../datastore/cluster-state.ts";
import type { Query } from "../../datastore/datastore.ts";
import { type AddOutcome, type AddPlan, addQueries, type AddRequest, planAdds, toQueueableRequest } from "../../endpoint/plan-add.ts";
import { answerOf, type Facts } from "../../ipam/facts.ts";
import type { PlanOptions } from "../../ipam/plan-allocation.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import { transact } from "../../ipam/transact/transact.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { type UndoStack, withUndo } from "../../lib/undo-stack.ts";
import type { Netns } from "../../linux/netns.ts";
import { type Hold, holdAttachment } from "../attachment-state/hold.ts";
import { linkNamesOf, netnsOptionsOf, recordOf, toAddRequest, toAddSubject, toAttachmentRequest } from "../call-requests.ts";
import { type Call, hasOwnIpam, UNDO_MS } from "../call.ts";
import { delegateOf } from "../delegate/address-source.ts";
import { type ExistingLink, findExisting } from "../link/find.ts";
import { openPodNetns, waitForNetnsLock } from "../link/pod-netns.ts";
import { type LinkSockets, openLinkSockets } from "../link/sockets.ts";
import { cancelPending } from "../pending-release/cancel.ts";
import { isPodLookedUp, type KubernetesFacts } from "../pod/facts.ts";
import { askKubernetes } from "../pod/mod.ts";
import type { CniResult } from "../protocol/result.ts";
import { beginReading, transactPortsOf } from "../transact-ports.ts";
import { toAddResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import type { Delegated } from "./delegated-addresses.ts";
import type { KeptLink } from "./kept-link.ts";
import { LinkWork, whileHeld } from "./link-work.ts";
import { inOrder } from "./undo-in-order.ts";

/** The plan of an ADD that can be carried out. */
type Planned = Exclude<AddOutcome, { readonly error: NetplugError }> & {
  /** Whether this ADD keeps the interface of an earlier one, with the traffic on it. */
  readonly isKept: boolean;
};

/**
 * @param answer gives the runtime the result, as the last step: if that fails, everything is undone
 * @throws NetplugError, or UndoFailed around it when something is left behind
 */
export async function add(call: Call, answer: (result: CniResult) => void): Promise<void> {
  const { config, host, ledger, environment } = call;
  checkAddable(call);
  const attachment = toAttachmentRequest(call);
  // Undefined where it depends on the pod, which must be read first. What to ask the datastore for is known in any case.
  const early = isPodLookedUp(call) ? undefined : toAddRequest(call, attachment);
  const subject = early ?? toAddSubject(call, attachment);
  using netns = ledger.time("kernel", () => openPodNetns(host.kernel, environment.netns ?? "", netnsOptionsOf(call)));
  // Before anything is read: from now on nobody releases the attachment's addresses.
  using hold = holdAttachment(call, netns);
  await cancelPending(call, hold);
  const asked = await askKubernetes(call);
  const read = (): Promise<Facts> => beginReading(call, [...addQueries([subject]), ...loadPrefetch(call)]);
  // Awaited further down: the datastore answers while the kernel is asked.
  const reading = read();
  const hasWaited = (await requireNetnsLock(call, netns)) === "waited";
  if (hasWaited) {
    // A DEL may have been in front of us: then the hold is ended. In any case what was read is out of date.
    hold.retake();
    await cancelPending(call, hold);
  }
  const latest = hasWaited ? read() : reading;
  using sockets = ledger.time("kernel", () => openLinkSockets(host.kernel, netns, linkNamesOf(call)));
  const existing = ledger.time("kernel", () => findExisting(sockets));
  const answers = Promise.all([latest, asked?.facts]);
  const gates =
    config.readinessGates.length > 0 ? import("../wait/add-waits.ts").then(({ awaitGates }) => awaitGates(call, answers)) : undefined;
  const [[facts, kubernetes]] = await Promise.all([answers, gates]);
  requireReady(answerOf(facts, CLUSTER_INFORMATION), "add");
  const request = early ?? toAddRequest(call, attachment, await kubernetes?.toPodFacts(recordOf(call, facts)));
  const begun = { call, hold, sockets, existing, facts, request, delegateConfig: kubernetes?.delegateConfig };
  await withUndo({ clock: host.clock, undoMs: UNDO_MS }, async (stack) => {
    const timed: UndoStack = { push: ({ what, undo }) => stack.push({ what, undo: (signal) => ledger.time("undo", () => undo(signal)) }) };
    answer(
      await carryOut(begun, inOrder(timed)).catch(async (fault: unknown) => {
        throw (await import("../address-in-use/refusal.ts")).ofAdd(request, fault);
      }),
    );
  });
  hold.noteSuccess();
}

/** What an ADD knows, and has open, when it begins to change something. */
interface Begun {
  readonly call: Call;
  readonly hold: Hold;
  readonly sockets: LinkSockets;
  /** The interface that has the attachment's names already. */
  readonly existing: ExistingLink | undefined;
  readonly facts: Facts;
  readonly request: AddRequest;
  /** The network config for the delegate; undefined: the one from stdin. */
  readonly delegateConfig: KubernetesFacts["delegateConfig"];
}

/** Addresses, record, link, waits. Pushes onto `undo` how to undo each step. */
async function carryOut(begun: Begun, undo: UndoStack): Promise<CniResult> {
  const { call, hold, sockets, existing, facts, request } = begun;
  const ownLink = existing?.isOurs === true ? existing.pod : undefined;
  const linkWork = new LinkWork({ call, hold, sockets, isReplacing: existing !== undefined, undo });
  const delegated = await askDelegateIfAny(begun, undo, ownLink !== undefined);
  const wanted = delegated === undefined ? request : { attachment: request.attachment, delegated: delegated.addresses };
  const keptLink = ownLink === undefined ? undefined : (await import("./kept-link.ts")).keptLinkOf(call, sockets, ownLink);
  const recording: Recording = { hold, keptLink, linkWork, isUndoable: false };
  // Pushed before any link is made, so that addresses are released only once the link is gone.
  const release = (): Promise<void> | undefined =>
    recording.isUndoable ? import("./withdraw-attachment.ts").then(({ withdrawAttachment }) => withdrawAttachment(call, hold)) : undefined;
  undo.push({ what: "release addresses and endpoint", undo: release });
  const plan = await recordAttachment(call, wanted, facts, recording);
  if (plan.isKept) whileHeld(hold, () => keptLink?.restoreNeighbours(plan.link));
  const awaitUsable = plan.isKept ? undefined : linkWork.finish(plan.link);
  if (call.config.policySetupTimeoutMs > 0) await (await import("../wait/add-waits.ts")).awaitPolicy(call, plan);
  if (awaitUsable !== undefined) {
    hold.requireHeld();
    await awaitUsable();
  }
  hold.requireHeld();
  return toAddResult(call, plan, delegated?.dns);
}

/** @returns undefined where our own address management gives the addresses */
async function askDelegateIfAny(
  { call, facts, hold, delegateConfig: config }: Begun,
  undo: UndoStack,
  isRepeated: boolean,
): Promise<Delegated | undefined> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return undefined;
  const { askDelegate } = await import("./delegated-addresses.ts");
  return await askDelegate(call, delegate, facts, { config, hold, undo, isRepeated });
}

/**
 * The queries that the node's last ADD saved for this one. None where the ADD waits for gates, because the answers would be old by then; and
 * none where a delegate gives the addresses: pools are not needed then, and perhaps must not be read.
 */
function loadPrefetch(call: Call): readonly Query[] {
  const { config, prefetch } = call;
  return hasOwnIpam(call) && config.readinessGates.length === 0 ? prefetch.load() : [];
}

/** @throws NetplugError tryAgainLater when other calls keep the namespace locked */
async function requireNetnsLock({ host, deadline }: Call, netns: Netns): Promise<"at-once" | "waited"> {
  const outcome = await waitForNetnsLock(host.kernel, netns, { clock: host.clock, remainingMs: deadline.remainingMs });
  if (outcome !== "busy") return outcome;
  throw new NetplugError("tryAgainLater", `wait for network namespace ${quote(netns.path)}: another ADD or DEL works in it`);
}

interface Recording {
  readonly hold: Hold;
  /** Only of a repeated ADD whose interface exists already. */
  readonly keptLink: KeptLink | undefined;
  readonly linkWork: LinkWork;
  /** Whether a failed ADD removes what is recorded: not while that may be an earlier ADD's. */
  isUndoable: boolean;
}

/** Gives the attachment its addresses and its record, in one commit. */
async function recordAttachment(call: Call, request: AddRequest, facts: Facts, state: Recording): Promise<Planned> {
  const { hold, keptLink, linkWork } = state;
  const queueRequest = (): AddressRequest | undefined => {
    const wanted = keptLink === undefined ? toQueueableRequest(request, facts) : undefined;
    // Whoever has the turn may send it in its own commit.
    if (wanted !== undefined) state.isUndoable = hold.isCommitUnderWay = true;
    return wanted;
  };
  const defects = new Set<string>();
  const { beforeCommit, onOutcome } = hold;
  const recording = call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      addQueries([request]),
      (known, attempt) => {
        const { plan, outcome, isKept } = planOne(call, request, keptLink, known, attempt);
        for (const defect of plan.defects) defects.add(defect);
        if ("error" in outcome) throw outcome.error;
        // Before the commit, whose reply may be lost. What an earlier ADD of the attachment recorded is not undone.
        if (outcome.isNew && plan.writes.length > 0) state.isUndoable = true;
        return { writes: plan.writes, result: { ...outcome, isKept }, prefetch: plan.prefetch, served: plan.served };
      },
      { facts, loadPrefetch: () => loadPrefetch(call), queueRequest, beforeCommit, onOutcome, ...linkWork.besideWrites() },
    ),
  );
  const planned = await recording.finally(() => defects.forEach((defect) => call.log.warning(defect)));
  hold.isCommitUnderWay = false;
  if (state.isUndoable || planned.isKept || !("ipam" in request)) return planned;
  const { renewAddresses } = await import("./renew.ts");
  if (await renewAddresses(call, hold.requireHeld, request.ipam.owner, planned.addresses)) return planned;
  return await recordAttachment(call, request, await beginReading(call, addQueries([request])), state);
}

/** Decides what the ADD does: with what its interface has, if that can be kept. */
function planOne(
  { ledger }: Call,
  request: AddRequest,
  keptLink: KeptLink | undefined,
  facts: Facts,
  options: PlanOptions,
): { readonly plan: AddPlan; readonly outcome: AddOutcome; readonly isKept: boolean } {
  const plan = (one: AddRequest): AddPlan => ledger.time("plan", () => planAdds([one], facts, options));
  const kept = keptLink?.plan(request, facts, plan);
  const chosen = kept ?? plan(request);
  const [outcome] = chosen.outcomes;
  if (outcome === undefined) throw new NetplugError("internal", "plan ADD: it has no outcome");
  return { plan: chosen, outcome, isKept: kept !== undefined };
}
