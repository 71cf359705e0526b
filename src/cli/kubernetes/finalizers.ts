/** Objects whose deletion was asked for, and which other programs keep for a while. */

import type { ResourceRef } from "../../datastore/datastore.ts";
import { isCustom, typeOf } from "../../datastore/kubernetes/objects/resource-types.ts";
import type { KubeClient } from "../../kube/client.ts";

/** The finalizers that keep an object which is being deleted; none when it is gone, or a new one of its name is there. */
export async function finalizersThatKeep(client: KubeClient, { kind, namespace, name }: ResourceRef): Promise<readonly string[]> {
  if (!isCustom(kind)) return [];
  const { deletionTimestamp, finalizers = [] } = (await client.get(typeOf(kind), { namespace, name }))?.metadata ?? {};
  return deletionTimestamp === undefined ? [] : finalizers;
}
