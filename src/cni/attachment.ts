/** What a call asks for, in the words of `endpoint/` and `ipam/`. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import { ENDPOINT_LABELS } from "../api/workload-endpoint.ts";
import { toAlias, toEndpointName, toHostName } from "../endpoint/names.ts";
import type { AddRequest } from "../endpoint/plan-add.ts";
import type { AttachmentRequest } from "../endpoint/plan-attachment.ts";
import { toNamespace } from "../endpoint/record.ts";
import type { AddressRequest } from "../ipam/request.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import { quote } from "../lib/quote.ts";
import { type Call, hasOwnIpam, workloadOf } from "./call.ts";
import type { LinkNames } from "./link/find.ts";
import { resolveMtu } from "./node-facts.ts";
import { findNamespaceFault } from "./protocol/cni-args.ts";

/** Names under which the kernel knows the attachment. */
export function linkNamesOf(call: Call): LinkNames {
  const workload = workloadOf(call);
  return { hostName: toHostName(workload), podName: workload.ifName, alias: toAlias(call.config.name, workload) };
}

/** Labels of a workload without Kubernetes. @throws NetplugError malformedRequest for a namespace that cannot be one */
export function labelsOf({ config }: Call): Readonly<Record<string, string>> {
  const namespace = config.args.labels[ENDPOINT_LABELS.namespace];
  const wanted = namespace === undefined ? undefined : findNamespaceFault(namespace);
  if (wanted === undefined) return config.args.labels;
  throw new NetplugError(
    "malformedRequest",
    `read label "${ENDPOINT_LABELS.namespace}" of "args.cni.labels": got ${quote(namespace ?? "")}, want ${wanted}`,
  );
}

/** @throws NetplugError from files that say what the node's MTU is */
export function toAttachmentRequest(call: Call): AttachmentRequest {
  const { config, node } = call;
  return {
    node,
    network: config.name,
    workload: workloadOf(call),
    labels: labelsOf(call),
    mac: config.runtimeConfig.mac,
    mtu: resolveMtu(config, call.host.files),
    queues: config.numQueues,
    routes: config.ipam.routes,
    includeDefaultRoutes: config.includeDefaultRoutes,
    allowIpForwarding: config.allowIpForwarding,
  };
}

/** The addresses that the attachment wants from our own address management. */
export function toAddressRequest(call: Call): AddressRequest {
  const { config } = call;
  return {
    owner: ownerOf(call),
    use: "Workload",
    families: config.ipam.families,
    pools: config.ipam.pools,
    addresses: requestedAddresses(call),
    namespaceLabels: {},
  };
}

/** The ADD as it is planned, with a delegate's addresses when there is one. */
export function toAddRequest(call: Call, delegated?: readonly Address[]): AddRequest {
  const attachment = toAttachmentRequest(call);
  return delegated === undefined ? { attachment, ipam: toAddressRequest(call) } : { attachment, delegated };
}

function ownerOf(call: Call): AllocationOwner {
  const { config, environment, args, node } = call;
  const identity = { network: config.name, containerID: environment.containerID, ifName: environment.ifName, node };
  const pod = args.pod === undefined ? {} : { pod: args.pod.name, ...(args.pod.uid !== undefined && { podUID: args.pod.uid }) };
  if (call.plugin === "netplug-ipam") return { ...identity, ...pod, ...(args.pod !== undefined && { namespace: args.pod.namespace }) };
  const workload = workloadOf(call);
  return { ...identity, ...pod, namespace: toNamespace(workload, labelsOf(call)), endpoint: toEndpointName(node, workload) };
}

/**
 * The explicit request that ranks highest: capability, then convention, then `CNI_ARGS`. It is the complete list.
 *
 * @throws NetplugError malformedRequest for more than one address of a family
 */
export function requestedAddresses({ config, args }: Call): readonly Address[] {
  const requests = [
    { source: '"runtimeConfig.ips"', addresses: config.runtimeConfig.ips },
    { source: '"args.cni.ips"', addresses: config.args.ips },
    { source: "IP of CNI_ARGS", addresses: args.ip === undefined ? [] : [args.ip] },
  ];
  const first = requests.find(({ addresses }) => addresses.length > 0);
  if (first === undefined) return [];
  for (const family of [4, 6] as const) {
    const count = first.addresses.filter((address) => address.family === family).length;
    if (count > 1)
      throw new NetplugError("malformedRequest", `read ${first.source}: got ${count} IPv${family} addresses, want at most one`);
  }
  return first.addresses;
}

/** Pools listed in the config need our own address management. @throws NetplugError featureDisabled */
export function refuseForeignRequests(call: Call): void {
  const { config } = call;
  if (hasOwnIpam(call)) return;
  const key = config.ipam.pools[4] !== undefined ? "ipv4_pools" : config.ipam.pools[6] !== undefined ? "ipv6_pools" : undefined;
  if (key === undefined) return;
  throw new NetplugError(
    "featureDisabled",
    `use "ipam.${key}": "ipam.type" is ${quote(config.ipam.type ?? "")}, want "netplug-ipam"; remove the key or change the type`,
  );
}
