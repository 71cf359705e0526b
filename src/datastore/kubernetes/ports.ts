/** What the driver is given. */

import type { KubeClient } from "../../kube/client.ts";
import type { KubePorts } from "../../kube/requester.ts";
import type { HintPorts } from "./state/block-hints.ts";

/** What the driver on the Kubernetes API needs of the outside world. */
export interface KubernetesPorts extends KubePorts, Pick<HintPorts, "takeLock"> {
  /** One that exists already, with its connections. */
  readonly kubeClient?: KubeClient | undefined;
}
