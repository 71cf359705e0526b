/** What the plugin asks the API server: everything of one call at the same time, over one connection. */

import type { PodIdentity } from "../../endpoint/names.ts";
import { requireSamePod } from "../../endpoint/same-pod.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NAMESPACES, PODS } from "../../kube/core-types.ts";
import { type Call, isMain } from "../call.ts";
import {
  type Asked,
  arePodsLookedUp,
  type CallOfPod,
  isNodeLookedUp,
  isPodLookedUp,
  type KubernetesFacts,
  type PodFacts,
} from "./facts.ts";
import { toConfigWithPodCidrs } from "./node-cidrs.ts";
import { type PodView, readNamespace, readPod, toPodFacts, toPodView } from "./read-pod.ts";

/** A namespace that always exists, and a pod that need not: STATUS only asks whether they may be read. */
const PROBED = { namespace: "default", pod: "netplug-status" } as const;

/**
 * Asks for all that an ADD must know.
 *
 * @param span of the ledger; ends with the answers, or with this if they cannot be asked for
 * @returns once the requests are on their way; waiting for the facts throws accessDenied, tryAgainLater, invalidConfig, nodeCidrMissing
 * @throws NetplugError invalidConfig, accessDenied
 */
export async function askForFacts(call: Call, span: Disposable): Promise<Asked> {
  const endSpan = (): void => span[Symbol.dispose]();
  try {
    const asked = await ask(call, async (client, signal): Promise<KubernetesFacts> => {
      const [toFacts, delegateConfig] = await Promise.all([
        isPodLookedUp(call) ? askForPod(call, client, signal) : () => undefined,
        isNodeLookedUp(call) ? toConfigWithPodCidrs(call, client, signal) : undefined,
      ]);
      return { toPodFacts: toFacts, delegateConfig };
    });
    // A failure is thrown where the facts are awaited.
    asked.facts.then(endSpan, endSpan);
    return asked;
  } catch (thrown) {
    endSpan();
    throw thrown;
  }
}

/** Reads pod and namespace. The main plugin on the Kubernetes datastore gets the pod from the datastore's reads instead. */
async function askForPod(call: CallOfPod, client: KubeClient, signal: AbortSignal): Promise<KubernetesFacts["toPodFacts"]> {
  const { pod: identity } = call.args;
  const isRead = !isMain(call.plugin) || !call.datastore.traits.recordsArePods;
  const [pod, namespace] = await Promise.all([
    isRead ? readOwnPod(call, client, signal) : undefined,
    readNamespace(client, identity, signal),
  ]);
  if (isRead) return () => toPodFacts(call, identity, pod, namespace);
  return async (endpoint) => {
    if (endpoint === undefined) await requireOwnNetwork(call, client, identity);
    const view = endpoint === undefined ? undefined : toPodView(endpoint, identity);
    if (isBoundElsewhere(call, view)) await call.deadline.wait("the Kubernetes API", (wait) => requireOwnName(call, view, client, wait));
    return toPodFacts(call, identity, view, namespace);
  };
}

/** As {@link readPod}, and makes sure that it is on this node. @throws NetplugError podMismatch */
async function readOwnPod(call: CallOfPod, client: KubeClient, signal: AbortSignal): Promise<PodView | undefined> {
  const pod = await readPod(client, call.args.pod, signal);
  if (isBoundElsewhere(call, pod)) await requireOwnName(call, pod, client, signal);
  return pod;
}

type BoundPod = PodView & { readonly boundTo: string };

function isBoundElsewhere({ node }: Call, pod: PodView | undefined): pod is BoundPod {
  const { boundTo = "" } = pod ?? {};
  return boundTo !== "" && boundTo !== node;
}

/** Loads what is needed only where the names differ. That the pod is another one is said first. @throws NetplugError podMismatch */
async function requireOwnName(call: CallOfPod, pod: BoundPod, client: KubeClient, signal: AbortSignal): Promise<void> {
  requireSamePod(pod, call.args.pod);
  await (await import("./pod-node.ts")).requireOwnName(call, pod.boundTo, client, signal);
}

/** A pod without a network of its own has no endpoint, as one that is not there has none. @throws NetplugError podMismatch */
async function requireOwnNetwork({ deadline }: Call, client: KubeClient, identity: PodIdentity): Promise<void> {
  await deadline.wait("the Kubernetes API", (signal) => readPod(client, identity, signal));
}

/** Pod and namespace, without what else an ADD must know. @throws NetplugError podMismatch, malformedRequest, featureDisabled; invalidConfig, accessDenied, tryAgainLater */
export async function readPodFacts(call: CallOfPod): Promise<PodFacts> {
  const { pod: identity } = call.args;
  const { facts } = await ask(call, (client, signal) =>
    Promise.all([readPod(client, identity, signal), readNamespace(client, identity, signal)]),
  );
  return toPodFacts(call, identity, ...(await facts));
}

/** Makes sure that an ADD could read what it needs. @throws NetplugError with the reason why not */
export async function probeKubernetes(call: Call): Promise<void> {
  const { facts } = await ask(call, async (client, signal) => {
    await Promise.all([
      ...(arePodsLookedUp(call) ? probePods(client, signal) : []),
      isNodeLookedUp(call) ? toConfigWithPodCidrs(call, client, signal) : undefined,
    ]);
  });
  await facts;
}

function probePods(client: KubeClient, signal: AbortSignal): readonly Promise<unknown>[] {
  // What the server answers does not matter, so it need not ask its etcd.
  const options = { signal, resourceVersion: "0" };
  return [
    client.get(NAMESPACES, { name: PROBED.namespace }, options),
    client.get(PODS, { namespace: PROBED.namespace, name: PROBED.pod }, options),
  ];
}

/**
 * Sends the requests before it returns, once there are credentials. Closes the client afterwards, unless it is the datastore's too.
 */
async function ask<T>(call: Call, requests: (client: KubeClient, signal: AbortSignal) => Promise<T>): Promise<Asked<T>> {
  const client = await call.openKube();
  await call.deadline.wait("credentials of the Kubernetes API", () => client.requester.login());
  const facts = call.deadline.wait("the Kubernetes API", (signal) => requests(client, signal));
  return { facts: call.datastore.type === "kubernetes" ? facts : facts.finally(() => client.close()) };
}
