/** What an ADD tells the runtime. */

import type { AttachmentPlan } from "../../endpoint/plan-attachment.ts";
import { toPrefixText } from "../../lib/ip/prefix.ts";
import { NEXT_HOPS } from "../../endpoint/pod-link.ts";
import { toAddressText, WIDTH } from "../../lib/ip/address.ts";
import type { Call } from "../call.ts";
import { type CniResult, mergeWithPrevious, toResultIp } from "../protocol/result.ts";

const POD_SIDE = 1;

/**
 * Host side, pod side, addresses as /32 and /128, and the routes that were installed; then the entries of `prevResult`.
 *
 * @param dns from the delegate's result
 */
export function toAddResult(call: Call, { link }: AttachmentPlan, dns: CniResult["dns"]): CniResult {
  const own: CniResult = {
    interfaces: [{ name: link.hostName }, { name: link.podName, mac: link.podMac, mtu: link.mtu, sandbox: call.environment.netns ?? "" }],
    ips: link.addresses.map((address) => toResultIp({ address, length: WIDTH[address.family] }, POD_SIDE)),
    routes: link.routes.map((route) => ({ dst: toPrefixText(route), gw: toAddressText(NEXT_HOPS[route.family]) })),
    dns,
  };
  return mergeWithPrevious(own, call.config.prevResult);
}
