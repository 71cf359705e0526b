/** Which endpoint is asked, and in which order the others are tried. */

import type { Random } from "../../../lib/ports.ts";

/** All known endpoints; the one that answered last comes first. */
export interface Endpoints {
  /** For one round of tries. */
  inOrder(): readonly string[];
  onSuccess(endpoint: string): void;
  onFailure(endpoint: string): void;
  /** None has answered since all of them failed: where they came from may know better ones by now. */
  readonly haveAllFailed: boolean;
}

/** @param urls in the order in which they are to be asked */
export function createEndpoints(urls: readonly string[]): Endpoints {
  let order: readonly string[] = [...new Set(urls)];
  const failed = new Set<string>();
  return {
    inOrder: () => order,
    onSuccess(endpoint) {
      failed.clear();
      if (order[0] !== endpoint) order = [endpoint, ...order.filter((other) => other !== endpoint)];
    },
    onFailure(endpoint) {
      failed.add(endpoint);
      if (order.length > 1) order = [...order.filter((other) => other !== endpoint), endpoint];
    },
    get haveAllFailed() {
      return failed.size === order.length;
    },
  };
}

/** A random order, so that many nodes spread over the members. */
export function shuffle(urls: readonly string[], random: Random): readonly string[] {
  if (urls.length === 1) return urls;
  const order = [...urls];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as string, order[last] as string]; // both indexes are inside the list
  }
  return order;
}
