/** `ipam explain`: which address a new pod would get now, and why it would get none from some pools. */

import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import { withoutDamaged } from "../../../datastore/without-damaged.ts";
import { warnOfIneffective } from "../../../endpoint/annotations/ineffective.ts";
import { type PodRequest, readPodRequest } from "../../../endpoint/annotations/read-pod-request.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { isNodeName, NODE_NAME } from "../../../endpoint/names.ts";
import { type BlockSource, explain, type Explanation, type Question } from "../../../ipam/admin/explain.ts";
import { type Family, toAddressText } from "../../../lib/ip/address.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { quote, quoteValue } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { defaultNamespaceOf } from "../../access/default-namespace.ts";
import { CommandFailed, EXIT, remedyOf, UsageError } from "../../failure.ts";
import { type Cli, note, type OpenKube, say } from "../../io.ts";
import type { AskingPod } from "../../kubernetes/asking-pod.ts";
import type { ReportFormat } from "../../output/format.ts";
import { toReportText } from "../../output/json-yaml.ts";
import { toTable } from "../../output/table.ts";
import { checkNameOption, isPathStep } from "../../resources/name-arguments.ts";
import { toCommandLine } from "../../suggested-commands.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** By their names on the command line. */
const FAMILIES = { IPv4: 4, IPv6: 6 } as const satisfies Record<string, Family>;

/** Where the pod would run, which one it would be like, and what the network config there says of pools. */
export interface ExplainFlags {
  /** Absent: that of `pod`. */
  readonly node?: string;
  /** `NAME`, or `NAMESPACE/NAME`. */
  readonly pod?: string;
  readonly namespace?: string;
  /** As the network config says by `assign_ipv4` and `assign_ipv6`. */
  readonly families?: readonly (keyof typeof FAMILIES)[];
  /** As `ipv4_pools` of the network config, and its fellow. */
  readonly ipv4Pools?: readonly string[];
  readonly ipv6Pools?: readonly string[];
  readonly output?: ReportFormat;
}

/** Who would ask, and for what. */
interface Asking {
  /** undefined on etcd, which knows of no pod before it runs. */
  readonly pod: AskingPod | undefined;
  readonly node: string;
  readonly request: Pick<PodRequest, "families" | "pools" | "namedBy" | "addresses" | "addressesWithoutIpam" | "floatingIPs">;
  /** Why an ADD refuses what the annotations ask for; `request` then asks for nothing. */
  readonly malformed: NetplugError | undefined;
}

const NOTHING: Asking["request"] = { families: [], pools: {}, namedBy: {}, addresses: [], addressesWithoutIpam: [], floatingIPs: [] };

/**
 * Fails where an ADD would, and says what with.
 *
 * @throws {UsageError} for no node, or what no node, pod or namespace is called
 * @throws {CommandFailed} for a pod or namespace that is not there
 */
export async function ipamExplain(cli: Cli, flags: ExplainFlags): Promise<number> {
  return await withDatastore(cli, async (datastore, openKube) => {
    const asking = await readAsking(cli, openKube, flags);
    // As an ADD does it.
    const onLeftOut = (cidr: string, reason: string): void => note(cli, `warning: block ${quote(cidr)} is left out: ${reason}`);
    const explained = await explain(toTransactPorts(cli, withoutDamaged(datastore, { onLeftOut })), toQuestion(asking));
    // An ADD looks at the datastore first: while that is locked, the pod does not count.
    const explanation = { ...explained, refusals: [...explained.refusals, ...(asking.malformed === undefined ? [] : [asking.malformed])] };
    const tell = (text: string): void => note(cli, withoutAnyPod(text, asking));
    for (const warning of warningsOf(cli, asking, explanation)) tell(`warning: ${warning}`);
    if (flags.output === undefined) printText(cli, asking, explanation);
    else cli.io.stdout.write(toReportText(flags.output, toReport(asking, explanation)));
    for (const { code, message } of explanation.refusals) tell(`an ADD would fail with code ${code}: ${message}`);
    for (const remedy of remediesFor(explanation)) note(cli, `next: ${toCommandLine(cli, remedy)}`);
    return explanation.refusals.length === 0 ? EXIT.done : EXIT.failed;
  });
}

