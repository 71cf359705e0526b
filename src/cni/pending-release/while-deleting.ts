/**
 * The pending release of a DEL that may be killed before it has released anything, and that nobody repeats: containerd 2 forgets a sandbox
 * whose ADD has failed. Also that of each attachment whose hold a GC ends: a runtime calls the next one when it is started again.
 */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { LocalCall } from "../call.ts";
import { isNamedByProcess } from "../attachment-state/gone-netns.ts";
import type { HoldNote } from "../attachment-state/hold-note.ts";
import { hasNodeFile, type NodeFile, removeNodeFile, tolerate } from "../attachment-state/node-files.ts";
import { lastArrival, type PendingRelease, writePending } from "../attachment-state/pending-file.ts";

/** A pending release that stands while a DEL or GC is at work. */
export interface PendingOfDel {
  /** Notes, before the DEL ends a hold, that the addresses are to be released when the hold's namespace is gone. */
  readonly write: (hold: HoldNote) => void;
  /**
   * Removes it: the DEL has released what there is, or is run again. It stays where the ADD was killed, because that ADD's last request may still
   * arrive, and where a newer ADD has the attachment, whose own it may be by now.
   */
  drop(): void;
  /**
   * What of it stays true when the DEL is over: it waits for this DEL no more, but for the last request of an ADD that was killed.
   *
   * @returns undefined where none was written
   */
  afterDel(): PendingRelease | undefined;
}

/**
 * Writes nothing yet. Wanted even where the runtime knows the ADD's result, because the ADD of another interface may have failed, or the sandbox
 * after it.
 *
 * @param call one whose addresses are not a delegate's
 * @param attachment by default the call's own
 * @returns undefined where no ADD has the attachment
 */
export function preparePendingOfDel(call: LocalCall, attachment?: AttachmentId): PendingOfDel | undefined {
  const has = (kind: NodeFile): boolean => hasNodeFile(call, kind, attachment);
  if (tolerate(call, () => has("attached")) !== true) return undefined;
  let afterDel: PendingRelease | undefined;
  return {
    write({ path, id, isOver }) {
      // Nothing would tell when the addresses are out of use.
      if (id === "" || isNamedByProcess(path)) return;
      tolerate(call, () => {
        // An earlier call knew more.
        if (has("unreleased")) return;
        // Until then this DEL may be at work, and the last request of an ADD that was killed on its way.
        const until = lastArrival(call);
        const written = { path, id, until, addresses: [], pod: call.args.pod };
        writePending(call, written, attachment);
        afterDel = isOver ? { ...written, until: 0 } : written;
      });
    },
    drop() {
      tolerate(call, () => {
        if (afterDel?.until === 0 && !has("attached")) removeNodeFile(call, "unreleased", attachment);
      });
    },
    afterDel: () => afterDel,
  };
}
