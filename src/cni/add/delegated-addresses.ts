/** An ADD's addresses where a delegate gives them: asks for them, keeps those of an earlier ADD, releases them on failure. */

import { recordedAddresses } from "../../api/workload-endpoint.ts";
import type { Facts } from "../../ipam/facts.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { messageOf } from "../../lib/errors.ts";
import { type Address, WIDTH } from "../../lib/ip/address.ts";
import type { UndoStack } from "../../lib/undo-stack.ts";
import { forgetDns, noteDns, notedDns } from "../attachment-state/delegate-dns.ts";
import type { Hold } from "../attachment-state/hold.ts";
import { recordOf } from "../call-requests.ts";
import { type Call, UNDO_MS } from "../call.ts";
import { type Delegate, delegateAdd, delegateCheck, delegateDel } from "../delegate/mod.ts";
import { unlessTaken } from "../pending-release/after-failed-add.ts";
import { toResultDocument } from "../protocol/print-result.ts";
import { addressesOf, type CniResult, EMPTY_RESULT, toResultIp } from "../protocol/result.ts";

/** What a delegate gave. */
export interface Delegated {
  readonly addresses: readonly Address[];
  readonly dns: CniResult["dns"];
}

/** What the ADD hands in. */
export interface DelegatedOptions {
  /** The network config for the delegate; undefined: the one from stdin. */
  readonly config: Delegate["config"] | undefined;
  readonly hold: Hold;
  readonly undo: UndoStack;
  /** Whether the attachment's interface exists already. */
  readonly isRepeated: boolean;
}

/**
 * A repeated ADD keeps the addresses of its record: while the interface exists, nobody has released them; without it,
 * the delegate's CHECK must confirm them, because a commit whose reply was lost can write a record after their release. Otherwise
 * the delegate gets a DEL for the earlier ADD, then an ADD.
 *
 * @throws NetplugError what `delegateAdd()` throws
 */
export async function askDelegate(call: Call, named: Delegate, facts: Facts, options: DelegatedOptions): Promise<Delegated> {
  const { config, hold, undo, isRepeated } = options;
  const delegate = config === undefined ? named : { ...named, config };
  const recorded = ownAddresses(call, facts);
  if (recorded !== undefined && isRepeated) return { addresses: recorded, dns: notedDns(call) };
  return await call.ledger.time("delegate", async () => {
    if (recorded !== undefined && (await isConfirmed(call, delegate, recorded))) return { addresses: recorded, dns: notedDns(call) };
    hold.requireHeld();
    if (recorded !== undefined || isRepeated) await delegateDel(delegate);
    const result = await delegateAdd(delegate);
    const release = async (): Promise<void> => await unlessTaken(call, hold, async () => await undoDelegateAdd(call, delegate));
    // Pushed only now: `delegateAdd()` itself calls DEL when the delegate's ADD fails.
    undo.push({ what: `release addresses of delegate "${delegate.type}"`, undo: release });
    noteDns(call, result.dns);
    return { addresses: addressesOf(result), dns: result.dns };
  });
}

async function undoDelegateAdd(call: Call, delegate: Delegate): Promise<void> {
  await delegateDel({ ...delegate, deadline: startDeadline(call.host.clock, UNDO_MS) });
  forgetDns(call);
}

/** Whether the delegate says that the attachment still has the addresses. */
async function isConfirmed({ config, log }: Call, delegate: Delegate, addresses: readonly Address[]): Promise<boolean> {
  const ips = addresses.map((address) => toResultIp({ address, length: WIDTH[address.family] }, undefined));
  const prevResult = toResultDocument({ ...EMPTY_RESULT, ips }, config.cniVersion);
  try {
    return await delegateCheck({ ...delegate, config: { ...delegate.config, prevResult } });
  } catch (thrown) {
    log.info("delegate does not hold the recorded addresses, ask for new ones", { delegate: delegate.type, reason: messageOf(thrown) });
    return false;
  }
}

/** @returns the addresses in the record; undefined when this container has no record, or one without addresses */
function ownAddresses(call: Call, facts: Facts): readonly Address[] | undefined {
  const record = recordOf(call, facts);
  if (record?.spec.containerID !== call.environment.containerID) return undefined;
  const addresses = recordedAddresses(record);
  return addresses.length === 0 ? undefined : addresses;
}
