/** Core objects, with the fields that netplug looks at. */

import type { KubeObject } from "./kube-object.ts";
import type { ResourceType } from "./resource-type.ts";

/** A pod, as the plugin asks for it and netplugctl compares it. @see Kubernetes API, v1 Pod */
export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly hostNetwork?: boolean;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface Container {
  readonly name?: string;
  readonly ports?: readonly ContainerPort[];
}

/** Of `containers[].ports`: the endpoint's named ports are made of it. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  /** @default "TCP" */
  readonly protocol?: string;
}

/** A node of the cluster, of which ours is a view. @see Kubernetes API, v1 Node */
export interface Node extends KubeObject {
  readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: { readonly containerRuntimeVersion?: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly lastTransitionTime?: string }[];
  };
}

/** The CIDRs from which a node's pods get addresses. An API server sets both fields: the list, and its first entry. */
export function podCidrsOf({ spec }: Node): readonly string[] {
  if (spec?.podCIDRs !== undefined && spec.podCIDRs.length > 0) return spec.podCIDRs;
  return spec?.podCIDR === undefined || spec.podCIDR === "" ? [] : [spec.podCIDR];
}

// Where the API server serves these types.
export const PODS: ResourceType<Pod> = { group: "", version: "v1", plural: "pods", kind: "Pod", isNamespaced: true };
export const NODES: ResourceType<Node> = { group: "", version: "v1", plural: "nodes", kind: "Node", isNamespaced: false };
export const NAMESPACES: ResourceType = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", isNamespaced: false };
