/** Which endpoints have an address, whoever it is allocated to. */

import { endingAddresses, reportedAddresses } from "../../api/reported-addresses.ts";
import { DEFAULT_NAMESPACE } from "../../api/resource.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { type Address, equalAddresses } from "../../lib/ip/address.ts";
import { quote } from "../../lib/quote.ts";

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

/** The endpoint that an address is allocated for. */
interface OwnEndpoint {
  readonly name: string;
  readonly exists: boolean;
  readonly hasAddress: boolean;
}

/** The endpoint that an address is allocated for, and whether it has the address; undefined for another main plugin's, which has none. */
export async function findOwnEndpoint(datastore: Datastore, address: Address, owner: AllocationOwner): Promise<OwnEndpoint | undefined> {
  if (owner.endpoint === undefined) return undefined;
  const ref = { kind: "WorkloadEndpoint", namespace: owner.namespace ?? DEFAULT_NAMESPACE, name: owner.endpoint } as const;
  const [stored] = await datastore.read([{ type: "get", ref }]);
  const sources = [recordedAddresses, reportedAddresses, endingAddresses];
  const having = stored === undefined ? [] : sources.flatMap((addressesOf) => addressesOf(stored.value));
  const hasAddress = having.some((one) => equalAddresses(one, address));
  return { name: `${ref.namespace}/${ref.name}`, exists: stored !== undefined, hasAddress };
}

/** One after the other, for messages. */
export function describeEndpoints(endpoints: readonly WorkloadEndpoint[]): string {
  return endpoints.map(describeEndpoint).join(" and ");
}

/** A pod goes first: it is what people recreate. Names are those within a namespace. */
function describeEndpoint({ metadata: { namespace = "", name }, spec: { pod } }: WorkloadEndpoint): string {
  const endpoint = `endpoint ${quote(`${namespace}/${name}`)}`;
  return pod === undefined ? endpoint : `pod ${quote(`${namespace}/${pod}`)} (${endpoint})`;
}
