/**
 * The queue, for the call whose turn it is. It allocates addresses only for attachments that an ADD holds (see `attachment-state/hold.ts`):
 * after a DEL has ended a hold, nobody would look for such addresses. A DEL that does not wait for our turn may also end a hold while we
 * allocate. So at the end we look again, and leave such addresses to the next DEL as a pending release. If we die before that, the process
 * that removes the request does it.
 */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import type { Queue } from "../../ipam/transact/node-turn.ts";
import type { QueuedRequest, QueuedRequests } from "../../linux/turns/queued-requests.ts";
import { readHold } from "../attachment-state/hold-note.ts";
import { tolerate } from "../attachment-state/node-files.ts";
import { lastArrival, NO_CONDITION, writePending } from "../attachment-state/pending-file.ts";
import type { Call, LocalCall } from "../call.ts";
import { parseOwner, parseRequest } from "./request-text.ts";

/** The queue behind a turn; disposed of when the turn's last commit is over, before the next turn begins. */
export function openNodeQueue(call: Call, queue: QueuedRequests): Queue & Disposable {
  const read = new Map<AddressRequest, QueuedRequest>();
  // Whatever its network or datastore: nobody will see this request again.
  const onDead = (text: string): void => {
    const owner = parseOwner(text);
    if (owner !== undefined) releaseUnlessHeld(call, owner);
  };
  return {
    requests() {
      const found: AddressRequest[] = [];
      for (const queued of queue.read(onDead)) {
        const request = parseRequest(queued.text, call.datastoreKey());
        if (request?.owner.node !== call.node || !isHeld(call, request.owner)) continue;
        found.push(request);
        read.set(request, queued);
      }
      return found;
    },
    tellServed(served) {
      queue.tellServed(served.map((request) => read.get(request)).filter((queued) => queued !== undefined));
      if (served.length > 0) call.log.debug("others in the queue got their addresses, too", { count: served.length });
    },
    [Symbol.dispose]() {
      for (const { owner } of read.keys()) releaseUnlessHeld(call, owner);
    },
  };
}

/** False also when it cannot be told. */
function isHeld(call: LocalCall, owner: AllocationOwner): boolean {
  return tolerate(call, () => readHold(call, owner)) !== undefined;
}

/**
 * Leaves the release to the next DELs, without a condition: the DEL that ended the hold has removed the interface, if there was one. For a
 * minute, because our commit may have got no reply.
 */
function releaseUnlessHeld(call: LocalCall, owner: AllocationOwner): void {
  if (isHeld(call, owner)) return;
  tolerate(call, () => writePending(call, { ...NO_CONDITION, until: lastArrival(call), addresses: [] }, owner));
}