async function readAsking(cli: Cli, openKube: OpenKube | undefined, flags: ExplainFlags): Promise<Asking> {
  const pod = openKube === undefined ? undefined : await readPod(cli, openKube, flags);
  if (pod === undefined && (flags.pod ?? flags.namespace) !== undefined)
    throw new CommandFailed("look for the pod: the datastore is etcd, which knows of none before it runs; give --node alone");
  const node = flags.node ?? pod?.node;
  if (node === undefined) throw new UsageError(`read options: got no --node, ${whyNoNode(pod)}`);
  if (!isNodeName(node)) throw new UsageError(`got ${quoteValue(node)} as --node, want ${NODE_NAME}`);
  try {
    return { pod, node, request: toRequest(pod, flags), malformed: undefined };
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return { pod, node, request: NOTHING, malformed: thrown };
  }
}

function whyNoNode(pod: AskingPod | undefined): string {
  if (pod?.uid === undefined) return "want one, or a --pod that is bound to one";
  return `and ${toPodText(pod)} is bound to none yet: kubectl describe pod says why`;
}

async function readPod(cli: Cli, openKube: OpenKube, flags: ExplainFlags): Promise<AskingPod> {
  const { namespace, name } = toPodName(flags);
  const { readAskingPod } = await import("../../kubernetes/asking-pod.ts");
  return await readAskingPod(openKube, namespace ?? (await defaultNamespaceOf(cli)), name);
}

