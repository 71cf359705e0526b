/** CHECK: is what the ADD set up still there, in the kernel, in the datastore and with the delegate? Changes nothing. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { endpointRef } from "../endpoint/plan-add.ts";
import { NEXT_HOP_V4, NEXT_HOP_V6 } from "../endpoint/pod-link.ts";
import { heldBy } from "../ipam/draft.ts";
import { collectWanted, type Facts, know } from "../ipam/facts.ts";
import { releaseQueries } from "../ipam/release.ts";
import { readFacts } from "../ipam/transact.ts";
import { NetplugError } from "../lib/errors.ts";
import { type Address, equalAddresses, toAddressText } from "../lib/ip/address.ts";
import { addressAt, type Prefix, toHostPrefix, toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { tryParseMac } from "../lib/mac-address.ts";
import { linkNamesOf } from "./attachment.ts";
import { type Call, delegateOf, hasOwnIpam, transactPortsOf, workloadOf } from "./call.ts";
import { delegateCheck } from "./delegate/mod.ts";
import { inspectLink, type WantedLink } from "./link/inspect.ts";
import { openPodNetns } from "./link/pod-netns.ts";
import { openLinkSession } from "./link/session.ts";
import { addressesOf, type CniResult } from "./protocol/result.ts";

/** @throws NetplugError attachmentIncomplete with every fault; what the delegate says */
export async function check(call: Call): Promise<void> {
  // CHECK without prevResult is refused with the network config.
  const previous: CniResult = call.config.prevResult ?? { interfaces: [], ips: [], routes: [], dns: undefined };
  const facts = await call.ledger.time("datastore", () => readAll(call));
  const addresses = ownAddresses(call, previous, facts);
  const faults = [
    ...(call.plugin === "netplug" ? inspectKernel(call, previous, addresses, tryParseMac(recordOf(call, facts)?.spec.mac ?? "")) : []),
    ...inspectStore(call, addresses, facts),
  ];
  if (faults.length > 0) throw new NetplugError("attachmentIncomplete", `check attachment: ${faults.join("; ")}`);
  const delegate = delegateOf(call);
  if (delegate !== undefined) await delegateCheck(delegate.call, delegate.ports);
}

/** Everything that the inspection asks for, also what it finds out to need only on the way. */
async function readAll(call: Call): Promise<Facts> {
  const ports = transactPortsOf(call);
  const endpoint = {
    type: "get",
    ref: endpointRef({ node: call.node, workload: workloadOf(call), labels: call.config.args.labels }),
  } as const;
  const queries = [...releaseQueries(call.node), endpoint];
  let facts = await readFacts(ports, queries);
  for (;;) {
    const decision = collectWanted(() => heldAddresses(call, facts));
    if (!("wanted" in decision)) return facts;
    facts = await readFacts(ports, decision.wanted, facts);
  }
}

function heldAddresses({ config, environment, node }: Call, facts: Facts): readonly Address[] {
  const id = { network: config.name, containerID: environment.containerID, ifName: environment.ifName };
  return heldBy(facts, new Map(), id, node).map(({ from, allocation }) => addressAt(from.block.cidr, allocation.ordinal));
}

/** What is ours and stands in `prevResult`: a plugin after us may have changed the rest, which is no fault. */
function ownAddresses(call: Call, previous: CniResult, facts: Facts): readonly Address[] {
  const listed = addressesOf(previous).map(({ address }) => address);
  const recorded = call.plugin === "netplug" ? recordedAddresses(call, facts) : undefined;
  if (recorded === undefined) return listed;
  return listed.filter((address) => recorded.some((other) => equalAddresses(other, address)));
}

function recordOf(call: Call, facts: Facts): WorkloadEndpoint | undefined {
  const ref = endpointRef({ node: call.node, workload: workloadOf(call), labels: call.config.args.labels });
  // The datastore gives back the kind that was asked for.
  return know(facts, { type: "get", ref })?.value as WorkloadEndpoint | undefined;
}

function recordedAddresses(call: Call, facts: Facts): readonly Address[] | undefined {
  const texts = recordOf(call, facts)?.spec.ipNetworks;
  return texts?.flatMap((text) => {
    const prefix = tryParsePrefix(text);
    return prefix === undefined ? [] : [{ family: prefix.family, value: prefix.base }];
  });
}

function inspectKernel(call: Call, previous: CniResult, addresses: readonly Address[], podMac: WantedLink["podMac"]): readonly string[] {
  const { kernel } = call.host;
  const names = linkNamesOf(call);
  return call.ledger.time("kernel", () => {
    using netns = openPodNetns(kernel, call.environment.netns ?? "");
    using session = openLinkSession(kernel, netns, names);
    return inspectLink(session, { ...names, podMac, addresses, routes: ownRoutes(previous) });
  });
}

function ownRoutes(previous: CniResult): readonly Prefix[] {
  return previous.routes.flatMap(({ dst, gw }) => {
    const prefix = gw === NEXT_HOP_V4 || gw === NEXT_HOP_V6 ? tryParsePrefix(dst) : undefined;
    return prefix === undefined ? [] : [prefix];
  });
}

function inspectStore(call: Call, addresses: readonly Address[], facts: Facts): readonly string[] {
  const faults: string[] = [];
  if (hasOwnIpam(call)) {
    const held = heldAddresses(call, facts);
    if (held.length === 0) faults.push("datastore: the attachment has no address");
    for (const address of addresses) {
      if (!held.some((other) => equalAddresses(other, address)))
        faults.push(`datastore: address "${toAddressText(address)}" is not allocated to the attachment`);
    }
  }
  if (call.plugin === "netplug-ipam") return faults;
  const record = recordOf(call, facts);
  if (record === undefined) return [...faults, "datastore: the workload endpoint is missing"];
  if (record.spec.containerID !== call.environment.containerID) {
    return [...faults, `datastore: the workload endpoint is of container "${record.spec.containerID ?? ""}"`];
  }
  for (const address of addresses) {
    const text = toPrefixText(toHostPrefix(address));
    if (record.spec.ipNetworks?.includes(text) !== true) faults.push(`datastore: the workload endpoint lacks address "${text}"`);
  }
  return faults;
}
