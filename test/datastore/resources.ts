/** For tests: resources with as much in them as a datastore looks at. */

import type { Resource } from "../../src/api/resource.ts";
import type { ResourceRef } from "../../src/datastore/datastore.ts";

export function makePool(name: string, cidr = "10.65.0.0/16"): Resource {
  return { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec: { cidr } };
}

/** Of the kind that has the least. */
export function makeTier(name: string): Resource {
  return { apiVersion: "netplug.io/v3", kind: "Tier", metadata: { name }, spec: { order: 7 } };
}

export function poolRef(name: string): ResourceRef {
  return { kind: "IPPool", name };
}

/** Of the one kind with a namespace, with text in it that is not ASCII. */
export function makeEndpoint(namespace: string, name: string): Resource {
  return { apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata: { namespace, name }, spec: { note: "Zürich 東京 \u0000" } };
}
