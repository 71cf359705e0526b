/** Makes the Kubernetes driver of its settings. */

import { KubeClient } from "../../kube/client.ts";
import type { KubernetesConfig } from "../config/datastore-config.ts";
import { KubernetesDatastore } from "./kubernetes-datastore.ts";
import type { KubernetesPorts } from "./ports.ts";
import { BlockHints } from "./state/block-hints.ts";

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
