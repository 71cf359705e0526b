/** Nodes, as the etcd datastore keeps them; on Kubernetes they are a view of the cluster's own. */

import type { Resource } from "./resource.ts";

/** `ipam check` reads `podCIDRs`; the rest is for people and the node agent. Pools choose nodes by their labels. */
export interface NodeSpec {
  readonly bgp?: NodeBGPSpec;
  readonly ipv4VXLANTunnelAddr?: string;
  readonly ipv6VXLANTunnelAddr?: string;
  readonly vxlanTunnelMACAddr?: string;
  readonly vxlanTunnelMACAddrV6?: string;
  readonly wireguard?: NodeWireguardSpec;
  /** What the node is called elsewhere. */
  readonly orchRefs?: readonly NodeOrchRef[];
  readonly addresses?: readonly NodeAddress[];
  readonly interfaces?: readonly NodeInterface[];
  /** Pod CIDRs that the orchestrator gave to the node. */
  readonly podCIDRs?: readonly string[];
}

/** How the node takes part in BGP; kept for the node agent. */
interface NodeBGPSpec {
  /** 1..4294967295, or the dotted form `1.10` as text. */
  readonly asNumber?: number | string;
  /** Address with the prefix length of its subnet, e.g. `192.0.2.1/24`. */
  readonly ipv4Address?: string;
  readonly ipv6Address?: string;
  readonly ipv4IPIPTunnelAddr?: string;
  readonly routeReflectorClusterID?: string;
}

/** Addresses of the node's WireGuard interfaces, without prefix lengths; kept for the node agent. */
interface NodeWireguardSpec {
  readonly interfaceIPv4Address?: string;
  readonly interfaceIPv6Address?: string;
}

/** What an orchestrator calls the node. */
interface NodeOrchRef {
  readonly nodeName?: string;
  readonly orchestrator: string;
}

/** An address of the node, and what it is for. */
export interface NodeAddress {
  /** With or without a prefix length. */
  readonly address: string;
  readonly type?: NodeAddressType;
}

/** `NetplugNodeIP` is ours; on Kubernetes the others are the kubelet's, and are never written back. */
type NodeAddressType = "NetplugNodeIP" | "InternalIP" | "ExternalIP";

/** An interface of the node, its addresses with or without prefix lengths; kept for the node agent. */
interface NodeInterface {
  readonly name: string;
  readonly addresses?: readonly string[];
}

/** On etcd an administrator makes it. A node that has none counts as one without labels. */
export type Node = Resource<"Node", NodeSpec>;
