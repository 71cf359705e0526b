/** `delete` of an endpoint on Kubernetes: a view of a pod, which stays as long as the pod. */

import type { Resource } from "../../api/resource.ts";
import type { WorkloadEndpointSpec } from "../../api/workload-endpoint.ts";
import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import { toTitle } from "./object-name.ts";
import { deleteResource, type Target } from "./write.ts";

/**
 * Takes the addresses that netplug recorded out of the pod.
 *
 * @returns what became of the endpoint, for a person
 * @throws {CommandFailed} there is none, or its addresses are not of our making
 */
export async function clearEndpoint(target: Target, ref: ResourceRef): Promise<string> {
  const before = (await deleteResource(target, ref)).stored.value;
  const [after] = await target.datastore.read([{ type: "get", ref }]);
  if (after === undefined) return "deleted";
  const pod = `pod ${quote(`${ref.namespace ?? ""}/${specOf(before).pod ?? ""}`)}`;
  const stays = "the endpoint is a view of the pod and ends with it";
  const left = addressesOf(after.value);
  if (left !== "") {
    const fault = `${left} is what the kubelet reports of ${pod}, not what netplug recorded; ${stays}: delete it with kubectl`;
    throw new CommandFailed(`delete ${toTitle(ref)}: ${fault}`);
  }
  const taken = addressesOf(before);
  if (taken === "") return `unchanged: ${pod} shows no address; ${stays}`;
  // "ipam check" calls it leaked from now on, and names the command that would give it to a second pod
  return `cleared: ${taken} taken out of ${pod}, and not released: do that only when its container is gone; ${stays}`;
}

function specOf({ spec }: Resource): WorkloadEndpointSpec {
  return spec as WorkloadEndpointSpec;
}

function addressesOf(endpoint: Resource): string {
  return (specOf(endpoint).ipNetworks ?? []).join(", ");
}
