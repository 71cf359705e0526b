/** For tests: taking custom resource definitions away. */

import type { ApiServer } from "./api-server.ts";
import { eventually } from "../time/eventually.ts";

/** How long a server may take before it is reminded. */
const PATIENCE_MS = 500;

/**
 * Deletes custom resource definitions, and waits until they are gone.
 *
 * Not `kubectl delete --wait`: kube-apiserver 1.36 can forget one whose storage is not ready yet. The controller of its finalizer then notes a
 * failure, loses a race with its own note, and looks again after minutes, or when anything but that note changes.
 *
 * @param names such as `ippools.netplug.io`
 */
export async function deleteCrds(server: Pick<ApiServer, "kubectl">, names: readonly string[]): Promise<void> {
  const find = async (): Promise<readonly string[]> =>
    (await server.kubectl(["get", "crd", ...names, "--ignore-not-found", "-o", "name"])).split("\n").filter((name) => name !== "");
  await server.kubectl(["delete", "crd", ...names, "--wait=false"]);
  await eventually(async () => {
    if ((await find()).length === 0) return;
    await Bun.sleep(PATIENCE_MS);
    const left = await find();
    if (left.length === 0) return;
    await server.kubectl(["annotate", ...left, `test.io/reminded=${Date.now()}`, "--overwrite"]);
    throw new Error(`want ${left.join(", ")} deleted`);
  });
}
