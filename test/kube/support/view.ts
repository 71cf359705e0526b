/** For tests: what somebody knows who follows a real API server. */

import type { KubeClient } from "../../../src/kube/client.ts";
import type { FollowEvent } from "../../../src/kube/watch/follow.ts";
import { followAnew } from "./follow-anew.ts";
import { type ConfigMap, CONFIG_MAPS, realPorts } from "./real-api.ts";

/** What a follower knows, and how often it had to begin anew. */
export interface View extends AsyncDisposable {
  readonly objects: ReadonlyMap<string, ConfigMap>;
  readonly resets: number;
  readonly errors: readonly string[];
  readonly isInSync: boolean;
}

/** Follows the ConfigMaps of a namespace until it is disposed of, and the client with it. */
export function watchNamespace(client: KubeClient, namespace: string): View {
  const controller = new AbortController();
  const objects = new Map<string, ConfigMap>();
  const state = { resets: 0, isInSync: false };
  const errors: string[] = [];
  const apply = (event: FollowEvent<ConfigMap>): void => {
    if (event.type === "error") errors.push(event.failure.reason);
    else if (event.type === "in-sync") state.isInSync = true;
    else if (event.type === "reset") {
      objects.clear();
      state.resets++;
      state.isInSync = false;
    } else if (event.type === "put") objects.set(event.object.metadata.name ?? "", event.object);
    else if (event.type === "delete") objects.delete(event.object.metadata.name ?? "");
  };
  const done = (async () => {
    for await (const event of followAnew(client, realPorts, CONFIG_MAPS, { namespace, signal: controller.signal })) apply(event);
  })();
  return {
    objects,
    errors,
    get resets() {
      return state.resets;
    },
    get isInSync() {
      return state.isInSync;
    },
    async [Symbol.asyncDispose]() {
      controller.abort();
      await done;
      client.close();
    },
  };
}
