/** Pods that manifests of Kubernetes would make: a pod's own, and the templates of workloads. */

import { toPathText } from "../../api/schema/problem.ts";
import { isDnsName } from "../../lib/characters.ts";
import { toChoice } from "../../lib/choice.ts";
import { isText } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import { OBJECT, readField, readTexts, requireField, TEXT, type Wanted } from "./document-fields.ts";
import { type InputDocument, isList } from "./documents.ts";

/** What a manifest says of its pod, or of each of its pods. */
export interface PodTemplate {
  /** Which of the documents it is, from 0. */
  readonly index: number;
  readonly kind: string;
  /** Of the object. Of one that has none, how the one begins that the API server makes up. */
  readonly name: string;
  /** Whether the API server makes up how that goes on, so that nothing else is this object. */
  readonly isNameMadeUp: boolean;
  /** What its pods are called: as the object, by it and a number, or by what nobody knows before. */
  readonly podNames: "name" | "name-number" | "unknown";
  /** undefined: it names none. */
  readonly namespace: string | undefined;
  /** Whether the manifest says how a Job finds its pods, so that these get no labels for that. */
  readonly isSelectorGiven: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Where these are. */
  readonly annotationsPath: string;
  /** Those of the workload itself, which its pods do not have. */
  readonly otherAnnotations: Readonly<Record<string, string>>;
  readonly nodeName: string | undefined;
  readonly isOnHostNetwork: boolean;
  /** How many pods it has at once; infinite: one on each node. */
  readonly replicas: number;
  /** The number of the first pod, of a StatefulSet. */
  readonly firstNumber: number;
  /** Whether its pod, where it has one alone or one on each node, ends before the next one in its place runs. */
  readonly isEndingFirst: boolean;
}

/** Where the template is, by kind and version; empty: the object is the pod. */
const TEMPLATES: ReadonlyMap<string, readonly string[]> = new Map([
  ["Pod (v1)", []],
  ["ReplicationController (v1)", ["spec", "template"]],
  ["Deployment (apps/v1)", ["spec", "template"]],
  ["ReplicaSet (apps/v1)", ["spec", "template"]],
  ["StatefulSet (apps/v1)", ["spec", "template"]],
  ["DaemonSet (apps/v1)", ["spec", "template"]],
  ["Job (batch/v1)", ["spec", "template"]],
  ["CronJob (batch/v1)", ["spec", "jobTemplate", "spec", "template"]],
]);

const FLAG: Wanted<boolean> = { is: (value): value is boolean => typeof value === "boolean", text: "true or false" };
const COUNT_MAX = 2 ** 31 - 1;
const COUNT: Wanted<number> = {
  is: (value): value is number => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= COUNT_MAX,
  text: `a whole number 0..${COUNT_MAX}`,
};
const COUNT_OR_SHARE: Wanted<number | string> = {
  is: (value): value is number | string => COUNT.is(value) || (isText(value) && /^[0-9]+%$/.test(value)),
  text: `${COUNT.text}, or a share such as "25%"`,
};
const NAME: Wanted<string> = { is: (value): value is string => isText(value) && isDnsName(value), text: "a DNS name in lower case" };
// As in Kubernetes an empty one is none.
const NAME_IF_ANY: Wanted<string> = { is: (value): value is string => value === "" || NAME.is(value), text: NAME.text };
const BEGINNING_IF_ANY: Wanted<string> = {
  is: (value): value is string => NAME_IF_ANY.is(value) || (isText(value) && value.endsWith("-") && isDnsName(`${value}x`)),
  text: `${NAME.text}, which may end in a dash`,
};

/**
 * Finds them among documents; those of other kinds are passed over.
 *
 * @param source where they are, for messages
 * @throws {CommandFailed} where there is none, or for what the API server would refuse of what is read here
 */
