/** The schema of nodes. */

import * as v from "valibot";
import { address, addressWithLength, cidr, listOf, macAddress, matching, oneOf, text, wholeNumber } from "./fields.ts";

const AS_NUMBER = "1..4294967295 or a text `high.low`";

const asNumber = v.union([wholeNumber(1, 4_294_967_295), matching(/^[0-9]{1,5}\.[0-9]{1,5}$/, AS_NUMBER)], `want ${AS_NUMBER}`);

/** Its lists have no limit: there is no CRD of nodes whose rules would cost an API server time. */
export const nodeSpec = v.object({
  bgp: v.exactOptional(
    v.object({
      asNumber: v.exactOptional(asNumber),
      ipv4Address: v.exactOptional(addressWithLength),
      ipv6Address: v.exactOptional(addressWithLength),
      ipv4IPIPTunnelAddr: v.exactOptional(address),
      routeReflectorClusterID: v.exactOptional(address),
    }),
  ),
  ipv4VXLANTunnelAddr: v.exactOptional(address),
  ipv6VXLANTunnelAddr: v.exactOptional(address),
  vxlanTunnelMACAddr: v.exactOptional(macAddress),
  vxlanTunnelMACAddrV6: v.exactOptional(macAddress),
  wireguard: v.exactOptional(v.object({ interfaceIPv4Address: v.exactOptional(address), interfaceIPv6Address: v.exactOptional(address) })),
  orchRefs: v.exactOptional(listOf(v.object({ nodeName: v.exactOptional(text), orchestrator: text }))),
  addresses: v.exactOptional(
    listOf(v.object({ address: addressWithLength, type: v.exactOptional(oneOf("NetplugNodeIP", "InternalIP", "ExternalIP")) })),
  ),
  interfaces: v.exactOptional(listOf(v.object({ name: text, addresses: v.exactOptional(listOf(addressWithLength)) }))),
  podCIDRs: v.exactOptional(listOf(cidr)),
});
