/** Another attachment than the call's own: what calls on the node have noted about it. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { LocalCall } from "../call.ts";

/** The call, as one about that attachment, for the functions that read and write the node's files. */
export function callAbout(call: LocalCall, { network, containerID, ifName }: AttachmentId): LocalCall {
  const { config, environment } = call;
  return { ...call, config: { ...config, name: network }, environment: { ...environment, containerID, ifName } };
}
