/** ADD: facts in parallel, one plan, one commit, one link; and all of it undone when a step fails. */

import { CLUSTER_INFORMATION, requireReady } from "../../datastore/cluster-state.ts";
import { addQueries, type AddRequest, askerOf } from "../../endpoint/plan-add.ts";
import { answerOf, type Facts } from "../../ipam/facts.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { type UndoStack, withUndo } from "../../lib/undo-stack.ts";
import type { Netns } from "../../linux/netns.ts";
import { Hold } from "../attachment-state/hold.ts";
import { linkNamesOf, openNetnsOfCall, recordOf, toAddRequest, toAddSubject, toAttachmentRequest } from "../call-requests.ts";
import { type Call, UNDO_MS } from "../call.ts";
import { delegateOf } from "../delegate/address-source.ts";
import { type ExistingLink, findExisting } from "../link/find.ts";
import { waitForNetnsLock } from "../link/pod-netns.ts";
import { type LinkSockets, openLinkSockets } from "../link/sockets.ts";
import { cancelPending } from "../pending-release/cancel.ts";
import { isPodLookedUp, type KubernetesFacts } from "../pod/facts.ts";
import { askKubernetes } from "../pod/mod.ts";
import type { CniResult } from "../protocol/result.ts";
import { beginReading, loadPrefetch } from "../transact-ports.ts";
import { toAddResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import type { Delegated } from "./delegated-addresses.ts";
import { LinkWork, whileHeld } from "./link-work.ts";
import { Recording } from "./recording.ts";
import { inOrder } from "./undo-in-order.ts";

/**
 * @param answer gives the runtime the result, as the last step: if that fails, everything is undone
 * @throws NetplugError, or UndoFailed around it when something is left behind
 */
export async function add(call: Call, answer: (result: CniResult) => void): Promise<void> {
  const { config, host, ledger } = call;
  checkAddable(call);
  const attachment = toAttachmentRequest(call);
  // Undefined where it depends on the pod, which must be read first. What to ask the datastore for is known in any case.
  const early = isPodLookedUp(call) ? undefined : toAddRequest(call, attachment);
  const subject = early ?? toAddSubject(call, attachment);
  using netns = ledger.time("kernel", () => openNetnsOfCall(call));
  // Before anything is read: from now on nobody releases the attachment's addresses.
  using hold = new Hold(call, netns);
  await cancelPending(call, hold.commits);
  const asked = await askKubernetes(call);
  const read = (): Promise<Facts> => beginReading(call, [...addQueries([subject]), ...loadPrefetch(call)]);
  // Awaited further down: the datastore answers while the kernel is asked.
  let reading = read();
  if ((await requireNetnsLock(call, netns)) === "waited") {
    // A DEL may have been in front of us: then the hold is ended. In any case what was read is out of date.
    hold.retake();
    await cancelPending(call, hold.commits);
    reading = read();
  }
  using sockets = ledger.time("kernel", () => openLinkSockets(host.kernel, netns, linkNamesOf(call)));
  const existing = ledger.time("kernel", () => findExisting(sockets));
  const answers = Promise.all([reading, asked?.facts]);
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
        throw (await import("./address-in-use/refusal.ts")).toAddFailure(request, sockets.host, fault);
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
  const delegated = await askDelegateIfAny(begun, undo, ownLink !== undefined);
  const wanted = delegated === undefined ? request : { attachment: request.attachment, delegated: delegated.addresses };
  const keptLink = ownLink && (await import("./kept-link.ts")).keptLinkOf(call, sockets, ownLink);
  const recording = new Recording({ call, hold, request: wanted, keptLink });
  // Whoever asks for this very address may want to route through that pod. For a delegate's address, and for one that the attachment had before,
  // there is no other choice.
  const isOnlyChoice = !("ipam" in request) || askerOf(request) !== undefined;
  const mayBeGateway = (): boolean => isOnlyChoice || recording.taken === undefined;
  const linkWork = new LinkWork({ call, hold, sockets, mayBeGateway, isReplacing: existing !== undefined, undo });
  // Pushed before any link is made, so that addresses are released only once the link is gone.
  const release = (): Promise<void> | undefined => {
    const { taken } = recording;
    return taken && import("./withdraw-attachment.ts").then(({ withdrawAttachment }) => withdrawAttachment(call, hold, taken));
  };
  undo.push({ what: "release addresses and endpoint", undo: release });
  const plan = await recording.commit(facts, linkWork);
  if (plan.isKept) whileHeld(hold, () => keptLink?.restore(plan.link));
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
  return await (await import("./delegated-addresses.ts")).askDelegate(call, delegate, facts, { config, hold, undo, isRepeated });
}

/** @throws NetplugError tryAgainLater when other calls keep the namespace locked */
async function requireNetnsLock({ host, deadline }: Call, netns: Netns): Promise<"at-once" | "waited"> {
  const outcome = await waitForNetnsLock(host.kernel, netns, { clock: host.clock, remainingMs: deadline.remainingMs });
  if (outcome !== "busy") return outcome;
  throw new NetplugError("tryAgainLater", `wait for network namespace ${quote(netns.path)}: another ADD or DEL works in it`);
}
