/** What the plugin asks the API server: everything of one call at the same time, over one connection. */

import type { KubeClient } from "../../kube/client.ts";
import { NAMESPACES } from "../../kube/core-types.ts";
import type { Call } from "../call.ts";
import { type Asked, arePodsAsked, isNodeAsked, isPodAsked, type PodFacts } from "../kubernetes.ts";
import { openKube } from "./access.ts";
import { toConfigWithPodCidrs } from "./node-cidrs.ts";
import { POLICY_PODS, readPod } from "./read-pod.ts";

/** Any namespace that is always there, and a pod of it that need not be: whether they may be read is all that STATUS wants to know. */
const PROBED = { namespace: "default", pod: "netplug-status" } as const;

/**
 * Asks for all that an ADD must know.
 *
 * @returns once the requests are on their way; waiting for the facts throws what {@link readPodFacts} throws, and nodeCidrMissing
 * @throws NetplugError invalidConfig, accessDenied
 */
export async function askForFacts(call: Call): Promise<Asked> {
  const { pod } = call.args;
  const asking = await ask(call, async (client, signal) => {
    const [podFacts, delegateConfig] = await Promise.all([
      pod !== undefined && isPodAsked(call) ? readPod(call, pod, client, signal) : undefined,
      isNodeAsked(call) ? toConfigWithPodCidrs(call, client, signal) : undefined,
    ]);
    return { pod: podFacts, delegateConfig };
  });
  return { facts: asking.answer };
}

/** The pod alone. @throws NetplugError podMismatch, malformedRequest, featureDisabled; invalidConfig, accessDenied, tryAgainLater */
export async function readPodFacts(call: Call): Promise<PodFacts | undefined> {
  const { pod } = call.args;
  if (pod === undefined) return undefined;
  const { answer } = await ask(call, (client, signal) => readPod(call, pod, client, signal));
  return await answer;
}

/** Whether an ADD could be told what it asks for. @throws NetplugError with the reason why not */
export async function probeKubernetes(call: Call): Promise<void> {
  const { answer } = await ask(call, async (client, signal) => {
    await Promise.all([
      ...(arePodsAsked(call) ? probePods(client, signal) : []),
      isNodeAsked(call) ? toConfigWithPodCidrs(call, client, signal) : undefined,
    ]);
  });
  await answer;
}

function probePods(client: KubeClient, signal: AbortSignal): readonly Promise<unknown>[] {
  return [
    client.get(NAMESPACES, { name: PROBED.namespace }, { signal }),
    client.get(POLICY_PODS, { namespace: PROBED.namespace, name: PROBED.pod }, { signal }),
  ];
}

/** With credentials in hand, a request is sent before its promise is there. */
async function ask<T>(
  call: Call,
  requests: (client: KubeClient, signal: AbortSignal) => Promise<T>,
): Promise<{ readonly answer: Promise<T> }> {
  const client = await openKube(call);
  await call.deadline.wait("credentials of the Kubernetes API", () => client.requester.login());
  const answer = call.deadline.wait("the Kubernetes API", (signal) => requests(client, signal));
  return { answer: answer.finally(() => client.close()) };
}
