/** ADD of `netplug-ipam` under another main plugin: addresses without link and endpoint. */

import { allocationQueries } from "../ipam/allocate.ts";
import { allocate } from "../ipam/store.ts";
import { messageOf } from "../lib/errors.ts";
import type { Netns } from "../linux/netns.ts";
import { toIpamResult } from "./add-result.ts";
import { checkAddable } from "./addable.ts";
import { type Hold, holdAttachment } from "./attachment-state/hold.ts";
import { markPending } from "./attachment-state/pending-note.ts";
import { claimPending } from "./attachment-state/pending-release.ts";
import { toAddressRequest, toAddressSubject } from "./attachment.ts";
import { beginReading, type Call, onWayBack, transactPortsOf } from "./call.ts";
import { settle } from "./failures.ts";
import type { Kernel } from "./link/kernel.ts";
import { openNetnsIfThere } from "./link/pod-netns.ts";
import { isNodeAsked, isPodAsked } from "./pod/facts.ts";
import { askKubernetes } from "./pod/mod.ts";
import type { CniResult } from "./protocol/result.ts";
import { withdrawAttachment } from "./withdraw.ts";

/** @throws NetplugError */
export async function addAddresses(call: Call): Promise<CniResult> {
  checkAddable(call);
  const early = isPodAsked(call) || isNodeAsked(call) ? undefined : toAddressRequest(call);
  // Where none is named, or the name is of something else, whoever wants addresses alone is believed.
  using netns = openNetnsIfThere(call.host.kernel, call.environment.netns ?? "");
  const hold = holdAttachment(call, netns);
  await claimPending(call);
  const ports = transactPortsOf(call);
  const { ledger, nextAdd } = call;
  const queries = allocationQueries([early ?? toAddressSubject(call)]);
  const asked = await askKubernetes(call);
  const reading = beginReading(call, [...queries, ...nextAdd.read()]);
  // While the answer is on its way.
  return await whileWanted(call, netns, hold, async (beforeCommit) => {
    const [kubernetes, facts] = await Promise.all([asked?.facts, reading]);
    const request = early ?? toAddressRequest(call, kubernetes?.toPodFacts(undefined));
    const defects = new Set<string>();
    const options = { facts, ahead: nextAdd.read, beforeCommit, defects };
    const allocating = ledger.time("datastore", () => allocate(ports, request, options));
    return toIpamResult(await allocating.finally(() => defects.forEach((defect) => call.log.warning(defect))));
  });
}

/**
 * Gives addresses, unless nobody wants them any more. While an ADD takes its time, main plugin and runtime may have gone, the next runtime have
 * called DEL and removed the namespace, and nobody would ever call DEL again.
 *
 * @param give does it; calls what it is handed before each commit
 * @throws {NetplugError} badNetns when the namespace has lost its name, tryAgainLater when the attachment was ended or is another ADD's; nothing is kept then
 */
async function whileWanted<T>(
  call: Call,
  netns: Netns | undefined,
  hold: Hold,
  give: (beforeCommit: () => void) => Promise<T>,
): Promise<T> {
  const { kernel } = call.host;
  const mark = netns === undefined ? undefined : markPending(call, netns, hold);
  const isOver = (): boolean => hold.state() === "ended" || (netns !== undefined && isGone(kernel, netns));
  let isCommitted = false;
  try {
    const given = await give(() => {
      hold.expect();
      isCommitted = true;
    });
    // Where the kernel does not say, it goes on.
    if (hold.state() === "taken" || isOver()) hold.expect();
    mark?.drop();
    return given;
  } catch (thrown) {
    if (isOver()) {
      mark?.leave();
      const released = await settle(() => withdrawAttachment(onWayBack(call), hold));
      if (!released.ok) call.log.info("cannot release what a late ADD had taken", { reason: messageOf(released.error) });
    } else if (isCommitted) mark?.leave();
    else mark?.drop();
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
