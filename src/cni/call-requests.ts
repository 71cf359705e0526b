/** What a call asks for, as requests to `endpoint/` and `ipam/`. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { runtimeUidOf, toAlias, toEndpointName, toHostName } from "../endpoint/names.ts";
import type { AddRequest, AddSubject } from "../endpoint/plan-add.ts";
import type { AttachmentRequest } from "../endpoint/plan-attachment.ts";
import type { DelRequest } from "../endpoint/plan-del.ts";
import type { LinkNames } from "../endpoint/pod-link.ts";
import { mayBeOf, type RecordQuery, recordQueryOf, toNamespace } from "../endpoint/record.ts";
import { isSameAttachment } from "../ipam/block.ts";
import { answerOf, type Facts } from "../ipam/facts.ts";
import type { AllocationSubject } from "../ipam/plan-allocation.ts";
import type { AddressRequest } from "../ipam/request.ts";
import { NetplugError } from "../lib/errors.ts";
import { type Address, equalAddresses } from "../lib/ip/address.ts";
import type { MacAddress } from "../lib/mac-address.ts";
import type { Netns } from "../linux/netns.ts";
import { attachmentIdOf, type Call, hasOwnIpam, isMain, type LocalCall, workloadOf } from "./call.ts";
import { resolveMtu } from "./config/node-facts.ts";
import { openPodNetns } from "./link/pod-netns.ts";
import type { PodFacts } from "./pod/facts.ts";

/** Names under which the kernel knows the attachment. */
export function linkNamesOf(call: LocalCall): LinkNames {
  const workload = workloadOf(call);
  return { hostName: toHostName(workload), podName: workload.ifName, alias: toAlias(call.config.name, workload) };
}

/** Asks for what the datastore has under the attachment's name. */
export function recordQueryOfCall(call: Call): RecordQuery {
  const { node, config } = call;
  return recordQueryOf({ node, workload: workloadOf(call), labels: config.args.labels });
}

/** The record that has the attachment's name; it may be an earlier container's. */
export function recordOf(call: Call, facts: Facts): WorkloadEndpoint | undefined {
  return answerOf(facts, recordQueryOfCall(call))?.value;
}

/** Opens the pod's namespace for an ADD or CHECK, which both require its path. @throws {NetplugError} badNetns */
export function openNetnsOfCall({ host, environment }: LocalCall): Netns {
  // By this variable the CNI project's own library lets the host's namespace pass, too.
  const allowsOwn = ["1", "true"].includes(host.env["CNI_NETNS_OVERRIDE"] ?? "");
  return openPodNetns(host.kernel, environment.netns ?? "", allowsOwn);
}

/** What the runtime asks for; a pod's annotation ranks before it. */
export function requestedMac({ config, args }: LocalCall): MacAddress | undefined {
  return config.runtimeConfig.mac ?? args.mac;
}

/** The attachment as environment and network config say. @throws NetplugError from files that say what the node's MTU is */
export function toAttachmentRequest(call: Call): AttachmentRequest {
  const { config, node } = call;
  return {
    node,
    network: config.name,
    workload: workloadOf(call),
    labels: config.args.labels,
    mac: requestedMac(call),
    mtu: resolveMtu(config, call.host.files),
    queues: config.numQueues,
    routes: config.ipam.routes,
    includeDefaultRoutes: config.includeDefaultRoutes,
    allowIpForwarding: config.allowIpForwarding,
  };
}

/**
 * The addresses that the attachment wants from our own address management. What the pod's annotations ask for ranks first.
 *
 * @throws NetplugError invalidConfig when it wants none
 */
export function toAddressRequest(call: Call, pod?: PodFacts): AddressRequest {
  const annotated = pod?.request;
  const { families, pools } = annotated ?? call.config.ipam;
  const { addresses, askedBy } =
    annotated === undefined || annotated.addresses.length === 0
      ? requestedAddresses(call)
      : { ...annotated, askedBy: annotated.namedBy.addresses };
  if (families.length === 0 && addresses.length === 0) {
    throw new NetplugError(
      "invalidConfig",
      'read "ipam.assign_ipv4" and "ipam.assign_ipv6": got "false" for both, want "true" for one, or an address that is asked for',
    );
  }
  return {
    owner: ownerOf(call, pod),
    use: "Workload",
    families,
    pools,
    namedBy: { ...annotated?.namedBy, addresses: askedBy },
    addresses,
    namespaceLabels: pod?.namespaceLabels ?? {},
    podLabels: pod?.podLabels ?? {},
  };
}

