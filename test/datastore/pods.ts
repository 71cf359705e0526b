/** For tests: pods that no kubelet knows, made and unmade without a program. */

import type { ApiServer } from "../support/servers/api-server.ts";
import { createPod, deletePod } from "../support/servers/kubernetes.ts";
import { annotationsOf } from "../support/servers/pod-records.ts";
import type { Container } from "./attachments.ts";

export interface Pods {
  /** A pod that a node has taken, with the container that an ADD is for. */
  create(name: string, node?: string): Promise<Container>;
  /** At once, as a kubelet does at the end. */
  delete(name: string): Promise<void>;
  /** What the pod's annotation of addresses says; undefined when there is none. */
  addressesOf(name: string): Promise<string | undefined>;
}

const NAMESPACE = "default";

export function podsOf(server: ApiServer): Pods {
  return {
    async create(name, node = "n1") {
      await createPod(server, { name, spec: { nodeName: node } });
      return { node, pod: name, id: `id-${name}` };
    },
    delete: (name) => deletePod(server, { namespace: NAMESPACE, name }),
    async addressesOf(name) {
      return (await annotationsOf(server, { namespace: NAMESPACE, name }))["cni.netplug.io/podIPs"];
    },
  };
}
