/** DEL: the link at once, the datastore and the delegate as far as they can be reached, success when nothing is left to do. */

import { endpointRef } from "../endpoint/plan-add.ts";
import { type DelRequest, delQueries, planDel } from "../endpoint/plan-del.ts";
import { isSameAttachment } from "../ipam/block.ts";
import type { Facts } from "../ipam/facts.ts";
import { readFacts, transact } from "../ipam/transact.ts";
import { messageOf } from "../lib/errors.ts";
import type { Netns } from "../linux/netns.ts";
import { linkNamesOf } from "./attachment.ts";
import { type Call, delegateOf, type LocalCall, transactPortsOf, workloadOf } from "./call.ts";
import { delegateDel } from "./delegate/mod.ts";
import { settle, throwFirstFailure } from "./failures.ts";
import { openNetnsIfThere, takeTurnInNetns } from "./link/pod-netns.ts";
import { removeLink } from "./link/remove.ts";

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
  // On its way while the kernel takes the link down, which needs most of the time.
  const reading = ledger.time("datastore", () => readFacts(transactPortsOf(call), delQueries(request)));
  reading.catch(() => {
    // Reported below, after the local work.
  });
  const link = await settle(() => ledger.time("kernel", () => void takeDown(call)));
  // While the link stands, its addresses must not be given to anybody else.
  const delegate = link.ok ? await settle(() => releaseFromDelegate(call)) : link;
  const store = link.ok ? await settle(async () => withdraw(call, request, await reading)) : link;
  throwFirstFailure([link, delegate, store]);
}

/**
 * What a DEL can do that does not know the datastore, or itself in it: the link goes, and what a delegate gave.
 *
 * @throws the fault that is the reason, with what else went wrong in its details
 */
export async function delLocally(call: LocalCall, fault: unknown): Promise<never> {
  using _turn = await takeTurn(call);
  const link = await settle(() => call.ledger.time("kernel", () => void takeDown(call)));
  const delegate = link.ok ? await settle(() => releaseFromDelegate(call)) : link;
  throwFirstFailure([{ ok: false, error: fault }, link, delegate]);
  throw fault;
}

/** The way back of an ADD: its addresses and its record, read afresh. */
export async function withdrawAttachment(call: Call): Promise<void> {
  await withdraw(call, toDelRequest(call));
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

async function withdraw(call: Call, request: DelRequest, facts?: Facts): Promise<void> {
  await call.ledger.time("datastore", () =>
    transact(
      transactPortsOf(call),
      delQueries(request),
      (known, { now }) => {
        const plan = planDel(request, known, now);
        return "wanted" in plan ? plan : { writes: plan.writes, result: undefined };
      },
      { facts },
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

function takeDown(call: LocalCall): void {
  if (call.plugin === "netplug-ipam") return;
  const isRemoved = removeLink(call.host.kernel, linkNamesOf(call), call.environment.netns);
  if (!isRemoved) call.log.debug("no interface to delete");
}

async function releaseFromDelegate(call: LocalCall): Promise<void> {
  const delegate = delegateOf(call);
  if (delegate === undefined) return;
  await call.ledger.time("delegate", () => delegateDel(delegate.call, delegate.ports));
  call.log.debug("delegate released", { delegate: delegate.call.type });
}
