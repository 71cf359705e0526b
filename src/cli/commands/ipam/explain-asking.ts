/** What `ipam explain` is asked: who would ask for addresses, where, and for which. */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import { type PodRequest, readPodRequest } from "../../../endpoint/annotations/read-pod-request.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { isNodeName, NODE_NAME } from "../../../endpoint/names.ts";
import type { Question } from "../../../ipam/admin/explain/explain.ts";
import type { Family } from "../../../lib/ip/address.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { quote, quoteValue } from "../../../lib/quote.ts";
import { defaultNamespaceOf } from "../../access/default-namespace.ts";
import { checkNamespaceName } from "../../arguments/namespace-name.ts";
import { CommandFailed, UsageError } from "../../failures/failure.ts";
import type { Cli, OpenKube } from "../../io.ts";
import type { AskingPod } from "../../kubernetes/asking-pod.ts";
import type { ReportFormat } from "../../output/format.ts";
import { isPathStep } from "../../resources/name-arguments.ts";

/** By their names on the command line. */
const FAMILIES = { IPv4: 4, IPv6: 6 } as const satisfies Record<string, Family>;

/** Where the pod would run, which one it would be like, and what the network config there says of pools. */
export interface ExplainFlags {
  /** Absent: that of `pod`. */
  readonly node?: string;
  /** `NAME`, or `NAMESPACE/NAME`. */
  readonly pod?: string;
  /** Manifests of pods that are to come, one of which is meant. */
  readonly filename?: readonly string[];
  readonly namespace?: string;
  /** As the network config says by `assign_ipv4` and `assign_ipv6`. */
  readonly families?: readonly (keyof typeof FAMILIES)[];
  /** As `ipv4_pools` of the network config, and its fellow. */
  readonly ipv4Pools?: readonly string[];
  readonly ipv6Pools?: readonly string[];
  readonly output?: ReportFormat;
}

/** Who would ask, and for what. */
export interface Asking {
  /** undefined on etcd without a manifest: it knows of no pod before it runs. */
  readonly pod: AskingPod | undefined;
  /** Whether the pod's namespace is known. */
  readonly isOnKubernetes: boolean;
  readonly node: string;
  readonly request: Pick<PodRequest, "families" | "pools" | "namedBy" | "addresses" | "addressesWithoutIpam" | "floatingIPs">;
  /** Why an ADD refuses what the annotations ask for; `request` then asks for nothing. */
  readonly malformed: NetplugError | undefined;
}

/** Of a pod that is not there yet: no pod before it has had the same. */
const NEW_UID = "new";

const NOTHING: Asking["request"] = { families: [], pools: {}, namedBy: {}, addresses: [], addressesWithoutIpam: [], floatingIPs: [] };

/**
 * Reads the pod, if one is meant, and what it asks for.
 *
 * @throws {UsageError} for no node, or what no node, pod or namespace is called
 * @throws {CommandFailed} for a pod or namespace that is not there
 */
export async function readAsking(cli: Cli, openKube: OpenKube | undefined, flags: ExplainFlags): Promise<Asking> {
  const pod = await readPod(cli, openKube, flags);
  if (pod === undefined && (flags.pod ?? flags.namespace) !== undefined)
    throw new CommandFailed("look for the pod: the datastore is etcd, which knows of none before it runs; give --node alone, or -f");
  const node = flags.node ?? pod?.node;
  const isOnKubernetes = openKube !== undefined;
  if (node === undefined) throw new UsageError(`read options: got no --node, ${whyNoNode(pod, isOnKubernetes)}`);
  if (!isNodeName(node)) throw new UsageError(`got ${quoteValue(node)} as --node, want ${NODE_NAME}`);
  try {
    return { pod, isOnKubernetes, node, request: toRequest(pod, flags), malformed: undefined };
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return { pod, isOnKubernetes, node, request: NOTHING, malformed: thrown };
  }
}

