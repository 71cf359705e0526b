/** ADD: facts in parallel, one plan, one commit, one link; and all of it undone when a step fails. */

import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION_QUERY, requireReady } from "../datastore/cluster-state.ts";
import type { Query } from "../datastore/datastore.ts";
import { type AddOutcome, addQueries, type AddRequest, endpointRef, planAdds } from "../endpoint/plan-add.ts";
import { type Facts, know } from "../ipam/facts.ts";
import { readFacts, transact } from "../ipam/transact.ts";
import { type Address, WIDTH } from "../lib/ip/address.ts";
import { baseOf } from "../lib/ip/prefix.ts";
import { startDeadline } from "../lib/deadline.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { type UndoStack, withUndo } from "../lib/undo-stack.ts";
import type { Netns } from "../linux/netns.ts";
import { checkAddable } from "./addable.ts";
import { linkNamesOf, netnsOptionsOf, toAddRequest, toAddSubject, toAttachmentRequest } from "./attachment.ts";
import { type Call, type Delegate, delegateOf, hasOwnIpam, transactPortsOf, workloadOf } from "./call.ts";
import { withdrawAttachment } from "./del.ts";
import { askKubernetes } from "./kubernetes.ts";
import { isPodAsked } from "./kubernetes-facts.ts";
import { type Hold, holdAttachment } from "./hold.ts";
import { openPodNetns, takeTurnInNetns } from "./link/pod-netns.ts";
import { findExisting, type LinkSession, openLinkSession } from "./link/session.ts";
import { createLink, type CreatedLink, programLink } from "./link/setup.ts";
import { whenUsable } from "./link/usable.ts";
import { toResultDocument } from "./protocol/print-result.ts";
import { addressesOf, type CniResult, EMPTY_RESULT, toResultIp } from "./protocol/result.ts";
import { toAddResult } from "./add-result.ts";
import { inOrder } from "./undo-in-order.ts";
import { claimUnreleased } from "./unreleased.ts";
import { waitForPolicy } from "./wait/policy-wait.ts";

/** Milliseconds for the way back of a failed ADD. */
const WAY_BACK_MS = 10_000;

/** Milliseconds in which the kernel makes a link usable, however busy it is; nearly always it has by then. */
const USABLE_MS = 5_000;

/** The plan of this ADD, without those of others. */
type Planned = Exclude<AddOutcome, { readonly error: NetplugError }>;

/** @throws NetplugError, or what lies around it when something could not be undone */
export async function add(call: Call): Promise<CniResult> {
  const { host, ledger, environment } = call;
  checkAddable(call);
  const delegate = delegateOf(call);
  const attachment = toAttachmentRequest(call);
  const early = isPodAsked(call) ? undefined : toAddRequest(call, attachment);
  const subject = early ?? toAddSubject(call, attachment);
  using netns = ledger.time("kernel", () => openPodNetns(host.kernel, environment.netns ?? "", netnsOptionsOf(call)));
  // Before anything is read: what is allocated to the attachment then stays so.
  const hold = holdAttachment(call, netns);
  await claimUnreleased(call);
  const asked = await askKubernetes(call);
  const ahead = aheadOf(call);
  const read = (): Promise<Facts> => {
    const facts = ledger.time("datastore", () => readFacts(transactPortsOf(call), [...addQueries([subject]), ...(ahead?.() ?? [])]));
    facts.catch(() => {
      // Reported below, unless something else fails first.
    });
    return facts;
  };
  // The answer is on its way while the kernel is asked.
  const reading = read();
  const hasWaited = (await takeTurn(call, netns)) === "waited";
  if (hasWaited) {
    hold.renew();
    await claimUnreleased(call);
  }
  const latest = hasWaited ? read() : reading;
  using session = ledger.time("kernel", () => openLinkSession(host.kernel, netns, linkNamesOf(call)));
  const existing = ledger.time("kernel", () => findExisting(session));
  const telling = Promise.all([latest, asked?.facts]);
  const [[facts, kubernetes]] = await Promise.all([telling, passGates(call, telling)]);
  requireReady(know(facts, CLUSTER_INFORMATION_QUERY), "add");
  const request = early ?? toAddRequest(call, attachment, kubernetes?.toPodFacts(recordOf(call, facts)));
  return await withUndo({ clock: host.clock, wayBackMs: WAY_BACK_MS }, async (stack) => {
    const undo = inOrder({ push: (step) => stack.push({ ...step, undo: (signal) => ledger.time("undo", () => step.undo(signal)) }) });
    const isRepeated = existing?.isOurs === true;
    let created: CreatedLink | undefined;
    const create = ({ link }: Planned): CreatedLink =>
      (created ??= ledger.time("kernel", () => createLink(session, link, undo, hold.expect)));
    // The kernel works while the datastore does, unless something is in the way: that stays until the new attachment is recorded.
    const createEarly = (early: Planned): void => void (existing === undefined && create(early));
    const delegated =
      delegate === undefined
        ? undefined
        : await askDelegate(call, withConfig(delegate, kubernetes?.delegateConfig), facts, isRepeated, { undo, hold });
    const wanted = delegated === undefined ? request : { attachment: request.attachment, delegated: delegated.addresses };
    const plan = await record(call, wanted, facts, { undo, hold, create: createEarly });
    const awaitUsable = isRepeated && (await isComplete(call, session, plan)) ? undefined : program(call, session, plan, create(plan));
    await holdBack(call, plan);
    if (awaitUsable !== undefined) {
      hold.expect();
      await awaitUsable();
    }
    hold.expect();
    return toAddResult(call, plan, delegated?.dns);
  });
}

