/** For tests on a whole cluster: how they are registered, and what they share. */

import type { test as always } from "bun:test";
import { shareIf } from "../../support/share.ts";
import { type Cluster, type ClusterOptions, canStartCluster, startCluster } from "./cluster.ts";

/**
 * `const [test, cluster] = onCluster({ network })`: pods can be made in it at once. Where no cluster can be built, its tests are skipped.
 *
 * @param prepare what all of them find
 */
export function onCluster(
  options: ClusterOptions,
  prepare?: (cluster: Cluster) => unknown,
): readonly [test: typeof always, cluster: Cluster] {
  return shareIf(
    canStartCluster(),
    () => startCluster(options),
    async (cluster) => {
      await cluster.kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=180s"]);
      await prepare?.(cluster);
    },
  );
}
