/** Endpoints into the status of their pods: each bound to the pod that was looked at, by its UID. */

import type { Resource } from "../../../api/resource.ts";
import type { WorkloadEndpointSpec } from "../../../api/workload-endpoint.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { PODS } from "../../../kube/core-types.ts";
import { isKubeError, type KubeError } from "../../../kube/kube-error.ts";
import { isLabelValue } from "../../../lib/characters.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { quote } from "../../../lib/quote.ts";
import type { RequestOptions, ResourceRef, Revision } from "../../datastore.ts";
import { parseEndpointName } from "../objects/endpoint-name.ts";
import type { EndpointPlace } from "../objects/endpoint-name.ts";
import type { EndpointState } from "../objects/endpoint-state.ts";
import { fromRevision, stateOf, toClearingPatch, toRecordingPatch, toRevision, toState } from "../objects/endpoint-state.ts";

/** @returns the new revision; undefined when it is not as expected */
type Run = (client: KubeClient, options: RequestOptions) => Promise<Revision | undefined>;

interface PodPlace extends EndpointPlace {
  readonly namespace: string;
}

const STATUS = { subresource: "status" } as const;

/** Whether the endpoint has no address: a DEL writes such a record to end an ADD that has not recorded anything yet. */
export function isWithoutAddresses({ spec }: Resource): boolean {
  const { ipNetworks = [] } = spec as WorkloadEndpointSpec;
  return ipNetworks.length === 0;
}

/**
 * Records an endpoint. An endpoint without addresses is recorded so that a late request of a killed ADD fails; if we may not write, that
 * request may not either, so this is no failure.
 *
 * @param resource with the UID of the pod that was looked at, where the caller knows it
 * @param revision what was read; undefined: there was no such pod
 * @throws NetplugError podMismatch for an endpoint without a pod, malformedRequest for an interface whose name cannot be recorded
 */
export function writeEndpoint(ref: ResourceRef, resource: Resource, revision: Revision | undefined): Run {
  const place = requirePod(ref, resource);
  const before = revision === undefined ? undefined : fromRevision(revision);
  const uid = resource.metadata.uid ?? before?.uid;
  if (uid === undefined || (before !== undefined && before.uid !== uid)) throw podGone(place);
  const recording: Recording = { place, before, after: toState(uid, resource) };
  const written = toRevision(recording.after);
  return async (client, options) => {
    if (revision === written) return written;
    const outcome = await record(recording, client, options);
    if (outcome === "recorded") return written;
    if (outcome === "changed") return undefined;
    if (isWithoutAddresses(resource)) return outcome === "gone" ? undefined : toRevision(outcome.known);
    throw outcome === "gone" ? podGone(place) : outcome.failure;
  };
}

/** What is to be written into a pod. */
interface Recording {
  readonly place: PodPlace;
  /** What was read; undefined: nothing, and it is looked up. */
  readonly before: EndpointState | undefined;
  readonly after: EndpointState;
}

/** `gone`: the pod that was looked at; `changed`: by another call. Else we may not write, or something in the cluster forbids the write. */
type RecordingOutcome = "recorded" | "gone" | "changed" | { readonly failure: KubeError; readonly known: EndpointState };

async function record({ place, before, after }: Recording, client: KubeClient, options: RequestOptions): Promise<RecordingOutcome> {
  const known = before ?? (await readState(client, place, options));
  if (known?.uid !== after.uid) return "gone";
  try {
    const operations = toRecordingPatch(known, after, place.ifName);
    await client.patch(PODS, { namespace: place.namespace, name: place.pod }, { type: "json", operations }, { ...options, ...STATUS });
    return "recorded";
  } catch (thrown) {
    if (isKubeError(thrown, "notFound")) return "gone";
    if (isKubeError(thrown, "forbidden")) return { failure: thrown, known };
    if (!isKubeError(thrown, "invalid")) throw thrown;
    // Either a test of the patch failed, or something in the cluster forbids the write: the stored state tells which.
    const found = await readState(client, place, options);
    if (found?.uid !== after.uid) return "gone";
    const isChanged = found.containerID !== known.containerID || found.isAnnotated !== known.isAnnotated;
    return isChanged ? "changed" : { failure: thrown, known };
  }
}

/** Removes the addresses from an endpoint; without a pod it is gone already. Without a revision: also another container's addresses. */
export function clearEndpoint(ref: ResourceRef, revision: Revision | undefined): Run {
  const place = toPlace(ref);
  const gone = toRevision({ uid: "", containerID: undefined, podIPs: "", isAnnotated: false });
  if (place === undefined) return async () => gone;
  const name = { namespace: place.namespace, name: place.pod };
  return async (client, options) => {
    const state = revision === undefined ? await readState(client, place, options) : fromRevision(revision);
    // Nothing was recorded, or it was cleared before.
    if (state === undefined || state.podIPs === "") return revision ?? gone;
    try {
      const operations = toClearingPatch(state, place.ifName);
      await client.patch(PODS, name, { type: "json", operations }, { ...options, ...STATUS });
      return toRevision({ ...state, podIPs: "" });
    } catch (thrown) {
      if (isKubeError(thrown, "notFound")) return gone;
      if (!isKubeError(thrown, "invalid")) throw thrown;
      // Either the pod was created again, or another container has it, or the cluster forbids the write.
      const found = await readState(client, place, options);
      if (found?.uid === state.uid && found.containerID === state.containerID) throw thrown;
      return undefined;
    }
  };
}

async function readState(
  client: KubeClient,
  { namespace, pod, ifName }: PodPlace,
  options: RequestOptions,
): Promise<EndpointState | undefined> {
  const found = await client.get(PODS, { namespace, name: pod }, options);
  return found === undefined ? undefined : stateOf(found, ifName);
}

function toPlace({ namespace, name }: ResourceRef): PodPlace | undefined {
  const place = parseEndpointName(name);
  return place === undefined || namespace === undefined ? undefined : { ...place, namespace };
}

function requirePod(ref: ResourceRef, { spec }: Resource): PodPlace {
  const place = toPlace(ref);
  if (place === undefined || (spec as WorkloadEndpointSpec).orchestrator !== "k8s") {
    throw new NetplugError(
      "podMismatch",
      `record endpoint ${quote(ref.name)}: the Kubernetes datastore keeps endpoints of pods, and the runtime names no pod (K8S_POD_NAME)`,
    );
  }
  // It becomes a part of the keys of annotations.
  if (!isLabelValue(place.ifName)) {
    throw new NetplugError(
      "malformedRequest",
      `record interface ${quote(place.ifName)}: want a name of letters, digits, "-", "_" and "." that begins and ends with a letter or digit`,
    );
  }
  return place;
}

function podGone({ namespace, pod }: PodPlace): NetplugError {
  return new NetplugError(
    "podMismatch",
    `record endpoint of pod ${quote(`${namespace}/${pod}`)}: it was deleted, or deleted and made anew`,
  );
}