/** @throws {UsageError} what no pod is called, or two namespaces */
function toPodName({ pod, namespace }: ExplainFlags): { readonly namespace: string | undefined; readonly name: string | undefined } {
  const words = pod?.split("/") ?? [];
  if (words.length > 2 || !words.every(isPathStep))
    throw new UsageError(`read option "--pod": got ${quote(pod ?? "")}, want NAME or NAMESPACE/NAME`);
  if (namespace !== undefined) checkNameOption("namespace", namespace);
  const [name, ofName = namespace] = words.toReversed();
  if (namespace !== undefined && ofName !== namespace)
    throw new UsageError(`read options: got ${quote(namespace)} as --namespace, and ${quote(pod ?? "")} as --pod, want one namespace`);
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

function toQuestion({ pod, node, request: { families, addressesWithoutIpam, ...request } }: Asking): Question {
  const owner = {
    network: "",
    containerID: "",
    ifName: "",
    node,
    ...(pod?.uid !== undefined && { podUID: pod.uid, pod: pod.name, namespace: pod.namespace }),
  };
  const namespaceLabels = pod?.namespaceLabels ?? {};
  return { ...request, owner, namespaceLabels, families: addressesWithoutIpam.length > 0 ? [] : families };
}

function warningsOf(cli: Cli, { pod, node, request }: Asking, { isNodeKnown, selectsNodes, defects }: Explanation): readonly string[] {
  // Nodes need no object in etcd.
  const isNodeMissed = !isNodeKnown && (pod !== undefined || selectsNodes);
  const ofNode = `node ${quote(node)} is not known, so it has no labels; ${quote(toCommandLine(cli, "get nodes"))} shows those that are`;
  const ofPod =
    pod === undefined
      ? []
      : [...warnOfIneffective(pod, pod.namespaceAnnotations), ...warnOfFeatures(pod, request), ...warnOfOwn(pod, node, isNodeKnown)];
  return [...ofPod, ...(isNodeMissed ? [ofNode] : []), ...defects];
}

/** They are off by default. */
function warnOfFeatures(pod: AskingPod, { addressesWithoutIpam, floatingIPs }: Asking["request"]): readonly string[] {
  const needs = (annotation: string, feature: string): string =>
    `annotation "${ANNOTATION_PREFIX}${annotation}" of ${toPodText(pod)} needs "feature_control.${feature}": true in the network config, otherwise an ADD fails`;
  return [
    ...(addressesWithoutIpam.length > 0 ? [needs("ipAddrsNoIpam", "ip_addrs_no_ipam")] : []),
    ...(floatingIPs.length > 0 ? [needs("floatingIPs", "floating_ips")] : []),
  ];
}

/** Otherwise it would seem that the pod moves, changes its address, or that the one that it uses had to be released. */
function warnOfOwn(pod: AskingPod, node: string, isNodeKnown: boolean): readonly string[] {
  const { recordedAddresses, node: own = node } = pod;
  // A node may have a name of its own, but not another one's.
  const unless = isNodeKnown ? "" : `unless "nodename" there is ${quote(node)}, `;
  return [
    ...(own === node ? [] : [`${toPodText(pod)} is bound to node ${quote(own)}: ${unless}the answer is for one like it`]),
    ...(recordedAddresses === ""
      ? []
      : [`${toPodText(pod)} has ${recordedAddresses} already, which it keeps: the answer is for a new sandbox`]),
  ];
}

const SOURCE_TEXTS = {
  own: "a block of the node",
  claimed: "a block that the node would claim",
  "taken over": "another node's empty block, which the node would take over",
  borrowed: "another node's block",
} as const satisfies Record<BlockSource, string>;

function printText(cli: Cli, { pod, node, request }: Asking, { addresses, pools, refusals }: Explanation): void {
  // An ADD that cannot have all that it asks for gets nothing.
  const would = refusals.length === 0 ? "would" : "could";
  const who = `${toWhoText(pod)} on node ${quote(node)} ${would} get`;
  for (const { address, block, source, pool } of addresses)
    say(cli, `${who} ${toAddressText(address)} of pool ${quote(pool)}, from ${toPrefixText(block)}, ${SOURCE_TEXTS[source]}`);
  for (const address of request.addressesWithoutIpam)
    say(cli, `${who} ${toAddressText(address)}, which its annotation names, from no pool`);
  if (pools.length === 0) return;
  const header = ["ORDER", "POOL", "CIDR", "WHY NOT"];
  const rows = pools.map(({ order, name, cidr, reason }) => [
    `${order ?? "-"}`,
    name,
    cidr === undefined ? "-" : toPrefixText(cidr),
    reason ?? "",
  ]);
  cli.io.stdout.write(toTable(header, rows, { colour: cli.io.stdout.isTerminal, right: new Set([0]) }));
}

function toWhoText(pod: AskingPod | undefined): string {
  if (pod === undefined) return "a container";
  return pod.uid === undefined ? `a pod of namespace ${quote(pod.namespace)}` : toPodText(pod);
}

/** Messages about annotations name the pod, too, and here there is none. */
function withoutAnyPod(text: string, { pod }: Asking): string {
  return pod === undefined || pod.uid !== undefined ? text : text.replaceAll(` for ${toPodText(pod)}`, "");
}

/** Commands that help where the message does not say what to do. */
function remediesFor({ addresses, refusals, pools }: Explanation): readonly string[] {
  const isGiven = (family: Family | undefined): boolean => addresses.some(({ address }) => address.family === family);
  const isFull = pools.some(({ order, reason, cidr }) => order !== undefined && reason !== undefined && !isGiven(cidr?.family));
  // Addresses that leaked are missing there.
  const remedies = refusals.map((refusal) => (refusal.kind === "noAddressLeft" && isFull ? "ipam check" : remedyOf(refusal)));
  return [...new Set(remedies.filter((remedy) => remedy !== undefined))];
}

function toReport(asking: Asking, { addresses, pools, refusals }: Explanation): object {
  const { pod, node, request } = asking;
  return {
    node,
    namespace: pod?.namespace,
    pod: pod?.uid === undefined ? undefined : pod.name,
    addresses: [
      ...addresses.map(({ address, block, ...rest }) => ({ ip: toAddressText(address), block: toPrefixText(block), ...rest })),
      ...request.addressesWithoutIpam.map((address) => ({ ip: toAddressText(address) })),
    ],
    refusals: refusals.map(({ code, message }) => ({ code, message: withoutAnyPod(message, asking) })),
    pools: pools.map(({ cidr, ...rest }) => ({ ...rest, cidr: cidr && toPrefixText(cidr) })),
  };
}
