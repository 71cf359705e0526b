/** Whether our account may write what an ADD writes: it cannot be tried without a pod and a block. */

import { DEFAULT_NAMESPACE } from "../../api/resource.ts";
import { type Action, findDenial } from "../../kube/access-review.ts";
import type { KubeClient } from "../../kube/client.ts";
import { PODS } from "../../kube/core-types.ts";
import type { KubeError } from "../../kube/kube-error.ts";
import type { CommitTarget, RequestOptions } from "../datastore.ts";
import { IPAM_BLOCKS } from "./objects/resource-types.ts";

/** That a block may be created is not asked for: a node with room in its blocks gives addresses without that. */
const WRITES: Readonly<Record<CommitTarget, Action>> = {
  blocks: { verb: "update", type: IPAM_BLOCKS },
  endpoints: { verb: "patch", type: PODS, subresource: "status", namespace: DEFAULT_NAMESPACE },
};

/** @returns why a write would be refused; undefined: none would, or nobody knows */
export async function findForbidden(
  client: KubeClient,
  targets: readonly CommitTarget[],
  options: RequestOptions,
): Promise<KubeError | undefined> {
  const denials = await Promise.all(targets.map((target) => findDenial(client, WRITES[target], { signal: options.signal })));
  return denials.find((denial) => denial !== undefined);
}
