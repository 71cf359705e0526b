/**
 * What DELs could not give back because the datastore was away: noted on the node, for the next DEL of its network to give back. A runtime should
 * repeat a DEL that fails. containerd 2 does not when the container's ADD has failed as well, and then nobody else knows of these addresses.
 */

import type { ErrorName } from "../lib/errors.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import type { LocalCall } from "./call.ts";

/** As the runtime names it, within a network. */
export interface NotedAttachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** Neither a network's name nor a container ID can hold it. */
const SEPARATOR = "@";
/** Nobody reads what is in it. */
const FILE_MODE = 0o600;
/** What one DEL takes upon itself besides its own. */
const MOST = 48;
/** Milliseconds, longer than a DEL takes for them. */
const TURN_WAIT_MS = 5_000;

/** Failures that end without anybody changing what is stored. */
const PASSING: readonly ErrorName[] = ["tryAgainLater", "accessDenied", "notInitialised"];

/** Notes the call's attachment, whose interface is gone. @param reason why its addresses are not given back */
export function noteUnreleased(call: LocalCall, reason: unknown): void {
  if (!(reason instanceof NetplugError) || !PASSING.includes(reason.kind)) return;
  try {
    call.host.files.writeAtomically(fileOf(call, call.environment), "", FILE_MODE);
  } catch (thrown) {
    call.log.warning("cannot note what is left to release", { reason: messageOf(thrown) });
  }
}

/** Those of the call's network, in no order, and not too many at once. */
function listUnreleased(call: LocalCall): readonly NotedAttachment[] {
  const folder = folderOf(call);
  // the usual case is that there never was any
  if (!call.host.files.exists(folder)) return [];
  const begin = `${call.config.name}${SEPARATOR}`;
  return (call.host.files.list(folder) ?? [])
    .filter((name) => name.startsWith(begin) && !name.endsWith(".tmp"))
    .slice(0, MOST)
    .flatMap((name) => {
      const end = name.indexOf(SEPARATOR, begin.length);
      return end < 0 ? [] : [{ containerID: name.slice(begin.length, end), ifName: name.slice(end + 1) }];
    });
}

/**
 * Gives back all that is noted of the call's network, unless another call is at it.
 *
 * @param release is done with them when it ends
 * @throws what `release` throws; then they stay noted
 */
export async function releaseUnreleased(call: LocalCall, release: (noted: readonly NotedAttachment[]) => Promise<void>): Promise<void> {
  if (listUnreleased(call).length === 0) return;
  using turn = await call.host.takeTurn(lockOf(call), 0);
  if (turn === undefined) return;
  const noted = listUnreleased(call);
  await release(noted);
  for (const attachment of noted) call.host.files.remove(fileOf(call, attachment));
}

/**
 * For an ADD of an attachment that may be noted, before it reads what is allocated: what it gets is not to be given back. Waits for whoever is about to.
 *
 * @throws NetplugError tryAgainLater when that takes too long
 */
export async function claimUnreleased(call: LocalCall): Promise<void> {
  const file = fileOf(call, call.environment);
  if (!call.host.files.exists(file)) return;
  using turn = await call.host.takeTurn(lockOf(call), TURN_WAIT_MS);
  if (turn === undefined)
    throw new NetplugError("tryAgainLater", `lock ${quote(lockOf(call))}: the addresses of an earlier ADD are being given back`);
  call.host.files.remove(file);
}

/** Who has it decides what becomes of the notes. */
function lockOf(call: LocalCall): string {
  return `${folderOf(call)}.lock`;
}

/** In a folder that does not outlive a boot, beside the lock that all calls of the node share. */
function folderOf({ config: { ipamLockFile } }: LocalCall): string {
  return `${ipamLockFile.slice(0, ipamLockFile.lastIndexOf("/"))}/unreleased`;
}

function fileOf(call: LocalCall, { containerID, ifName }: NotedAttachment): string {
  return `${folderOf(call)}/${[call.config.name, containerID, ifName].join(SEPARATOR)}`;
}
