/** `ipam explain`: which address a new pod would get now, and why it would get none from some pools. */

import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import { withoutDamaged } from "../../../datastore/without-damaged.ts";
import { warnOfIneffective } from "../../../endpoint/annotations/ineffective.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { requireFamilies } from "../../../endpoint/pod-endpoint.ts";
import { type BlockSource, explain, type Explanation } from "../../../ipam/admin/explain/explain.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { type Family, toAddressText } from "../../../lib/ip/address.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { EXIT, remedyOf } from "../../failures/failure.ts";
import { type Cli, note, say } from "../../io.ts";
import type { AskingPod } from "../../kubernetes/asking-pod.ts";
import { toReportText } from "../../output/json-yaml.ts";
import { toTable } from "../../output/table.ts";
import { toCommandLine } from "../../failures/suggested-commands.ts";
import { type Asking, type ExplainFlags, readAsking, toQuestion, toWhoText } from "./explain-asking.ts";
import { warnOfHolders } from "./explain-holder.ts";
import { toTransactPorts } from "./transact-ports.ts";

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
    const before = [...explained.refusals, ...(asking.malformed === undefined ? [] : [asking.malformed])];
    const explanation = { ...explained, refusals: before.length > 0 ? before : refuseFloating(asking, explained) };
    const tell = (text: string): void => note(cli, withoutName(text, asking));
    for (const warning of warningsOf(cli, asking, explanation)) tell(`warning: ${warning}`);
    if (flags.output === undefined) printText(cli, asking, explanation);
    else cli.io.stdout.write(toReportText(flags.output, toReport(asking, explanation)));
    for (const { code, message } of explanation.refusals) tell(`an ADD would fail with code ${code}: ${message}`);
    for (const remedy of remediesFor(explanation)) note(cli, `next: ${toCommandLine(cli, remedy)}`);
    return explanation.refusals.length === 0 ? EXIT.done : EXIT.failed;
  });
}

/** As an ADD does it once the pod has its addresses. */
function refuseFloating({ pod, request }: Asking, { addresses }: Explanation): readonly NetplugError[] {
  if (pod === undefined) return [];
  try {
    requireFamilies(pod, request.floatingIPs, [...addresses.map(({ address }) => address), ...request.addressesWithoutIpam]);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return [thrown];
  }
}

function warningsOf(
  cli: Cli,
  asking: Asking,
  { isNodeKnown, selectsNodes, selectsPods, defects, holders }: Explanation,
): readonly string[] {
  const { pod, isOnKubernetes, node, request } = asking;
  // Nodes need no object in etcd.
  const isNodeMissed = !isNodeKnown && (isOnKubernetes || selectsNodes);
  const ofNode = `node ${quote(node)} is not known, so it has no labels; ${quote(toCommandLine(cli, "get nodes"))} shows those that are`;
  const ofPod =
    pod === undefined
      ? []
      : [
          ...pod.warnings,
          ...warnOfIneffective(pod, pod.namespaceAnnotations),
          ...warnOfFeatures(pod, request),
          ...(isOnKubernetes ? [] : warnOfUnread(pod, asking, selectsPods)),
          ...warnOfOwn(pod, node, isNodeKnown),
          ...warnOfHolders(pod, asking, holders),
        ];
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

/** Of Kubernetes etcd knows nothing, and of the network config nobody here. */
function warnOfUnread(pod: AskingPod, { request, malformed }: Asking, selectsPods: boolean): readonly string[] {
  const { families, namedBy, addresses, addressesWithoutIpam } = request;
  const isAllNamed = namedBy.families !== undefined && families.every((family) => namedBy[family] !== undefined);
  const isSettled = malformed !== undefined || addresses.length > 0 || addressesWithoutIpam.length > 0 || isAllNamed;
  const isLabelled = !isSettled && selectsPods && Object.keys(pod.podLabels).length > 0;
  const isAnnotated = Object.keys(pod.annotations).some((name) => name.startsWith(ANNOTATION_PREFIX));
  const read = [...(isLabelled ? ["labels"] : []), ...(isAnnotated ? ["annotations"] : [])].join(" and ");
  const ofConfig = `${read} of ${toPodText(pod)} count only with "policy.type": "k8s" in the network config, as the datastore is etcd`;
  const what = `labels and annotations of namespace ${quote(pod.namespace)}`;
  return [
    ...(read === "" ? [] : [ofConfig]),
    ...(isSettled ? [] : [`${what} may choose pools and families: they are not known here, as the datastore is etcd`]),
  ];
}

/** Otherwise it would seem that the pod moves, changes its address, or that the one that it uses had to be released. */
function warnOfOwn(pod: AskingPod, node: string, isNodeKnown: boolean): readonly string[] {
  const { recordedAddresses, node: own = node } = pod;
  // A node may have a name of its own, but not another one's.
  const unless = isNodeKnown ? "" : `unless "nodename" there is ${quote(node)}, `;
  const has = `${toPodText(pod)} has ${recordedAddresses} already`;
  const answer = pod.isPlanned
    ? `${has}: the answer is for the one that takes its place, after the DEL of this one`
    : `${has}, which it keeps: the answer is for a new sandbox, after the DEL of this one`;
  const bound = pod.isPlanned ? `the manifest binds ${toPodText(pod)} to node` : `${toPodText(pod)} is bound to node`;
  return [
    ...(own === node ? [] : [`${bound} ${quote(own)}: ${unless}the answer is for one like it`]),
    ...(recordedAddresses === "" ? [] : [answer]),
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
  const who = `${pod === undefined ? "a container" : toWhoText(pod)} on node ${quote(node)} ${would} get`;
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

/** Messages about annotations name the pod, too, and here it has no name, as the pods of most workloads. */
function withoutName(text: string, { pod }: Asking): string {
  if (pod?.unnamed === undefined) return text;
  const ofNone = `want an entry ${quote(pod.name)}`;
  const wanted = "want an entry of its name, which nobody knows before: of workloads only a StatefulSet has pods of known names";
  return text
    .replaceAll(` for ${toPodText(pod)}`, "")
    .replaceAll(toPodText(pod), pod.unnamed)
    .replace(ofNone, wanted);
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
    pod: pod?.unnamed === undefined ? pod?.name : undefined,
    addresses: [
      ...addresses.map(({ address, block, ...rest }) => ({ ip: toAddressText(address), block: toPrefixText(block), ...rest })),
      ...request.addressesWithoutIpam.map((address) => ({ ip: toAddressText(address) })),
    ],
    refusals: refusals.map(({ code, message }) => ({ code, message: withoutName(message, asking) })),
    pools: pools.map(({ cidr, ...rest }) => ({ ...rest, cidr: cidr && toPrefixText(cidr) })),
  };
}
