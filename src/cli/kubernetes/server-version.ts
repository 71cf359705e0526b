/** Which Kubernetes an API server is of. */

import type { KubeClient } from "../../kube/client.ts";

/** As the API server says it: `v1.36.0`; undefined when it says nothing of the kind. */
export async function readServerVersion(client: KubeClient): Promise<string | undefined> {
  const { gitVersion } = await client.getPath("/version");
  return typeof gitVersion === "string" ? gitVersion : undefined;
}
