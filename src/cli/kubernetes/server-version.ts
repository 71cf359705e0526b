/** Which Kubernetes an API server is of. */

import type { KubeClient } from "../../kube/client.ts";

/** As the API server says it: `v1.36.0`; undefined when it says nothing of the kind. */
export async function readServerVersion(client: KubeClient): Promise<string | undefined> {
  const { gitVersion } = await client.getPath("/version");
  return typeof gitVersion === "string" ? gitVersion : undefined;
}

/** Whether a version is older than another one, e.g. `1.31`; one that cannot be read is not. */
export function isOlder(version: string | undefined, than: string): boolean {
  const [own, other] = [version, than].map((text) => /^v?(\d{1,4})\.(\d{1,4})/.exec(text ?? ""));
  if (!own || !other) return false;
  const [major, minor] = [Number(own[1]) - Number(other[1]), Number(own[2]) - Number(other[2])];
  return major < 0 || (major === 0 && minor < 0);
}