export function readPodTemplates(documents: readonly InputDocument[], source: string): readonly PodTemplate[] {
  const others = new Set<string>();
  const templates = documents.flatMap((document, index) => {
    const kind = requireField(document, ["kind"], TEXT);
    const key = `${kind} (${requireField(document, ["apiVersion"], TEXT)})`;
    if (isList(document.value))
      throw new CommandFailed(`read ${document.origin}: got ${quote(key)} in a list, which kubectl refuses, want its items there`);
    const path = TEMPLATES.get(key);
    if (path === undefined) others.add(quote(key));
    return path === undefined ? [] : [{ index, ...readPodTemplate(document, kind, path) }];
  });
  if (templates.length > 0) return templates;
  throw new CommandFailed(`read ${source}: got ${[...others].join(", ")}, want ${toChoice([...TEMPLATES.keys()])}`);
}

function readPodTemplate(document: InputDocument, kind: string, path: readonly string[]): Omit<PodTemplate, "index"> {
  const isPod = kind === "Pod";
  const isNumbered = kind === "StatefulSet";
  if (!isPod) requireField(document, path, OBJECT);
  const name = readField(document, ["metadata", "name"], NAME_IF_ANY) || undefined;
  const generateName = readField(document, ["metadata", "generateName"], BEGINNING_IF_ANY) || undefined;
  const knownNames = isPod ? "name" : isNumbered ? "name-number" : "unknown";
  return {
    kind,
    name: name ?? generateName ?? requireField(document, ["metadata", "name"], NAME),
    isNameMadeUp: name === undefined,
    podNames: name === undefined ? "unknown" : knownNames,
    namespace: readField(document, ["metadata", "namespace"], NAME_IF_ANY) || undefined,
    isSelectorGiven: kind === "Job" && (readField(document, ["spec", "manualSelector"], FLAG) ?? false),
    labels: readTexts(document, [...path, "metadata", "labels"]),
    annotations: readTexts(document, [...path, "metadata", "annotations"]),
    annotationsPath: toPathText([...path, "metadata", "annotations"]),
    otherAnnotations: {
      ...(!isPod && readTexts(document, ["metadata", "annotations"])),
      ...(kind === "CronJob" && readTexts(document, ["spec", "jobTemplate", "metadata", "annotations"])),
    },
    nodeName: readField(document, [...path, "spec", "nodeName"], NAME_IF_ANY) || undefined,
    isOnHostNetwork: readField(document, [...path, "spec", "hostNetwork"], FLAG) ?? false,
    replicas: readReplicas(document, kind),
    firstNumber: (isNumbered ? readField(document, ["spec", "ordinals", "start"], COUNT) : undefined) ?? 0,
    isEndingFirst: isEndingFirst(document, kind),
  };
}

/** As its controller does it. The runs of a CronJob may overlap. */
function isEndingFirst(document: InputDocument, kind: string): boolean {
  const readOfUpdate = (...path: readonly string[]): number | string | undefined => readField(document, ["spec", ...path], COUNT_OR_SHARE);
  if (kind === "DaemonSet") return isNone(readOfUpdate("updateStrategy", "rollingUpdate", "maxSurge") ?? 0);
  if (kind !== "Deployment") return kind !== "CronJob";
  const missing = readOfUpdate("strategy", "rollingUpdate", "maxUnavailable") ?? 0;
  const isMissed = isText(missing) ? Number.parseInt(missing, 10) >= 100 : missing > 0;
  const isWithoutMore = isNone(readOfUpdate("strategy", "rollingUpdate", "maxSurge") ?? 1);
  return isMissed || isWithoutMore || readField(document, ["spec", "strategy", "type"], TEXT) === "Recreate";
}

function isNone(countOrShare: number | string): boolean {
  return Number.parseInt(`${countOrShare}`, 10) === 0;
}

function readReplicas(document: InputDocument, kind: string): number {
  const readCount = (...steps: readonly string[]): number | undefined => readField(document, ["spec", ...steps], COUNT);
  if (kind === "Pod") return 1;
  if (kind === "DaemonSet") return Number.POSITIVE_INFINITY;
  if (kind !== "Job" && kind !== "CronJob") return readCount("replicas") ?? 1;
  const job = kind === "Job" ? [] : ["jobTemplate", "spec"];
  const parallelism = readCount(...job, "parallelism") ?? 1;
  return Math.min(parallelism, readCount(...job, "completions") ?? parallelism);
}