function whyNoNode(pod: AskingPod | undefined, isOnKubernetes: boolean): string {
  if (!isOnKubernetes && pod === undefined) return 'want one, or -f with a manifest that has "nodeName"';
  if (pod?.isPlanned === true) return `want one, or "nodeName" in the manifest of ${toWhoText(pod)}`;
  if (pod?.uid === undefined) return "want one, or a --pod that is bound to one";
  return `and ${toPodText(pod)} is bound to none yet: kubectl describe pod says why`;
}

/** How messages call it. */
export function toWhoText(pod: AskingPod): string {
  return pod.unnamed ?? toPodText(pod);
}

async function readPod(cli: Cli, openKube: OpenKube | undefined, flags: ExplainFlags): Promise<AskingPod | undefined> {
  const { namespace, name } = toPodName(flags);
  if (flags.filename !== undefined) {
    const { readPlannedPod } = await import("./explain-manifest.ts");
    return await readPlannedPod(cli, openKube, flags.filename, { namespace, name });
  }
  if (openKube === undefined) return undefined;
  const { readAskingPod } = await import("../../kubernetes/asking-pod.ts");
  const namedNamespace = { name: namespace ?? (await defaultNamespaceOf(cli)), isChosen: namespace !== undefined };
  return await readAskingPod(openKube, namedNamespace, name);
}

/** @throws {UsageError} what no pod or namespace is called, or two namespaces */
function toPodName({ pod, namespace }: ExplainFlags): { readonly namespace: string | undefined; readonly name: string | undefined } {
  const words = pod?.split("/") ?? [];
  if (words.length > 2 || !words.every(isPathStep))
    throw new UsageError(`read option "--pod": got ${quote(pod ?? "")}, want NAME or NAMESPACE/NAME`);
  if (namespace !== undefined) checkNamespaceName(namespace);
  const [name, ofName = namespace] = words.toReversed();
  if (namespace !== undefined && ofName !== namespace)
    throw new UsageError(`read options: got ${quote(namespace)} as --namespace, and ${quote(pod ?? "")} as --pod, want one namespace`);
  if (words.length === 2 && ofName !== undefined) checkNamespaceName(ofName, 'the namespace in option "--pod"');
  return { namespace: ofName, name };
}

function toRequest(pod: AskingPod | undefined, { families = ["IPv4"], ipv4Pools = [], ipv6Pools = [] }: ExplainFlags): Asking["request"] {
  // In the order of an ADD, whatever that of the option.
  const wanted = [...new Set(families)].map((name) => FAMILIES[name]).sort((a, b) => a - b);
  const configured = { families: wanted, pools: { 4: ipv4Pools, 6: ipv6Pools } };
  if (pod === undefined) return { ...NOTHING, ...configured };
  // As if they were on: whether they are, only the network config knows, see `warnOfFeatures`.
  const featureControl = { ipAddrsNoIpam: true, floatingIPs: true };
  return readPodRequest(pod, pod.namespaceAnnotations, { ...configured, ipam: { type: "netplug-ipam", isOwn: true }, featureControl });
}

/** The same, as address management is asked. */
export function toQuestion({ pod, node, request: { families, addressesWithoutIpam, ...request } }: Asking): Question {
  const owner = { network: "", containerID: "", ifName: "", node, ...(pod?.unnamed === undefined && pod && toOwner(pod)) };
  const { namespaceLabels = {}, podLabels = {} } = pod ?? {};
  const question = { ...request, owner, namespaceLabels, podLabels, families: addressesWithoutIpam.length > 0 ? [] : families };
  return pod === undefined || pod.recordedContainer === "" ? question : { ...question, replaces: (other) => isContainerOf(pod, other) };
}

function toOwner(pod: AskingPod): Partial<AllocationOwner> {
  return { pod: pod.name, namespace: pod.namespace, podUID: pod.isPlanned ? NEW_UID : (pod.uid ?? NEW_UID) };
}

/** A record may be a copy of another pod's, or of an earlier one of this name: that one's container is not ended for this pod. */
function isContainerOf({ uid, recordedContainer }: AskingPod, owner: AllocationOwner): boolean {
  return uid !== undefined && owner.podUID === uid && owner.containerID === recordedContainer;
}
