/** Nodes that Kubernetes does not hear of: the containers there may run on, whatever became of their pods. */

import type { Resource } from "./resource.ts";

/** Annotation that a node of Kubernetes shows: since when its kubelet has not reported. It is made of the node's status, and never stored. */
export const SILENT_SINCE = "netplug.io/silent-since";

/** A time, for messages; undefined: the kubelet reports, or nobody watches whether it does. */
export function silentSince({ metadata }: Pick<Resource, "metadata">): string | undefined {
  return metadata.annotations?.[SILENT_SINCE];
}
