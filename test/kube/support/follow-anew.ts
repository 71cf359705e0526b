/** For tests: what is followed through one history after the other. */

import type { KubeClient } from "../../../src/kube/client.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { ResourceType } from "../../../src/kube/resource-type.ts";
import { follow, type FollowEvent, type FollowOptions, type FollowPorts, LISTING_ANEW } from "../../../src/kube/watch/follow.ts";
import { FailureRow } from "../../../src/lib/failure-row.ts";

/** As `follow()`, which begins anew whenever its history is gone, with the pauses of the product. Ends when the signal aborts. */
export async function* followAnew<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
): AsyncIterable<FollowEvent<T>> {
  const { signal } = options;
  const row = new FailureRow(ports, LISTING_ANEW);
  while (!signal.aborted) {
    row.begin();
    yield* follow(client, ports, type, options);
    await row.pauseIfShort(signal);
  }
}
