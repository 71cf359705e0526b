/** Which endpoint is asked, and in which order the others are tried. */

import type { Random } from "../../lib/ports.ts";

/** All known endpoints; the one that answered last comes first. */
export interface Endpoints {
  /** For one round of tries. */
  inOrder(): readonly string[];
  onSuccess(endpoint: string): void;
  onFailure(endpoint: string): void;
}

/** Begins in random order, so that many nodes spread over the members. */
export function createEndpoints(urls: readonly string[], random: Random): Endpoints {
  let order = [...new Set(urls)];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [order[last], order[other]] = [order[other] as string, order[last] as string]; // both indexes are inside the list
  }
  return {
    inOrder: () => order,
    onSuccess(endpoint) {
      if (order[0] !== endpoint) order = [endpoint, ...order.filter((other) => other !== endpoint)];
    },
    onFailure(endpoint) {
      if (order.length > 1) order = [...order.filter((other) => other !== endpoint), endpoint];
    },
  };
}
