/** The pod of a manifest, which need not have been applied: `ipam explain -f`. */

import { toOwnLabels } from "../../../api/kubernetes-pod.ts";
import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import { toPodText } from "../../../endpoint/annotations/sources.ts";
import { isJsonObject, tryParseForeignJson } from "../../../lib/json.ts";
import { quote } from "../../../lib/quote.ts";
import { toSourceName } from "../../../lib/source-name.ts";
import { defaultNamespaceOf } from "../../access/default-namespace.ts";
import { readDocuments } from "../../documents/documents.ts";
import { findNamespace } from "../../documents/namespaces.ts";
import { type PodTemplate, readPodTemplates } from "../../documents/pod-templates.ts";
import { UsageError } from "../../failures/failure.ts";
import type { Cli, OpenKube } from "../../io.ts";
import { ANY_POD, type AskingPod, readPlaceOf, withoutAddress } from "../../kubernetes/asking-pod.ts";

/** Which pod of the manifests, as the command line says. */
interface Wanted {
  readonly namespace: string | undefined;
  /** Of a pod, or of the object that makes it. */
  readonly name: string | undefined;
}

/**
 * Reads that pod, and on Kubernetes what is there of its namespace and name.
 *
 * @throws {UsageError} where it is not one pod that is meant
 * @throws {CommandFailed} manifests that make no pod, or make no sense, and a namespace that is not there
 */
export async function readPlannedPod(
  cli: Cli,
  openKube: OpenKube | undefined,
  sources: readonly string[],
  wanted: Wanted,
): Promise<AskingPod> {
  const source = sources.map(toSourceName).join(", ");
  const documents = await readDocuments(cli.io, sources);
  const fallback = wanted.namespace ?? (await defaultNamespaceOf(cli));
  const keyOf = ({ kind, namespace = fallback, name }: PodTemplate): string => `${kind} ${quote(`${namespace}/${name}`)}`;
  const objectOf = (one: PodTemplate): string => (one.isNameMadeUp ? `${one.index}` : keyOf(one));
  const templates = readPodTemplates(documents, source);
  // As of kubectl apply, of what is there several times the last is left.
  const template = choose([...new Map(templates.map((one) => [objectOf(one), one])).values()], wanted, source);
  const count = templates.filter((one) => objectOf(one) === objectOf(template)).length;
  const repeated = count === 1 ? [] : [`${keyOf(template)} is ${count} times in the manifest: the last counts, as for kubectl apply`];
  const chosen = wanted.namespace ?? template.namespace;
  const ofTemplate = toPlannedPod(template, chosen ?? fallback, wanted.name);
  const planned = { ...ofTemplate, warnings: [...repeated, ...ofTemplate.warnings] };
  if (openKube === undefined) return planned;
  const manifests = findNamespace(documents, planned.namespace);
  const after = (manifests[0]?.index ?? 0) > template.index ? keyOf(template) : undefined;
  return await readPlaceOf(openKube, planned, { name: planned.namespace, isChosen: chosen !== undefined, manifests, after });
}

/** So many of them a message shows. */
const SHOWN = 10;

function choose(templates: readonly PodTemplate[], { namespace, name }: Wanted, source: string): PodTemplate {
  const listed = (some: readonly PodTemplate[]): string =>
    some.slice(0, SHOWN).map(toText).join(", ") + (some.length > SHOWN ? `, and ${some.length - SHOWN} more` : "");
  const there = templates.filter((one) => namespace === undefined || (one.namespace ?? namespace) === namespace);
  if (there.length === 0)
    throw new UsageError(`read ${source}: got ${listed(templates)}, want one of namespace ${quote(namespace ?? "")}, as the options say`);
  const [first, ...more] = there.filter((one) => name === undefined || isOf(one, name));
  if (first === undefined)
    throw new UsageError(`read option "--pod": got ${quote(name ?? "")}, want a name that ${source} has: ${listed(there)}`);
  const options = [...(name === undefined ? ["--pod=NAME"] : []), ...(namespace === undefined ? ["--namespace"] : [])];
  const ways = options.length === 0 ? "" : `choose it by ${options.join(" or ")}, or `;
  if (more.length > 0) throw new UsageError(`read ${source}: got ${listed([first, ...more])}, want one: ${ways}give it alone`);
  return first;
}

function isOf(template: PodTemplate, name: string): boolean {
  const number = numberOf(template, name);
  return name === template.name || (number !== undefined && number >= template.firstNumber);
}

/** The one behind the name of a StatefulSet. */
function numberOf({ name, podNames }: PodTemplate, pod: string): number | undefined {
  const number = podNames === "name-number" && pod.startsWith(`${name}-`) ? pod.slice(name.length + 1) : "";
  return /^(0|[1-9][0-9]{0,9})$/.test(number) ? Number(number) : undefined;
}

