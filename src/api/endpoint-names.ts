/**
 * What an attachment is called in the datastore and on its host. The names follow from its pod or container and its interface, so they need
 * not be stored: the plugin, a datastore that has no place for them, and the reader of a block's record all make the same.
 */

import { sha1Hex } from "../lib/hash.ts";
import type { Orchestrator } from "./workload-endpoint.ts";

/** The interface that is an attachment's only one nearly always: it leaves no trace in names. */
export const FIRST_INTERFACE = "eth0";

/** First letters of every host side that is ours. */
export const HOST_PREFIX = "npg";

/**
 * Name of the host side: 3 letters and 11 hexadecimal digits, within the kernel's limit of 15 characters.
 *
 * @param owner `<namespace>.<pod>`, or the container ID where there is no pod
 */
export function toHostSideName(owner: string, ifName: string): string {
  const text = ifName === FIRST_INTERFACE ? owner : `${owner}.${ifName}`;
  return HOST_PREFIX + sha1Hex(text).slice(0, 11);
}

/**
 * Name of the `WorkloadEndpoint`: its parts joined by `-`, with every `-` inside a part doubled, so that it can be taken apart again.
 *
 * @param workload the pod's name, or the container ID where there is no pod
 */
export function joinEndpointName(node: string, orchestrator: Orchestrator, workload: string, ifName: string): string {
  return [node, orchestrator, workload, ifName].map((part) => part.replaceAll("-", "--")).join("-");
}