/**
 * What the node's last ADD left for this one. Not where gates are waited for, and answers would be old by then; nor where others give the
 * addresses, and nothing of it is needed, or even permitted.
 */
function aheadOf(call: Call): (() => readonly Query[]) | undefined {
  const { config, nextAdd } = call;
  return hasOwnIpam(call) && config.readinessGates.length === 0 ? nextAdd.read : undefined;
}

/** @throws NetplugError tryAgainLater when another call works in the namespace all the time */
async function takeTurn({ host, deadline }: Call, netns: Netns): Promise<"at-once" | "waited"> {
  const turn = await takeTurnInNetns(host.kernel, netns, { clock: host.clock, remainingMs: deadline.remainingMs });
  if (turn !== "busy") return turn;
  throw new NetplugError("tryAgainLater", `wait for network namespace ${quote(netns.path)}: another ADD or DEL works in it`);
}

/** @param besides what the ADD waits for at the same time: when that fails, nobody needs the gates any more */
async function passGates({ config, host, deadline, log, ledger }: Call, besides: Promise<unknown>): Promise<void> {
  if (config.readinessGates.length === 0) return;
  const ended = new AbortController();
  besides.catch((reason: unknown) => ended.abort(reason));
  const ports = { fetch: host.fetch, clock: host.clock, log };
  const { waitForGates } = await import("./wait/readiness-gates.ts");
  await ledger.time("gates", () => waitForGates(config.readinessGates, deadline, ports, ended.signal));
}

/** What an ADD goes on under, and its way back. */
interface Surroundings {
  readonly hold: Hold;
  readonly undo: UndoStack;
}

interface Recording extends Surroundings {
  /** Work for the kernel that need not wait for the commit's end. */
  readonly create: (plan: Planned) => void;
}

/** Gives the attachment its addresses and its record, in one commit. */
async function record(call: Call, request: AddRequest, facts: Facts, around: Recording): Promise<Planned> {
  const { undo, hold, create } = around;
  // On Kubernetes others wait until the block is written: the kernel's work comes after that, beside the pod's status.
  const work = call.datastore.type === "kubernetes" ? { whileRecording: create } : { whileCommitting: create };
  let isUndoable = false;
  return await call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      addQueries([request]),
      (known, attempt) => {
        const plan = call.ledger.time("plan", () => planAdds([request], known, attempt));
        if ("wanted" in plan) return plan;
        const [outcome] = plan.outcomes;
        if (outcome === undefined) throw new NetplugError("internal", "plan ADD: it has no outcome");
        if ("error" in outcome) throw outcome.error;
        // Before the commit, whose reply may be lost; what an earlier ADD of the attachment recorded is not ours to undo.
        if (!isUndoable && outcome.isNew && plan.writes.length > 0) {
          isUndoable = true;
          undo.push({ what: "release addresses and endpoint", undo: () => withdrawAttachment(onWayBack(call), hold) });
        }
        return { writes: plan.writes, result: outcome, ahead: plan.ahead };
      },
      { facts, ahead: aheadOf(call), beforeCommit: hold.expect, ...work },
    ),
  );
}

/** The call with time of its own: what failed may be that the ADD's was over. */
function onWayBack(call: Call): Call {
  return { ...call, deadline: startDeadline(call.host.clock, WAY_BACK_MS) };
}

/** A delegate that is called with another config than the one that came. */
function withConfig(delegate: Delegate, config: Delegate["call"]["config"] | undefined): Delegate {
  return config === undefined ? delegate : { ...delegate, call: { ...delegate.call, config } };
}

/** What a delegate gave. */
interface Delegated {
  readonly addresses: readonly Address[];
  readonly dns: CniResult["dns"];
}