function toText(template: PodTemplate): string {
  const { kind, podNames, name, namespace, firstNumber } = template;
  const pods = podNames === "name-number" ? `, with ${quote(`${name}-${firstNumber}`)} as its first pod` : "";
  return `${kind} ${quote(namespace === undefined ? name : `${namespace}/${name}`)}${pods}`;
}

function toPlannedPod(template: PodTemplate, namespace: string, wanted: string | undefined): AskingPod {
  const { kind, podNames, annotations, nodeName, isOnHostNetwork, firstNumber, replicas, isEndingFirst } = template;
  const number = (wanted === undefined ? undefined : numberOf(template, wanted)) ?? firstNumber;
  const name = { name: template.name, "name-number": `${template.name}-${number}`, unknown: ANY_POD }[podNames];
  const maker = `${kind} ${quote(`${namespace}/${template.name}`)}`;
  const unnamed = podNames === "unknown" ? `a pod of ${maker}` : undefined;
  if (isOnHostNetwork) throw withoutAddress(unnamed ?? toPodText({ namespace, name }));
  return {
    namespace,
    name,
    unnamed,
    annotations,
    podLabels: toOwnLabels({ ...template.labels, ...labelsByController(template, name) }),
    isPlanned: true,
    warnings: [
      ...warnOfPlace(template, maker),
      ...warnOfNumber(template, number, maker),
      ...warnOfShared(template, maker),
      ...warnOfMissing(template, number, maker),
    ],
    workload: { kind, name: `${namespace}/${template.name}`, hasSeveral: replicas > 1, isEndingFirst },
    node: nodeName,
    namespaceLabels: {},
    namespaceAnnotations: {},
    uid: undefined,
    recordedAddresses: "",
    recordedContainer: "",
  };
}

/** Those whose values are known before; a hash or a UID is not. */
function labelsByController(
  { kind, podNames, name, isNameMadeUp, isSelectorGiven }: PodTemplate,
  pod: string,
): Readonly<Record<string, string>> {
  if (podNames === "name-number")
    return { "statefulset.kubernetes.io/pod-name": pod, "apps.kubernetes.io/pod-index": pod.slice(name.length + 1) };
  return kind === "Job" && !isNameMadeUp && !isSelectorGiven ? { "batch.kubernetes.io/job-name": name, "job-name": name } : {};
}

function warnOfPlace({ otherAnnotations, annotationsPath }: PodTemplate, maker: string): readonly string[] {
  const names = Object.keys(otherAnnotations).filter((name) => name.startsWith(ANNOTATION_PREFIX));
  return names.map((name) => `annotation ${quote(name)} of ${maker} has no effect: its pods have those of ${annotationsPath}`);
}

function warnOfNumber({ podNames, name, firstNumber, replicas }: PodTemplate, number: number, maker: string): readonly string[] {
  if (podNames !== "name-number" || number < firstNumber + replicas) return [];
  return [`${maker} has no pod ${quote(`${name}-${number}`)} before its replicas are ${number - firstNumber + 1}: they are ${replicas}`];
}

/** The second pod is refused what the first one has. */
function warnOfShared({ annotations, replicas }: PodTemplate, maker: string): readonly string[] {
  const names = ["ipAddrs", "ipAddrsNoIpam"].map((name) => ANNOTATION_PREFIX + name).filter((name) => (annotations[name] ?? "") !== "");
  if (replicas < 2) return [];
  const whom =
    replicas === Number.POSITIVE_INFINITY ? `pod of ${maker}, which has one on each node` : `of the ${replicas} pods of ${maker}`;
  return names.map((name) => `annotation ${quote(name)} asks for the same addresses for each ${whom}`);
}

/** The first of the pods is told what it has, so nothing else tells of the others. @param number of the pod that is meant */
function warnOfMissing(
  { podNames, name, annotations, firstNumber, replicas }: PodTemplate,
  number: number,
  maker: string,
): readonly string[] {
  const annotation = `${ANNOTATION_PREFIX}ipAddrsByPod`;
  const entries = tryParseForeignJson(annotations[annotation] ?? "");
  if (podNames !== "name-number" || !isJsonObject(entries)) return [];
  let missing = firstNumber;
  while (missing === number || Object.hasOwn(entries, `${name}-${missing}`)) missing++;
  if (missing >= firstNumber + replicas) return [];
  return [`annotation ${quote(annotation)} has no entry for ${quote(`${name}-${missing}`)}, one of the ${replicas} pods of ${maker}`];
}
