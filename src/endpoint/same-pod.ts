/** Whether a pod of Kubernetes is the one that the runtime means. */

import type { Pod } from "../kube/core-types.ts";
import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { type PodIdentity, runtimeUidOf } from "./names.ts";

/**
 * Makes sure that the API server shows the runtime's pod, and not another of the same name. A runtime that gives no UID means any of that
 * name.
 *
 * @throws {NetplugError} podMismatch
 */
export function requireSamePod({ metadata }: Pick<Pod, "metadata">, { uid, namespace, name }: PodIdentity): void {
  const known = runtimeUidOf(metadata) ?? "";
  if (uid === undefined || uid === known) return;
  throw new NetplugError(
    "podMismatch",
    `find pod ${quote(`${namespace}/${name}`)}: its UID is ${quote(known)}, and K8S_POD_UID is ${quote(uid)}; it was deleted and made anew`,
  );
}
