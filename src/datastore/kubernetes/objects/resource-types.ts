/** Where the API server serves what the datastore keeps. */

import type { IPAMBlockSpec } from "../../../api/ipam-block-object.ts";
import { BLOCK_KIND, type KindInfo, KINDS } from "../../../api/registry.ts";
import { API_VERSION, type Kind } from "../../../api/resource.ts";
import type { KubeObject } from "../../../kube/kube-object.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";

/** Kinds that Kubernetes has itself: ours are views of its nodes and pods. */
export type ViewKind = "Node" | "WorkloadEndpoint";

/** Kinds with a CRD. */
export type CustomKind = Exclude<Kind, ViewKind>;

/** An object of one of our CRDs, not checked yet. */
export interface CustomObject extends KubeObject {
  readonly spec?: unknown;
}

/** A block's object, not checked yet: somebody may have written it by hand. */
export interface BlockObject extends KubeObject {
  readonly spec?: Partial<IPAMBlockSpec>;
}

const [GROUP = "", VERSION = ""] = API_VERSION.split("/");

/** Where blocks are. They have no entry in {@link typeOf}: only the system writes them. */
export const IPAM_BLOCKS: ResourceType<BlockObject> = toType(BLOCK_KIND);

/** Whether a kind has a CRD; the others are views of Kubernetes' own objects. */
export function isCustom(kind: Kind): kind is CustomKind {
  return kind !== "Node" && kind !== "WorkloadEndpoint";
}

/** Where the objects of a kind are. */
export function typeOf(kind: CustomKind): ResourceType<CustomObject> {
  return toType(KINDS[kind]);
}

/** Whether a type is one of ours, so that `netplugctl init` brings it. */
export function isOurs({ group }: ResourceType): boolean {
  return group === GROUP;
}

function toType({ kind, plural, namespaced }: KindInfo): ResourceType {
  return { group: GROUP, version: VERSION, plural, kind, isNamespaced: namespaced };
}
