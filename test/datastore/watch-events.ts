/** For tests: what a watch told, in few words. */

import type { Datastore, WatchEvent, WatchOptions } from "../../src/datastore/datastore.ts";

/** Watches until the signal aborts. */
export function startWatch(
  datastore: Datastore,
  kinds: WatchOptions["kinds"],
  signal: AbortSignal,
  namespace?: string,
): AsyncIterator<WatchEvent> {
  return datastore.watch({ kinds, namespace, signal })[Symbol.asyncIterator]();
}

/** Collects events until `count` of them came. */
export async function take(events: AsyncIterator<WatchEvent>, count: number): Promise<readonly WatchEvent[]> {
  const taken: WatchEvent[] = [];
  while (taken.length < count) {
    const { done, value } = await events.next();
    if (done === true) throw new Error(`the watch ended after ${JSON.stringify(taken)}`);
    taken.push(value);
  }
  return taken;
}

/** `put a`, `delete-block n1`, `in-sync`: the event and the name in it. */
export function toText(event: WatchEvent): string {
  switch (event.type) {
    case "put":
      return `put ${event.stored.value.metadata.name}`;
    case "put-block":
      return `put-block ${event.stored.value.node}`;
    case "delete":
      return `delete ${event.ref.name}`;
    case "delete-block":
      return `delete-block ${event.ref.node}`;
    default:
      return event.type;
  }
}
