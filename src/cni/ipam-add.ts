/** ADD of `netplug-ipam` under another main plugin: addresses without link and endpoint. */

import { allocationQueries } from "../ipam/allocate.ts";
import { allocate } from "../ipam/store.ts";
import { readFacts } from "../ipam/transact.ts";
import { startDeadline } from "../lib/deadline.ts";
import { messageOf } from "../lib/errors.ts";
import type { Netns } from "../linux/netns.ts";
import { toIpamResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import { toAddressRequest, toAddressSubject } from "./attachment.ts";
import { type Call, transactPortsOf } from "./call.ts";
import { withdrawAttachment } from "./del.ts";
import { settle } from "./failures.ts";
import { type Hold, holdAttachment } from "./hold.ts";
import { askKubernetes } from "./kubernetes.ts";
import { isNodeAsked, isPodAsked } from "./kubernetes-facts.ts";
import type { Kernel } from "./link/kernel.ts";
import { openNetnsIfThere } from "./link/pod-netns.ts";
import type { CniResult } from "./protocol/result.ts";
import { claimUnreleased, noteBegun } from "./unreleased.ts";

/** Milliseconds for the way back of an ADD that nobody waits for any more. */
const WAY_BACK_MS = 10_000;

/** @throws NetplugError */
export async function addAddresses(call: Call): Promise<CniResult> {
  checkAddable(call);
  const early = isPodAsked(call) || isNodeAsked(call) ? undefined : toAddressRequest(call);
  // Where none is named, or the name is of something else, whoever wants addresses alone is believed.
  using netns = openNetnsIfThere(call.host.kernel, call.environment.netns ?? "");
  const hold = holdAttachment(call, netns);
  await claimUnreleased(call);
  const ports = transactPortsOf(call);
  const { ledger, nextAdd } = call;
  const queries = allocationQueries([early ?? toAddressSubject(call)]);
  const asked = await askKubernetes(call);
  const reading = ledger.time("datastore", () => readFacts(ports, [...queries, ...nextAdd.read()]));
  reading.catch(() => {
    // Reported below, unless something else fails first.
  });
  // While the answer is on its way.
  return await whileWanted(call, netns, hold, async (beforeCommit) => {
    const [kubernetes, facts] = await Promise.all([asked?.facts, reading]);
    const request = early ?? toAddressRequest(call, kubernetes?.toPodFacts(undefined));
    return toIpamResult(await ledger.time("datastore", () => allocate(ports, request, { facts, ahead: nextAdd.read, beforeCommit })));
  });
}

/**
 * For an ADD that has taken its time: main plugin and runtime may be gone, the next runtime have called DEL and removed the namespace, and
 * nobody would ever call DEL again.
 *
 * @param give gets what must be called before each commit
 * @throws {NetplugError} badNetns when the namespace has lost its name, tryAgainLater when the attachment was ended or is another ADD's; nothing is kept then
 */
async function whileWanted<T>(
  call: Call,
  netns: Netns | undefined,
  hold: Hold,
  give: (beforeCommit: () => void) => Promise<T>,
): Promise<T> {
  const { kernel, clock } = call.host;
  const note = netns === undefined ? undefined : noteBegun(call, netns, hold);
  const isOver = (): boolean => hold.state() === "ended" || (netns !== undefined && isGone(kernel, netns));
  let isCommitted = false;
  try {
    const given = await give(() => {
      hold.expect();
      isCommitted = true;
    });
    // Where the kernel does not say, it goes on.
    if (hold.state() === "taken" || isOver()) hold.expect();
    note?.drop();
    return given;
  } catch (thrown) {
    if (isOver()) {
      note?.leave();
      const released = await settle(() => withdrawAttachment({ ...call, deadline: startDeadline(clock, WAY_BACK_MS) }, hold));
      if (!released.ok) call.log.info("cannot release what a late ADD had taken", { reason: messageOf(released.error) });
    } else if (isCommitted) note?.leave();
    else note?.drop();
    throw thrown;
  }
}

/** Where the kernel does not say, it is not. */
function isGone(kernel: Kernel, netns: Netns): boolean {
  try {
    return !kernel.isNamed(netns);
  } catch {
    return false;
  }
}
