/** What a pod and its namespace ask of address management. */

import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import { type AnnotatedPod, toPodText } from "../../endpoint/annotations/sources.ts";
import { NAMESPACES, PODS } from "../../kube/core-types.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { OpenKube } from "../io.ts";

/** A pod as an ADD sees it. */
export interface AskingPod extends AnnotatedPod {
  readonly namespaceLabels: Readonly<Record<string, string>>;
  readonly namespaceAnnotations: Readonly<Record<string, string>>;
  /** undefined: no certain pod is meant. */
  readonly uid: string | undefined;
  /** The one that it is bound to, if any. */
  readonly node: string | undefined;
  /** Those that an ADD has recorded of it; empty: none. */
  readonly recordedAddresses: string;
  /** The container that has these; empty: none. */
  readonly recordedContainer: string;
}

/** For the pod's name, where no certain one is meant. */
const ANY_POD = "*";

/** The namespace of a pod. */
export interface NamedNamespace {
  readonly name: string;
  /** Whether the command line names it; else it is that of the context. */
  readonly isChosen: boolean;
}

/**
 * Reads one, and its namespace.
 *
 * @param name undefined: one without annotations, which need not be there
 * @throws {CommandFailed} one that is not there, or that gets no address
 */
export async function readAskingPod(
  openKube: OpenKube,
  { name: namespace, isChosen }: NamedNamespace,
  name: string | undefined,
): Promise<AskingPod> {
  const client = await openKube();
  const [pod, around] = await Promise.all([
    name === undefined ? undefined : client.get(PODS, { namespace, name }),
    client.get(NAMESPACES, { name: namespace }),
  ]);
  if (around === undefined) {
    const hint = isChosen ? "" : "; it is that of the context, as no --namespace is given";
    throw new CommandFailed(`find namespace ${quote(namespace)}: there is none${hint}`);
  }
  const { labels: namespaceLabels = {}, annotations: namespaceAnnotations = {} } = around.metadata;
  const annotations = pod?.metadata.annotations ?? {};
  const place = { uid: pod?.metadata.uid, node: pod?.spec?.nodeName };
  const recorded = (key: string): string => annotations[`${ANNOTATION_PREFIX}${key}`] ?? "";
  const record = { recordedAddresses: recorded("podIPs"), recordedContainer: recorded("containerID") };
  const asking = { namespace, name: name ?? ANY_POD, annotations, namespaceLabels, namespaceAnnotations, ...place, ...record };
  if (name !== undefined && pod === undefined) throw new CommandFailed(`find ${toPodText(asking)}: there is none`);
  if (pod?.spec?.hostNetwork === true)
    throw new CommandFailed(
      `explain the addresses of ${toPodText(asking)}: it uses the host's network (hostNetwork: true), so it gets none`,
    );
  return asking;
}
