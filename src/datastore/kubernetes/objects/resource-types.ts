/** Where the API server serves what the datastore keeps. */

import type { IPAMBlockSpec } from "../../../api/ipam-block-object.ts";
import { BLOCK_KIND, type KindInfo, KINDS } from "../../../api/registry.ts";
import { API_GROUP, API_GROUP_VERSION, type CustomKind, type Kind } from "../../../api/resource.ts";
import type { KubeObject } from "../../../kube/kube-object.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";

/** An object of one of our CRDs, not checked yet. */
export interface CustomObject extends KubeObject {
  readonly spec?: unknown;
}

/** A block's object, not checked yet: somebody may have written it by hand. */
export interface BlockObject extends KubeObject {
  readonly spec?: Partial<IPAMBlockSpec>;
}

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
  return group === API_GROUP;
}

function toType({ kind, plural, namespaced }: KindInfo): ResourceType {
  return { group: API_GROUP, version: API_GROUP_VERSION, plural, kind, isNamespaced: namespaced };
}
