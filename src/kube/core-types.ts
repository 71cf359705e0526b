/** Core objects, with the fields that netplug looks at. */

import type { KubeObject } from "./kube-object.ts";
import type { ResourceType } from "./resource-type.ts";

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
  };
}

interface Container {
  readonly name?: string;
  readonly ports?: readonly ContainerPort[];
}

export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  /** @default "TCP" */
  readonly protocol?: string;
}

export interface Node extends KubeObject {
  readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: { readonly containerRuntimeVersion?: string };
  };
}

export const PODS: ResourceType<Pod> = { group: "", version: "v1", plural: "pods", kind: "Pod", isNamespaced: true };
export const NODES: ResourceType<Node> = { group: "", version: "v1", plural: "nodes", kind: "Node", isNamespaced: false };
export const NAMESPACES: ResourceType = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", isNamespaced: false };
