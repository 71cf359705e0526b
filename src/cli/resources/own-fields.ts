/** Which fields netplugctl may change: on Kubernetes, nodes and workload endpoints are views of its nodes and pods, whose fields are not ours. */

import type { Resource } from "../../api/resource.ts";
import type { Datastore, ResourceRef } from "../../datastore/datastore.ts";
import { isJsonObject } from "../../lib/json.ts";
import { CommandFailed } from "../failures/failure.ts";
import { toTitle } from "./object-name.ts";

/** Fields of an endpoint that we record in its pod. */
const RECORDED: ReadonlySet<string> = new Set(["spec.ipNetworks", "spec.containerID"]);

/** Addresses of a node that its kubelet tells. */
const ADDRESSES_OF_KUBELET: ReadonlySet<unknown> = new Set(["InternalIP", "ExternalIP"]);

/** @throws {CommandFailed} a change that would be lost */
export function requireOwnFields(type: Datastore["type"], ref: ResourceRef, current: Resource, wanted: Resource): void {
  if (type !== "kubernetes") return;
  const [before, after] = [foreignFieldsOf(current), foreignFieldsOf(wanted)];
  const lost = [...new Set([...before.keys(), ...after.keys()])].filter((path) => !Bun.deepEquals(before.get(path), after.get(path)));
  if (lost.length === 0) return;
  const owner = ref.kind === "Node" ? "Kubernetes' node" : "the pod";
  throw new CommandFailed(`change ${toTitle(ref)}: ${lost.join(", ")}: comes from ${owner}; change it there, with kubectl`);
}

/** What comes from Kubernetes, by path. */
function foreignFieldsOf({ kind, metadata, spec }: Resource): ReadonlyMap<string, unknown> {
  const fields = Object.entries(spec as object).map(([key, value]) => [`spec.${key}`, value] as const);
  if (kind === "WorkloadEndpoint") {
    const { labels = {}, annotations = {} } = metadata;
    const own = fields.filter(([path]) => !RECORDED.has(path));
    return new Map<string, unknown>([["metadata.labels", labels], ["metadata.annotations", annotations], ...own]);
  }
  if (kind !== "Node") return new Map();
  const foreign = new Map<string, unknown>(fields.filter(([path]) => path === "spec.podCIDRs" || path === "spec.orchRefs"));
  const addresses = (spec as { readonly addresses?: readonly unknown[] }).addresses ?? [];
  return foreign.set(
    "spec.addresses",
    addresses.filter((address) => isJsonObject(address) && ADDRESSES_OF_KUBELET.has(address["type"])),
  );
}
