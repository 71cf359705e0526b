/** Which endpoints have an address, whoever it is allocated to. */

import { joinEndpointName } from "../../../api/endpoint-names.ts";
import { endingAddresses, reportedAddresses } from "../../../api/reported-addresses.ts";
import { silentSince } from "../../../api/silent-node.ts";
import { DEFAULT_NAMESPACE } from "../../../api/resource.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import type { AllocationOwner } from "../../../api/ipam-block.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { type Address, equalAddresses } from "../../../lib/ip/address.ts";
import { quote } from "../../../lib/quote.ts";
import { isCopied } from "./copied-record.ts";
import { describeGonePod, knownPods } from "./gone-pods.ts";

/**
 * Endpoints that have an address by their record, or by their kubelet where that was cleared. Those that cannot be read are left out:
 * {@link checkConsistency} names them.
 */
export async function findUsers(datastore: Datastore, address: Address): Promise<readonly WorkloadEndpoint[]> {
  const [stored] = await datastore.read([{ type: "list", kind: "WorkloadEndpoint" }], { onDamage: () => {} });
  return stored.flatMap(({ value }) => {
    const recorded = recordedAddresses(value);
    const having = recorded.length > 0 ? recorded : reportedAddresses(value);
    return having.some((one) => equalAddresses(one, address)) ? [value] : [];
  });
}

/** The endpoint that an address is allocated for; under another main plugin the pod. */
interface OwnEndpoint {
  /** For messages: what it is, and its name. */
  readonly title: string;
  readonly hasAddress: boolean;
  /** The one that had it, of a pod: such an endpoint outlives it, and a new container of the pod may wait for this very address. */
  readonly container?: string;
  /** How that contradicts the allocation. */
  readonly contradiction: string | undefined;
}

/** Whether the endpoint that an address is allocated for has it; undefined for another main plugin's whose pod is not known: that has no endpoint. */
export async function findOwnEndpoint(datastore: Datastore, address: Address, owner: AllocationOwner): Promise<OwnEndpoint | undefined> {
  const { endpoint, node, namespace = DEFAULT_NAMESPACE, pod, ifName, containerID } = owner;
  if (endpoint === undefined && (pod === undefined || !datastore.traits.recordsArePods)) return undefined;
  const name = endpoint ?? joinEndpointName(node, "k8s", pod ?? "", ifName);
  const [stored] = await datastore.read([{ type: "get", ref: { kind: "WorkloadEndpoint", namespace, name } }]);
  const sources = [recordedAddresses, reportedAddresses, endingAddresses];
  const having = stored === undefined ? [] : sources.flatMap((addressesOf) => addressesOf(stored.value));
  const hasAddress = having.some((one) => equalAddresses(one, address));
  const isRecordOfOwner = (stored?.value.spec.containerID ?? containerID) === containerID;
  const container = pod !== undefined && isRecordOfOwner ? { container: containerID } : {};
  if (endpoint === undefined) {
    const gone = describeGonePod(owner, knownPods(stored === undefined ? [] : [stored.value], NO_NODES));
    return {
      title: `pod ${quote(`${namespace}/${pod}`)}`,
      hasAddress: hasAddress && gone === undefined,
      ...container,
      contradiction: gone,
    };
  }
  const title = `workloadendpoint ${quote(`${namespace}/${name}`)}`;
  if (stored === undefined) return { title, hasAddress, contradiction: `there is no ${title}` };
  if (datastore.traits.recordsArePods && isCopied(stored.value, owner))
    return { title, hasAddress: false, contradiction: `${title} is another pod's by now` };
  return { title, hasAddress, ...container, contradiction: hasAddress ? undefined : `${title} does not have it` };
}

/** Since when Kubernetes has not heard of a node, by its name there; undefined: it does, or nobody watches that. */
export async function silenceOfNode(datastore: Datastore, name: string): Promise<string | undefined> {
  if (!datastore.traits.recordsArePods) return undefined;
  const [stored] = await datastore.read([{ type: "get", ref: { kind: "Node", name } }]);
  return stored === undefined ? undefined : silentSince(stored.value);
}

/** Whoever asks for a static pod whose mirror is gone hears that: it is true. */
const NO_NODES: ReadonlySet<string> = new Set();

/** One after the other, for messages. */
export function describeEndpoints(endpoints: readonly WorkloadEndpoint[]): string {
  return endpoints.map(describeEndpoint).join(" and ");
}

/** A pod goes first: it is what people recreate. Names are those within a namespace. */
function describeEndpoint({ metadata: { namespace = "", name }, spec: { pod } }: WorkloadEndpoint): string {
  const endpoint = `endpoint ${quote(`${namespace}/${name}`)}`;
  return pod === undefined ? endpoint : `pod ${quote(`${namespace}/${pod}`)} (${endpoint})`;
}
