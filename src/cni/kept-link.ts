/**
 * An ADD that is repeated while its interface stands. A running pod keeps its interface where it lacks nothing, whatever is asked for by now: what is
 * told and recorded follows what there is. Routes that are asked for besides those that it has cannot be told from lost ones: they are missing.
 */

import { ENDPOINT_IPAM, recordedAddresses, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { type AddPlan, type AddRequest, NO_WISHES } from "../endpoint/plan-add.ts";
import { askedRoutes, type AttachmentRequest, type PodPart, toOwnMac } from "../endpoint/plan-attachment.ts";
import { HOST_MAC, type PodLink } from "../endpoint/pod-link.ts";
import { holdsAll } from "../ipam/allocate.ts";
import { IP_POOLS } from "../ipam/cluster.ts";
import { addressOf, heldBy, NO_DRAFT } from "../ipam/draft.ts";
import { collectWanted, type Facts, know } from "../ipam/facts.ts";
import { toPoolTable } from "../ipam/pools.ts";
import type { Address } from "../lib/ip/address.ts";
import { containsPrefix, equalPrefixes, type Prefix, toHostPrefix } from "../lib/ip/prefix.ts";
import type { Link } from "../linux/netlink/link.ts";
import { setPermanentNeighbour } from "../linux/netlink/neighbour.ts";
import { execute } from "../linux/netlink/socket.ts";
import { recordOf } from "./attachment.ts";
import type { Call } from "./call.ts";
import { inspectLink, routesThere } from "./link/inspect.ts";
import { familiesOf, nextHopOf } from "./link/program.ts";
import type { LinkSockets } from "./link/sockets.ts";

export interface Keeper {
  /**
   * Plans an ADD with what its interface has.
   *
   * @param plan of one ADD
   * @returns undefined when the interface lacks something: it is made anew, as is asked for now
   */
  plan(asked: AddRequest, facts: Facts, plan: (request: AddRequest) => AddPlan): AddPlan | undefined;
  /** Gives the interface back what it lost with a MAC address that somebody has changed. @throws {KernelError} */
  restoreNeighbours(link: PodLink): void;
}

/** @param podSide its end in the pod */
export function keeperOf(call: Call, sockets: LinkSockets, podSide: Link): Keeper {
  const { ledger } = call;
  const { mac, mtu } = podSide;
  const planKept: Keeper["plan"] = (asked, facts, plan) => {
    const decision = collectWanted(() => keepAddresses(call, asked, facts));
    if ("wanted" in decision) return decision;
    const { attachment, ...addresses } = decision.decided;
    const routes = ledger.time("kernel", () => keptRoutes(sockets, podSide, askedRoutes(attachment)));
    const pod = keepRights(attachment, recordOf(call, facts));
    const kept = plan({ ...addresses, attachment: { ...attachment, mac, mtu, routes, includeDefaultRoutes: false, pod } });
    if ("wanted" in kept) return kept;
    const [outcome] = kept.outcomes;
    if (outcome === undefined || "error" in outcome) return undefined;
    const podMac = attachment.mac ?? toOwnMac(attachment.workload);
    const faults = ledger.time("kernel", () => inspectLink(sockets, { ...outcome.link, podMac }));
    return faults.length === 0 ? kept : undefined;
  };
  return {
    plan: planKept,
    restoreNeighbours(link) {
      const requests = familiesOf(link).map((family) => setPermanentNeighbour(podSide.index, nextHopOf(family), HOST_MAC));
      ledger.time("kernel", () => void execute(sockets.pod, requests));
    },
  };
}

/**
 * What is held is kept by `planAdds()` where it is recorded; here, where the record is lost. And recorded addresses that are past management,
 * which nobody can have taken away.
 */
function keepAddresses(call: Call, asked: AddRequest, facts: Facts): AddRequest {
  const owner = "ipam" in asked ? asked.ipam.owner : asked.owner;
  if (owner === undefined) return asked;
  const record = recordOf(call, facts);
  const { attachment } = asked;
  const isOwn = record?.spec.containerID === attachment.workload.containerID;
  const addresses = isOwn ? recordedAddresses(record) : [];
  if (addresses.length === 0) {
    const held = heldBy(facts, NO_DRAFT, owner, owner.node).map(addressOf);
    return held.length === 0 ? asked : { attachment, ipam: { ...NO_WISHES, owner, addresses: held } };
  }
  if (record === undefined || holdsAll(owner, addresses, facts)) return asked;
  const isPast =
    record.metadata.annotations?.[ENDPOINT_IPAM] !== undefined ||
    (call.datastore.traits.recordsArePods && !addresses.some((address) => isManaged(address, facts)));
  return isPast ? { attachment, delegated: addresses } : asked;
}

/**
 * A pod on Kubernetes has no room for where its addresses come from. In a pool, or in a block that is left of one, they may be ours, which
 * somebody has released.
 */
function isManaged(address: Address, facts: Facts): boolean {
  const isInPool = toPoolTable(know(facts, IP_POOLS)).pools.some(({ cidr }) => containsPrefix(cidr, toHostPrefix(address)));
  return isInPool || know(facts, { type: "block-of-address", address }) !== undefined;
}

/** Labels and ports of a running pod may change; what it may do besides its own addresses does not. */
function keepRights({ pod, workload }: AttachmentRequest, record: WorkloadEndpoint | undefined): PodPart | undefined {
  if (pod === undefined || record?.spec.containerID !== workload.containerID) return pod;
  const { ipNATs, allowSpoofedSourcePrefixes } = record.spec;
  return {
    completeRecord(plain) {
      const asked = pod.completeRecord(plain);
      const { ipNATs: _nats, allowSpoofedSourcePrefixes: _prefixes, ...spec } = asked.spec;
      const kept = { ...(ipNATs && { ipNATs }), ...(allowSpoofedSourcePrefixes && { allowSpoofedSourcePrefixes }) };
      return { ...asked, spec: { ...spec, ...kept } };
    },
  };
}

/**
 * Those that it has, in the order in which they are asked for. Where it has none but such as are asked for, or none of a family, the others are
 * missing, not changed: an ADD gives an interface all of them at once.
 */
function keptRoutes({ pod: socket }: LinkSockets, pod: Link, asked: readonly Prefix[]): readonly Prefix[] {
  const there = routesThere(socket, pod);
  const isAmong = (routes: readonly Prefix[], route: Prefix): boolean => routes.some((one) => equalPrefixes(one, route));
  if (there.every((route) => isAmong(asked, route))) return asked;
  const families = new Set(there.map(({ family }) => family));
  return [
    ...asked.filter((route) => isAmong(there, route) || !families.has(route.family)),
    ...there.filter((route) => !isAmong(asked, route)),
  ];
}
