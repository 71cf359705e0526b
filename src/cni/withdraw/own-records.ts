/** Whose a record is: which attachment's, and whether that is one of the call's node and network. */

import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { toAlias } from "../../endpoint/names.ts";
import { mayBeOf } from "../../endpoint/record.ts";
import type { Attachment } from "../../ipam/request.ts";
import type { Call } from "../call.ts";
import { findLink } from "../link/find.ts";
import { isOfAnotherNetwork } from "../link/remove.ts";

/** Whether a record is of this node and network. */
export function isOwnRecord(call: Call, record: WorkloadEndpoint): boolean {
  return record.spec.node === call.node && isOfOwnNetwork(call, record);
}

/**
 * Whether a record is of the call's network. A record that is a view of a pod names no network: as in a DEL, it is another network's if that one
 * has the interface that the record names.
 */
export function isOfOwnNetwork({ config, host }: Call, record: WorkloadEndpoint): boolean {
  const { network, interfaceName } = record.spec;
  if (!mayBeOf(record, config.name)) return false;
  if (network !== undefined || interfaceName === undefined) return true;
  using socket = host.kernel.openRouteSocket();
  return !isOfAnotherNetwork(findLink(socket, { name: interfaceName }), toAlias(config.name, attachmentOf(record)));
}

/** Whose record it is. */
export function attachmentOf({ spec }: WorkloadEndpoint): Attachment {
  return { containerID: spec.containerID ?? "", ifName: spec.endpoint };
}
