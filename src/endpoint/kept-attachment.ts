/**
 * What a repeated ADD asks for if its interface already exists. A running pod keeps a complete interface, even if the config has changed since:
 * result and record then describe the interface as it is. A route that is asked for, but absent, counts as a fault: it cannot be told from a
 * lost one.
 */

import { ENDPOINT_IPAM, recordedAddresses, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { DatastoreTraits } from "../datastore/traits.ts";
import { hasAllAddresses } from "../ipam/plan-allocation.ts";
import { IP_POOLS } from "../ipam/cluster.ts";
import { addressOf, NO_DRAFT, ownAllocations } from "../ipam/draft.ts";
import { type Facts, know } from "../ipam/facts.ts";
import { toPoolTable } from "../ipam/pools.ts";
import type { Address } from "../lib/ip/address.ts";
import { containsPrefix, equalPrefixes, type Prefix, toHostPrefix } from "../lib/ip/prefix.ts";
import type { MacAddress } from "../lib/mac-address.ts";
import { addressRequestOf, type AddRequest, ADDRESSES_ONLY, ownRecordOf } from "./plan-add.ts";
import { askedRoutes, type AttachmentRequest, type CompleteRecord } from "./plan-attachment.ts";

/** An interface in a pod, as the kernel shows it. */
export interface ExistingInterface {
  readonly mac: MacAddress | undefined;
  /** Bytes. */
  readonly mtu: number;
  /** Destinations of the routes through our next hop. */
  readonly routes: readonly Prefix[];
}

/**
 * The request for the addresses that the attachment has. `planAdds()` itself keeps allocated addresses that are in the record. This function
 * adds two cases: allocated addresses whose record is lost, and recorded addresses without any allocation, from outside address management.
 *
 * @throws {FactsWanted} what must be read first
 */
export function keepAddresses(asked: AddRequest, facts: Facts, traits: Pick<DatastoreTraits, "recordsArePods">): AddRequest {
  const owner = addressRequestOf(asked)?.owner;
  if (owner === undefined) return asked;
  const { attachment } = asked;
  const record = ownRecordOf(attachment, facts);
  const addresses = record === undefined ? [] : recordedAddresses(record);
  if (record === undefined || addresses.length === 0) {
    const own = ownAllocations(facts, NO_DRAFT, owner, owner.node).map(addressOf);
    return own.length === 0 ? asked : { attachment, ipam: { ...ADDRESSES_ONLY, owner, addresses: own } };
  }
  if (hasAllAddresses(owner, addresses, facts)) return asked;
  const isUnmanaged =
    record.metadata.annotations?.[ENDPOINT_IPAM] !== undefined ||
    (traits.recordsArePods && !addresses.some((address) => isManaged(address, facts)));
  return isUnmanaged ? { attachment, unmanaged: { owner, addresses } } : asked;
}

/**
 * Whether netplug-ipam may have given the address. A pod of Kubernetes does not say who gave its addresses: those in a pool, or in a block that
 * outlived its pool, count as ours.
 */
function isManaged(address: Address, facts: Facts): boolean {
  const isInPool = toPoolTable(know(facts, IP_POOLS)).pools.some(({ cidr }) => containsPrefix(cidr, toHostPrefix(address)));
  return isInPool || know(facts, { type: "block-of-address", address }) !== undefined;
}

/** The request for what the interface has besides its addresses. @param facts with all answers that {@link keepAddresses} needed */
export function keepInterface(attachment: AttachmentRequest, facts: Facts, { mac, mtu, routes }: ExistingInterface): AttachmentRequest {
  const completeRecord = keepRights(attachment, ownRecordOf(attachment, facts));
  return { ...attachment, mac, mtu, routes: keepRoutes(askedRoutes(attachment), routes), includeDefaultRoutes: false, completeRecord };
}

/** Labels and ports of a running pod may change, but not its floating addresses and allowed source prefixes: those stay as recorded. */
function keepRights({ completeRecord }: AttachmentRequest, record: WorkloadEndpoint | undefined): CompleteRecord | undefined {
  if (completeRecord === undefined || record === undefined) return completeRecord;
  const { ipNATs, allowSpoofedSourcePrefixes } = record.spec;
  return (plain) => {
    const asked = completeRecord(plain);
    const { ipNATs: _nats, allowSpoofedSourcePrefixes: _prefixes, ...spec } = asked.spec;
    const kept = { ...(ipNATs && { ipNATs }), ...(allowSpoofedSourcePrefixes && { allowSpoofedSourcePrefixes }) };
    return { ...asked, spec: { ...spec, ...kept } };
  };
}

/**
 * The interface's routes, in the order in which they are asked for. If all of them are asked for, the request has not changed, and the absent
 * ones were lost: they stay in the request. So do the routes of a family of which the interface has none.
 */
function keepRoutes(asked: readonly Prefix[], existing: readonly Prefix[]): readonly Prefix[] {
  const isAmong = (routes: readonly Prefix[], route: Prefix): boolean => routes.some((one) => equalPrefixes(one, route));
  if (existing.every((route) => isAmong(asked, route))) return asked;
  const families = new Set(existing.map(({ family }) => family));
  return [
    ...asked.filter((route) => isAmong(existing, route) || !families.has(route.family)),
    ...existing.filter((route) => !isAmong(asked, route)),
  ];
}
