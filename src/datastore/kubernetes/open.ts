/** Makes the Kubernetes driver of its settings. */

import { KubeClient } from "../../kube/client.ts";
import type { KubePorts } from "../../kube/requests/requester.ts";
import type { KubernetesConfig } from "../config/datastore-config.ts";
import { KubernetesDatastore } from "./kubernetes-datastore.ts";
import { BlockHints, type HintPorts } from "./state/block-hints.ts";

/** What the driver needs of the outside world. */
export interface KubernetesPorts extends KubePorts, Pick<HintPorts, "takeLock"> {
  /** One that exists already, with its connections. @default one of its own */
  readonly kubeClient?: KubeClient | undefined;
}

/** Permits what a CNI call does. */
const DEFAULT_ROLE = "netplug-cni";

/** Nothing is connected yet: the first request does that. */
export function openKubernetes(config: KubernetesConfig, ports: KubernetesPorts): KubernetesDatastore {
  const { hints, role = DEFAULT_ROLE, qps, burst, usesProxyVariables, ...settings } = config;
  const { clock, random } = ports;
  const client = ports.kubeClient ?? new KubeClient(settings, ports, { role, qps, burst, usesProxyVariables, protocol: "http2" });
  return new KubernetesDatastore({
    client,
    clock,
    random,
    hints: hints === undefined ? undefined : new BlockHints(hints, ports),
  });
}
