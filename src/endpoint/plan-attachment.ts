/** What one attachment becomes once its addresses are known: its record, its link, and the writes that record it. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Stored, Write } from "../datastore/datastore.ts";
import type { Address } from "../lib/ip/address.ts";
import { parsePrefix, type Prefix } from "../lib/ip/prefix.ts";
import { deriveMac, type MacAddress } from "../lib/mac-address.ts";
import { toAlias, toHostName, type Workload } from "./names.ts";
import type { PodLink } from "./pod-link.ts";
import { toNetworkProfile, toWorkloadEndpoint } from "./record.ts";

/** What the runtime asks for, apart from its addresses. */
export interface AttachmentRequest {
  readonly node: string;
  /** `name` of the network config. */
  readonly network: string;
  readonly workload: Workload;
  /** `args.cni.labels`. */
  readonly labels: Readonly<Record<string, string>>;
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
}

/** What the datastore holds of it already. */
export interface AttachmentFacts {
  /** The record under this endpoint's name, whoever's it is. */
  readonly endpoint: Stored<WorkloadEndpoint> | undefined;
  readonly hasProfile: boolean;
  /** Seconds since 1970. */
  readonly now: number;
}

export interface AttachmentPlan {
  readonly endpoint: WorkloadEndpoint;
  readonly link: PodLink;
  readonly writes: readonly Write[];
}

const DEFAULT_ROUTES = [parsePrefix("0.0.0.0/0"), parsePrefix("::/0")] as const;

/** Pure: the same request, addresses and facts give the same plan on every host. */
export function planAttachment(request: AttachmentRequest, addresses: readonly Address[], facts: AttachmentFacts): AttachmentPlan {
  const { node, network, workload, labels } = request;
  const podMac = request.mac ?? deriveMac(`${workload.containerID}\n${workload.ifName}`);
  const endpoint = toWorkloadEndpoint({ node, network, workload, labels, podMac, addresses });
  const writes: Write[] = [];
  if (!facts.hasProfile) writes.push({ op: "create", resource: toNetworkProfile(network, workload) });
  writes.push(...writesOf(endpoint, facts));
  return { endpoint, link: toPodLink(request, podMac, addresses), writes };
}

/** None when the record says the same already: an ADD that is repeated changes nothing. */
function writesOf(endpoint: WorkloadEndpoint, { endpoint: stored, now }: AttachmentFacts): readonly Write[] {
  if (stored === undefined) {
    const creationTimestamp = new Date(now * 1000).toISOString();
    return [{ op: "create", resource: { ...endpoint, metadata: { ...endpoint.metadata, creationTimestamp } } }];
  }
  const { metadata, spec } = stored.value;
  if (Bun.deepEquals(spec, endpoint.spec) && Bun.deepEquals(metadata.labels, endpoint.metadata.labels)) return [];
  const { resourceVersion: _, ...kept } = metadata;
  return [{ op: "update", resource: { ...endpoint, metadata: { ...kept, ...endpoint.metadata } }, revision: stored.revision }];
}

function toPodLink(request: AttachmentRequest, podMac: MacAddress, addresses: readonly Address[]): PodLink {
  const { network, workload, mtu, queues, allowIpForwarding } = request;
  const hasFamily = (route: Prefix): boolean => addresses.some((address) => address.family === route.family);
  const wanted =
    request.routes === undefined ? DEFAULT_ROUTES : [...request.routes, ...(request.includeDefaultRoutes ? DEFAULT_ROUTES : [])];
  return {
    hostName: toHostName(workload),
    podName: workload.ifName,
    alias: toAlias(network, workload),
    mtu,
    queues,
    podMac,
    addresses,
    routes: wanted.filter(hasFamily),
    allowIpForwarding,
  };
}
