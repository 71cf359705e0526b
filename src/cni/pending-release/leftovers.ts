/** What calls left that were killed, or for which nobody called DEL: a DEL gathers it while the kernel removes its interface. */

import { folderOf, tolerate } from "../attachment-state/node-files.ts";
import { removeUnfinished, removeUnfinishedOfNode } from "../attachment-state/unfinished-files.ts";
import { type Call, isMain } from "../call.ts";
import { toPendingOfStaleHolds } from "./from-stale-holds.ts";
import type { PendingOfDel } from "./while-deleting.ts";

/**
 * How many holds a DEL looks at: `most` after an ADD that failed, perhaps because a former sandbox of the pod still has its address. A node has
 * some hundred pods; later calls come to the others.
 */
const LOOKS = { most: 256, some: 16 };

/**
 * Makes pending releases of stale holds, and removes what killed calls left unfinished.
 *
 * @param own the call's pending release
 * @returns whether there are pending releases to carry out
 */
export async function gatherLeftovers(call: Call, own: PendingOfDel | undefined): Promise<boolean> {
  if (isMain(call.plugin)) {
    // The ADD has failed, for all that the runtime knows.
    const isAfterFailedAdd = own !== undefined && !call.config.prevResult;
    removeUnfinished(call);
    if (isAfterFailedAdd) removeUnfinishedOfNode(call);
    toPendingOfStaleHolds(call, isAfterFailedAdd ? LOOKS.most : LOOKS.some);
  }
  const isOwnThere = own?.afterDel() !== undefined;
  if (countPending(call) <= (isOwnThere ? 1 : 0)) return false;
  return (await import("./carry-out.ts")).isAnyDue(call);
}

/** Of every network, due or not. */
function countPending(call: Call): number {
  return tolerate(call, () => call.host.files.list(folderOf(call, "unreleased")))?.length ?? 0;
}