/** The request that an ADD is planned from. A delegate's addresses are added later. */
export function toAddRequest(call: Call, plain: AttachmentRequest, pod?: PodFacts): AddRequest {
  const attachment = pod === undefined ? plain : { ...plain, mac: pod.request.mac ?? plain.mac, completeRecord: pod.completeRecord };
  if (!hasOwnIpam(call)) return { attachment, delegated: [] };
  const addresses = pod?.request.addressesWithoutIpam ?? [];
  if (addresses.length > 0) return { attachment, unmanaged: { owner: ownerOf(call, pod), addresses, namedBy: pod?.request.namedBy } };
  return { attachment, ipam: toAddressRequest(call, pod) };
}

/** The part of an {@link AddRequest} that is known before the pod is read. */
export function toAddSubject(call: Call, attachment: AttachmentRequest): AddSubject {
  // That there is a pod, whatever it is, says that the network's profile is not wanted.
  return {
    attachment: { ...attachment, completeRecord: (record) => record },
    ipam: hasOwnIpam(call) ? toAllocationSubject(call) : undefined,
  };
}

/** The part of an {@link AddressRequest} that is known before the pod is read. */
export function toAllocationSubject(call: Call): AllocationSubject {
  return { owner: { node: call.node }, addresses: findExplicit(call).addresses };
}

/** Everything of the call's own attachment, to be removed. */
export function toDelRequest(call: Call): DelRequest {
  const id = attachmentIdOf(call);
  const uid = call.datastore.traits.recordsArePods ? call.args.pod?.uid : undefined;
  return {
    node: call.node,
    isTargetOwner: (owner) => isSameAttachment(owner, id),
    isTargetRecord: (record) =>
      record.spec.containerID === id.containerID &&
      record.spec.endpoint === id.ifName &&
      mayBeOf(record, id.network) &&
      // A copy of the pod has its annotations, too.
      (uid === undefined || uid === runtimeUidOf(record.metadata)),
    records: isMain(call.plugin) ? [recordQueryOfCall(call)] : [],
  };
}

function ownerOf(call: Call, facts: PodFacts | undefined): AllocationOwner {
  const { config, args, node } = call;
  const identity = { ...attachmentIdOf(call), node };
  const podUID = facts?.uid ?? args.pod?.uid;
  const pod = args.pod === undefined ? {} : { pod: args.pod.name, ...(podUID !== undefined && { podUID }) };
  if (!isMain(call.plugin)) return { ...identity, ...pod, ...(args.pod !== undefined && { namespace: args.pod.namespace }) };
  const workload = workloadOf(call);
  return { ...identity, ...pod, namespace: toNamespace(workload, config.args.labels), endpoint: toEndpointName(node, workload) };
}

/** Addresses that are asked for, and by what: a key, or a variable; undefined: none are. */
interface AddressesBy {
  readonly askedBy: string | undefined;
  readonly addresses: readonly Address[];
}

/** The explicit request that ranks highest: capability, then convention, then `CNI_ARGS`. A pod's annotation may still outrank it. */
function findExplicit({ config, args }: Call): AddressesBy {
  const requests = [
    { askedBy: '"runtimeConfig.ips"', addresses: config.runtimeConfig.ips },
    { askedBy: '"args.cni.ips"', addresses: config.args.ips },
    { askedBy: "IP of CNI_ARGS", addresses: args.ip === undefined ? [] : [args.ip] },
  ];
  return requests.find(({ addresses }) => addresses.length > 0) ?? { askedBy: undefined, addresses: [] };
}

/**
 * The addresses that are asked for, where no annotation does: the complete list.
 *
 * @throws NetplugError invalidConfig for more than one address of a family: `CNI_ARGS` has room for one address only
 */
function requestedAddresses(call: Call): AddressesBy {
  const first = findExplicit(call);
  // `podman network reload` asks twice for an address that is fixed: as what the container has, and as what its user said
  const addresses = first.addresses.filter((one, place, all) => all.findIndex((other) => equalAddresses(one, other)) === place);
  for (const family of [4, 6] as const) {
    const count = addresses.filter((address) => address.family === family).length;
    if (count > 1) throw new NetplugError("invalidConfig", `read ${first.askedBy}: got ${count} IPv${family} addresses, want at most one`);
  }
  return { ...first, addresses };
}
