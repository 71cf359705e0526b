/** Kinds of objects as the API server serves them. */

import type { KubeObject } from "./kube-object.ts";

/** Where a kind of object is served, and, for the compiler, what its objects look like. */
export interface ResourceType<T extends KubeObject = KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** As in paths and roles: `pods`, `ippools`. */
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** Never there; carries the type of the objects. */
  readonly objectType?: T;
}

/** `v1`, `netplug.io/v3`: what `apiVersion` holds. */
export function apiVersionOf({ group, version }: ResourceType): string {
  return group === "" ? version : `${group}/${version}`;
}

/** `pods`, `pods/status`, `ippools.netplug.io`: as roles and messages name it. */
export function toResourceText({ group, plural }: ResourceType, subresource?: string): string {
  const withSubresource = subresource === undefined ? plural : `${plural}/${subresource}`;
  return group === "" ? withSubresource : `${withSubresource}.${group}`;
}