/**
 * A repeated ADD keeps the addresses of its record: while the interface stands nobody has given them back, and without it the delegate
 * is asked. A record may outlive its addresses, or come late, by a commit whose reply was lost. Otherwise the delegate starts afresh.
 */
async function askDelegate(
  call: Call,
  delegate: Delegate,
  facts: Facts,
  isRepeated: boolean,
  { undo, hold }: Surroundings,
): Promise<Delegated> {
  const recorded = recordedAddresses(call, facts);
  if (recorded !== undefined && isRepeated) return { addresses: recorded, dns: undefined };
  return await call.ledger.time("delegate", async () => {
    if (recorded !== undefined && (await isHeld(call, delegate, recorded))) return { addresses: recorded, dns: undefined };
    hold.expect();
    const { delegateAdd, delegateDel } = await import("./delegate/mod.ts");
    if (recorded !== undefined || isRepeated) await delegateDel(delegate.call, delegate.ports);
    const result = await delegateAdd(delegate.call, delegate.ports);
    // Not before: a delegate's ADD that fails is followed by a DEL already.
    const release = async (): Promise<void> => {
      const { unlessTaken } = await import("./give-back.ts");
      await unlessTaken(call, hold, () => delegateDel({ ...delegate.call, deadline: onWayBack(call).deadline }, delegate.ports));
    };
    undo.push({ what: `release addresses of delegate "${delegate.call.type}"`, undo: release });
    return { addresses: addressesOf(result).map(({ address }) => address), dns: result.dns };
  });
}

/** Whether the delegate says that it still holds addresses for the attachment. */
async function isHeld({ config, log }: Call, { call, ports }: Delegate, addresses: readonly Address[]): Promise<boolean> {
  const ips = addresses.map((address) => toResultIp({ address, length: WIDTH[address.family] }, undefined));
  const prevResult = toResultDocument({ ...EMPTY_RESULT, ips }, config.cniVersion);
  try {
    const { delegateCheck } = await import("./delegate/mod.ts");
    return await delegateCheck({ ...call, config: { ...call.config, prevResult } }, ports);
  } catch (thrown) {
    log.info("delegate does not hold the recorded addresses, ask for new ones", { delegate: call.type, reason: messageOf(thrown) });
    return false;
  }
}

/** What the datastore has under the attachment's name, whosever it is. */
function recordOf(call: Call, facts: Facts): WorkloadEndpoint | undefined {
  const { node, config } = call;
  const stored = know(facts, { type: "get", ref: endpointRef({ node, workload: workloadOf(call), labels: config.args.labels }) });
  return stored?.value as WorkloadEndpoint | undefined;
}

function recordedAddresses(call: Call, facts: Facts): readonly Address[] | undefined {
  const record = recordOf(call, facts);
  if (record?.spec.containerID !== call.environment.containerID) return undefined;
  const networks = networksOf(record);
  return networks.length === 0 ? undefined : networks.map(baseOf);
}

/** Whether a link of ours is as planned: then it stays, with the traffic on it. */
async function isComplete({ ledger }: Call, session: LinkSession, { link }: Planned): Promise<boolean> {
  const { inspectLink } = await import("./link/inspect.ts");
  return ledger.time("kernel", () => inspectLink(session, link).length === 0);
}

/** @returns the wait until the kernel has made the link usable, for the end of all that takes time anyway; undefined when it has */
function program(call: Call, session: LinkSession, { link }: Planned, pair: CreatedLink): (() => Promise<void>) | undefined {
  const { host, deadline, log, ledger } = call;
  const early = ledger.time("kernel", () => programLink(session, link, pair));
  if (early.length === 0) return undefined;
  return async () => {
    const options = { clock: host.clock, waitMs: Math.min(USABLE_MS, deadline.remainingMs()) };
    const unusable = await ledger.time("kernel", () => whenUsable(early, session, link, pair, options));
    // No failure: what is lost is sent again, and a pod that is made anew is later still.
    if (unusable.length > 0)
      log.warning("the kernel has not made all usable, first packets may be lost", { unusable: unusable.join(", ") });
  };
}

async function holdBack(call: Call, { link, addresses }: Planned): Promise<void> {
  const { config, host, log, environment } = call;
  if (config.policySetupTimeoutMs === 0) return;
  const wanted = { hostName: link.hostName, containerID: environment.containerID, addresses, podMac: link.podMac };
  const options = { folder: config.endpointStatusDir, timeoutMs: config.policySetupTimeoutMs, action: config.policySetupTimeoutAction };
  const ports = { watchDirectory: host.watchDirectory, files: host.files, clock: host.clock, log };
  await call.ledger.time("policy", () => waitForPolicy(workloadOf(call), wanted, options, ports));
}
