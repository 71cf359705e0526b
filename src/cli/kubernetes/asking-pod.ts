/** What a pod and its namespace ask of address management. */

import { toOwnLabels } from "../../api/kubernetes-pod.ts";
import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import { type AnnotatedPod, toPodText } from "../../endpoint/annotations/sources.ts";
import { NAMESPACES, type Pod, PODS } from "../../kube/core-types.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { isJsonObject, tryParseForeignJson } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import type { NamespaceManifest } from "../documents/namespaces.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { OpenKube } from "../io.ts";

/** A pod as an ADD sees it. */
export interface AskingPod extends AnnotatedPod {
  /** The pod's own. */
  readonly podLabels: Readonly<Record<string, string>>;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
  /** What messages call one that has no name yet, or of which none matters; its `name` is {@link ANY_POD} then. */
  readonly unnamed: string | undefined;
  /** Whether it is to come, by its manifest: then the one that has its name ends before. */
  readonly isPlanned: boolean;
  /** What of its manifest does something else than whoever wrote it may think. */
  readonly warnings: readonly string[];
  /** The one that makes it, by its manifest. */
  readonly workload: AskingWorkload | undefined;
  /** Of the one that is there; undefined: none is. */
  readonly uid: string | undefined;
  /** The one that it is bound to, if any. */
  readonly node: string | undefined;
  /** Those that an ADD has recorded of the one that is there; empty: none. */
  readonly recordedAddresses: string;
  /** The container that has these; empty: none. */
  readonly recordedContainer: string;
}

/** What a workload does with a pod that it has, when it makes another one in its place. */
export interface AskingWorkload {
  readonly kind: string;
  /** With its namespace. */
  readonly name: string;
  /** Whether it has more than one at once. */
  readonly hasSeveral: boolean;
  /** Whether that pod ends before the other one runs. */
  readonly isEndingFirst: boolean;
}

/** For the pod's name, where no certain one is meant: nobody gives an entry of `ipAddrsByPod` this one. Messages never show it. */
export const ANY_POD = "\0";

/** The namespace of a pod. */
export interface NamedNamespace {
  readonly name: string;
  /** Whether somebody names it; else it is that of the context. */
  readonly isChosen: boolean;
}

/** One that may be applied together with the pod. */
export interface PlannedNamespace extends NamedNamespace {
  /** What is applied of it, one after the other. */
  readonly manifests: readonly NamespaceManifest[];
  /** What would make the pod, where that is applied before; undefined: it comes after. */
  readonly after: string | undefined;
}

/**
 * Reads one that is there, and its namespace.
 *
 * @param name undefined: one without annotations and labels, which need not be there
 * @throws {CommandFailed} one that is not there, or that gets no address, and for one that is none yet a namespace that is being deleted
 */
export async function readAskingPod(openKube: OpenKube, namespace: NamedNamespace, name: string | undefined): Promise<AskingPod> {
  const wanted = { name, isToCome: name === undefined };
  const { pod, isThere: _, ...around } = await readAround(openKube, { ...namespace, manifests: [] }, wanted);
  const id = { namespace: namespace.name, name: name ?? ANY_POD };
  if (name !== undefined && pod === undefined) throw new CommandFailed(`find ${toPodText(id)}: there is none`);
  if (pod?.spec?.hostNetwork === true) throw withoutAddress(toPodText(id));
  return {
    ...id,
    ...around,
    annotations: pod?.metadata.annotations ?? {},
    podLabels: toOwnLabels(pod?.metadata.labels ?? {}),
    unnamed: name === undefined ? `a pod of namespace ${quote(namespace.name)}` : undefined,
    isPlanned: false,
    warnings: [],
    workload: undefined,
    node: pod?.spec?.nodeName,
    ...toRecord(pod),
  };
}

/**
 * Adds to a pod that is to come what is known of its namespace, and of the pod that has its name.
 *
 * @throws {CommandFailed} for a namespace that is neither there nor in the manifest, or that is being deleted
 */
export async function readPlaceOf(openKube: OpenKube, planned: AskingPod, namespace: PlannedNamespace): Promise<AskingPod> {
  const wanted = { name: planned.unnamed === undefined ? planned.name : undefined, isToCome: true };
  const { pod, isThere, ...around } = await readAround(openKube, namespace, wanted);
  const { name, after } = namespace;
  const refused = `kubectl apply refuses ${after ?? ""}, as namespace ${quote(name)}, which is not there yet, comes after it`;
  const late = isThere || after === undefined ? [] : [`${refused}: put the namespace before it, or apply the manifest twice`];
  return { ...planned, ...around, ...toRecord(pod), warnings: [...planned.warnings, ...late] };
}

/** For a pod that has the host's network. */
export function withoutAddress(pod: string): CommandFailed {
  return new CommandFailed(`explain the addresses of ${pod}: it uses the host's network (hostNetwork: true), so it gets none`);
}

async function readAround(
  openKube: OpenKube,
  { name: namespace, isChosen, manifests }: Omit<PlannedNamespace, "after">,
  { name, isToCome }: { readonly name: string | undefined; readonly isToCome: boolean },
): Promise<Pick<AskingPod, "namespaceLabels" | "namespaceAnnotations"> & { readonly pod: Pod | undefined; readonly isThere: boolean }> {
  const client = await openKube();
  const [pod, around] = await Promise.all([
    name === undefined ? undefined : client.get(PODS, { namespace, name }),
    client.get(NAMESPACES, { name: namespace }),
  ]);
  const hint = isChosen ? "" : "; it is that of the context, as no --namespace is given";
  if (around === undefined && manifests.length === 0) throw new CommandFailed(`find namespace ${quote(namespace)}: there is none${hint}`);
  if (isToCome && around?.metadata.deletionTimestamp !== undefined)
    throw new CommandFailed(`use namespace ${quote(namespace)}: it is being deleted, so the API server refuses new pods in it${hint}`);
  return {
    pod,
    isThere: around !== undefined,
    // With the label that the API server gives each.
    namespaceLabels: { ...applyTexts("labels", around, manifests), "kubernetes.io/metadata.name": namespace },
    namespaceAnnotations: applyTexts("annotations", around, manifests),
  };
}

/** As `kubectl apply` merges them: what it has applied before, and the manifest has no longer, is removed. */
function applyTexts(
  field: "labels" | "annotations",
  around: KubeObject | undefined,
  manifests: readonly NamespaceManifest[],
): Readonly<Record<string, string>> {
  const lastApplied = tryParseForeignJson(around?.metadata.annotations?.["kubectl.kubernetes.io/last-applied-configuration"] ?? "");
  const lastTexts = isJsonObject(lastApplied) && isJsonObject(lastApplied["metadata"]) ? lastApplied["metadata"][field] : undefined;
  let before: object = isJsonObject(lastTexts) ? lastTexts : {};
  let texts = Object.entries<string | undefined>(around?.metadata[field] ?? {});
  for (const { [field]: own } of manifests) {
    const previous = before;
    const kept = texts.filter(([name]) => !Object.hasOwn(previous, name) && !Object.hasOwn(own, name));
    texts = [...kept, ...Object.entries(own)];
    before = own;
  }
  return Object.fromEntries(texts.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function toRecord(pod: Pod | undefined): Pick<AskingPod, "uid" | "recordedAddresses" | "recordedContainer"> {
  const recorded = (key: string): string => pod?.metadata.annotations?.[`${ANNOTATION_PREFIX}${key}`] ?? "";
  return { uid: pod?.metadata.uid, recordedAddresses: recorded("podIPs"), recordedContainer: recorded("containerID") };
}
