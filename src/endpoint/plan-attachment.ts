/** What one attachment becomes once its addresses are known: its record, its link, and the writes that record it. */

import { ENDPOINT_IPAM, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Stored, Write } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import { parsePrefix, type Prefix } from "../lib/ip/prefix.ts";
import { deriveMac, type MacAddress } from "../lib/mac-address.ts";
import { quote } from "../lib/quote.ts";
import { toTimeText } from "../lib/time-text.ts";
import { toAlias, toHostName, type Workload } from "./names.ts";
import { gatewayRoutesOf, type PodLink } from "./pod-link.ts";
import { type EndpointSubject, toNetworkProfile, toWorkloadEndpoint } from "./record.ts";

/**
 * Puts what a pod has and wants into its record. A call that does not ask the Kubernetes API need not load the code behind it.
 *
 * @throws {NetplugError} malformedRequest where the addresses cannot have what the pod asks for
 */
export type CompleteRecord = (plain: WorkloadEndpoint) => WorkloadEndpoint;

/** What the runtime asks for, apart from its addresses. */
export interface AttachmentRequest extends EndpointSubject {
  /** undefined: derived from container ID and interface name. */
  readonly mac: MacAddress | undefined;
  /** Bytes. */
  readonly mtu: number;
  readonly queues: number;
  /** undefined: the default routes of the families the pod has. */
  readonly routes: readonly Prefix[] | undefined;
  /** Default routes besides `routes`. */
  readonly includeDefaultRoutes: boolean;
  readonly allowIpForwarding: boolean;
  /** Set where the Kubernetes API is asked: policy then follows the pod, and the network has no profile. */
  readonly completeRecord?: CompleteRecord | undefined;
}

/** What the datastore holds of it already. */
export interface AttachmentFacts {
  /** The record under this endpoint's name, which may be another container's. */
  readonly record: Stored<WorkloadEndpoint> | undefined;
  readonly hasProfile: boolean;
  /** Seconds since 1970. */
  readonly now: number;
}

/** What one attachment becomes: in the datastore, and in the kernel. */
export interface AttachmentPlan {
  readonly endpoint: WorkloadEndpoint;
  readonly link: PodLink;
  readonly writes: readonly Write[];
}

const DEFAULT_ROUTES = [parsePrefix("0.0.0.0/0"), parsePrefix("::/0")] as const;

/** The kernel takes IPv6 off an interface whose MTU is smaller, @see RFC 8200, section 5. */
const MIN_MTU_IPV6 = 1280;

/**
 * Pure: the same request, addresses and facts give the same plan on every host.
 *
 * @throws {NetplugError} invalidConfig for an MTU that does not carry the addresses, badEnvironment for a name that is another container's, and
 *   what `completeRecord` throws
 */
export function planAttachment(request: AttachmentRequest, addresses: readonly Address[], facts: AttachmentFacts): AttachmentPlan {
  const { network, workload, mtu, completeRecord } = request;
  if (mtu < MIN_MTU_IPV6 && addresses.some(({ family }) => family === 6)) {
    const wanted = `want ${MIN_MTU_IPV6} or more for IPv6; correct "mtu", or without it the file "mtu" of "lib_dir"`;
    throw new NetplugError("invalidConfig", `set MTU of ${quote(workload.ifName)}: got ${mtu}, ${wanted}`);
  }
  requireOwnName(workload, facts.record?.value);
  const podMac = request.mac ?? toOwnMac(workload);
  const plain = toWorkloadEndpoint(request, podMac, addresses);
  const endpoint = completeRecord?.(plain) ?? plain;
  const writes: Write[] = [];
  if (completeRecord === undefined && !facts.hasProfile) writes.push({ op: "create", resource: toNetworkProfile(network, workload) });
  writes.push(...writesOf(endpoint, facts));
  return { endpoint, link: toPodLink(request, podMac, addresses), writes };
}

/**
 * A pod's next container takes its record over. Without a pod the container ID is in the name, and `c1-` with the interface `x` is called as
 * `c1` with `-x`.
 */
function requireOwnName({ pod, containerID }: Workload, record: WorkloadEndpoint | undefined): void {
  const owner = record?.spec.containerID ?? containerID;
  if (record === undefined || pod !== undefined || owner === containerID) return;
  const { metadata, spec } = record;
  throw new NetplugError(
    "badEnvironment",
    `record endpoint ${quote(metadata.name)}: it is interface ${quote(spec.endpoint)} of container ${quote(owner)}; choose another interface name`,
  );
}

/** The MAC address of an attachment for which none is asked. */
export function toOwnMac({ containerID, ifName }: Workload): MacAddress {
  return deriveMac(`${containerID}\n${ifName}`);
}

/** No write when the record is the same already: a repeated ADD changes nothing. */
function writesOf(endpoint: WorkloadEndpoint, { record: stored, now }: AttachmentFacts): readonly Write[] {
  if (stored === undefined) {
    const creationTimestamp = toTimeText(now);
    return [{ op: "create", resource: { ...endpoint, metadata: { ...endpoint.metadata, creationTimestamp } } }];
  }
  const { metadata, spec } = stored.value;
  if (Bun.deepEquals(spec, endpoint.spec) && Bun.deepEquals(metadata.labels, endpoint.metadata.labels)) return [];
  const { resourceVersion: _, annotations: { [ENDPOINT_IPAM]: _ipam, ...others } = {}, ...kept } = metadata;
  const annotations = { ...others, ...endpoint.metadata.annotations };
  const hasAny = Object.keys(annotations).length > 0;
  const resource = { ...endpoint, metadata: { ...kept, ...endpoint.metadata, ...(hasAny && { annotations }) } };
  return [{ op: "update", resource, revision: stored.revision }];
}

function toPodLink(request: AttachmentRequest, podMac: MacAddress, addresses: readonly Address[]): PodLink {
  const { network, workload, mtu, queues, allowIpForwarding } = request;
  return {
    hostName: toHostName(workload),
    podName: workload.ifName,
    alias: toAlias(network, workload),
    mtu,
    queues,
    podMac,
    addresses,
    routes: routesOf(request, addresses),
    allowIpForwarding,
  };
}

/** All routes that are asked for, of both families. */
export function askedRoutes({ routes, includeDefaultRoutes }: AttachmentRequest): readonly Prefix[] {
  return routes === undefined ? DEFAULT_ROUTES : includeDefaultRoutes ? [...routes, ...DEFAULT_ROUTES] : routes;
}

/** The routes of families that the pod has an address of. */
function routesOf(request: AttachmentRequest, addresses: readonly Address[]): readonly Prefix[] {
  return gatewayRoutesOf(askedRoutes(request).filter((route) => addresses.some(({ family }) => family === route.family)));
}
