/**
 * Those who wait in the queue, as the call sees them whose turn it is. It gives addresses only to attachments that an ADD holds (see
 * `attachment-state/hold.ts`): after a DEL has ended a hold, nobody would look for such addresses. A hold may also be ended while its addresses
 * are being given, by a DEL that does not wait for our turn. So at the end we look again, and note such addresses for the next DEL to release.
 * If we die before that, whoever clears the request away does so.
 */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import type { QueuedRequest, QueuedRequests } from "../../linux/turns/queued-requests.ts";
import { readHold } from "../attachment-state/hold.ts";
import { attempt } from "../attachment-state/node-files.ts";
import { writePending } from "../attachment-state/pending-note.ts";
import type { Call, LocalCall } from "../call.ts";
import { parseOwner, parseRequest } from "./request-text.ts";
import type { NodeQueue } from "./node-turn.ts";

/** The queue behind a turn. */
export function openNodeQueue(call: Call, queue: QueuedRequests): NodeQueue {
  const read = new Map<AddressRequest, QueuedRequest>();
  // Of any network, even one with another datastore: nobody will see this request again.
  const onDead = (text: string): void => {
    const owner = parseOwner(text);
    if (owner !== undefined) releaseUnlessHeld(call, owner);
  };
  return {
    requests() {
      const found: AddressRequest[] = [];
      for (const one of queue.read(onDead)) {
        const request = parseRequest(one.text, call.datastoreKey());
        if (request?.owner.node !== call.node || !isHeld(call, request.owner)) continue;
        found.push(request);
        read.set(request, one);
      }
      return found;
    },
    tellServed(served) {
      queue.tellServed(served.map((request) => read.get(request)).filter((one) => one !== undefined));
      if (served.length > 0) call.log.debug("others in the queue got their addresses, too", { count: served.length });
    },
    [Symbol.dispose]() {
      for (const { owner } of read.keys()) releaseUnlessHeld(call, owner);
    },
  };
}

/** False also when it cannot be told. */
function isHeld(call: LocalCall, owner: AllocationOwner): boolean {
  let isThere = false;
  attempt(call, () => {
    isThere = readHold(callOf(call, owner), owner) !== undefined;
  });
  return isThere;
}

/** Leaves the release to the next DEL. Nothing must be gone before it: the DEL has removed the interface, if there was one. */
function releaseUnlessHeld(call: LocalCall, owner: AllocationOwner): void {
  if (!isHeld(call, owner)) attempt(call, () => writePending(callOf(call, owner), { path: "", id: "", until: 0, addresses: [] }));
}

/** As a call for the attachment of somebody in the queue, whose notes are kept in the same folder. */
function callOf(call: LocalCall, { network, containerID, ifName }: AllocationOwner): LocalCall {
  const { config, environment } = call;
  return { ...call, config: { ...config, name: network }, environment: { ...environment, containerID, ifName } };
}
