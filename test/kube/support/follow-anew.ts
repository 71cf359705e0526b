/** For tests: what is followed through one history after the other. */

import type { KubeClient } from "../../../src/kube/client.ts";
import type { KubeObject } from "../../../src/kube/kube-object.ts";
import type { ResourceType } from "../../../src/kube/resource-type.ts";
import { follow, type FollowEvent, type FollowOptions, type FollowPorts } from "../../../src/kube/watch/follow.ts";

/** As `follow()`, which begins anew, at once, whenever its history is gone. Ends when the signal aborts. */
export async function* followAnew<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
): AsyncIterable<FollowEvent<T>> {
  while (!options.signal.aborted) yield* follow(client, ports, type, options);
}
