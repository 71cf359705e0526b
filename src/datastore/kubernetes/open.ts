/** Makes the Kubernetes driver of its settings. */

import { KubeClient } from "../../kube/client.ts";
import type { KubePorts } from "../../kube/requests/requester.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { KubernetesConfig } from "../config/datastore-config.ts";
import { KubernetesDatastore } from "./kubernetes-datastore.ts";
import { BlockHints, type HintPorts } from "./state/block-hints.ts";

/** What the driver needs of the outside world. */
export interface KubernetesPorts extends KubePorts {
  /** Needed where the config asks for a hint of the node's blocks, as the plugin's does, and that of `ipam adopt`. */
  readonly takeLock?: HintPorts["takeLock"] | undefined;
  /** One that exists already, with its connections. @default one of its own */
  readonly kubeClient?: KubeClient | undefined;
}

/** Permits what a CNI call does. */
const DEFAULT_ROLE = "netplug-cni";

/** Nothing is connected yet: the first request does that. */
export function openKubernetes(config: KubernetesConfig, ports: KubernetesPorts): KubernetesDatastore {
  const { hints, role = DEFAULT_ROLE, qps, burst, usesProxyVariables, ...settings } = config;
  const { clock, random, files, takeLock } = ports;
  if (hints !== undefined && takeLock === undefined) throw new NetplugError("internal", "open datastore: there is no lock for the hint");
  const client = ports.kubeClient ?? new KubeClient(settings, ports, { role, qps, burst, usesProxyVariables, protocol: "http2" });
  return new KubernetesDatastore({
    client,
    clock,
    random,
    hints: hints && takeLock && new BlockHints(hints, { clock, files, takeLock }),
  });
}
