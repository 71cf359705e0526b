/** For tests: an attachment as a runtime asks for it that says nothing special. */

import type { Workload } from "../../../src/endpoint/names.ts";
import type { AttachmentRequest } from "../../../src/endpoint/plan-attachment.ts";
import { NETWORK } from "../ipam/ipam.ts";

/** @param change what is special after all */
export function attachmentRequest(node: string, workload: Workload, change: Partial<AttachmentRequest> = {}): AttachmentRequest {
  return {
    node,
    network: NETWORK,
    workload,
    labels: {},
    mac: undefined,
    mtu: 1500,
    queues: 1,
    routes: undefined,
    includeDefaultRoutes: false,
    allowIpForwarding: false,
    ...change,
  };
}
