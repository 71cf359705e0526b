/** Which driver a config asks for. */

import type { KubeClient } from "../kube/client.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Datastore } from "./datastore.ts";
import type { DatastoreConfig } from "./config/datastore-config.ts";
import { KUBERNETES_TRAITS } from "./traits.ts";
import type { EtcdPorts } from "./etcd/client/client.ts";
import { EtcdDatastore } from "./etcd/etcd-datastore.ts";
import type { KubernetesPorts } from "./kubernetes/open.ts";
import { LazyDatastore } from "./lazy-datastore.ts";

/** What drivers need of the outside world. */
export interface DatastorePorts extends EtcdPorts {
  /** Needed by roles that may be asked for the Kubernetes datastore. */
  readonly kubernetes?: Pick<KubernetesPorts, "processes" | "env" | "takeLock"> & {
    /** Gives a client that others use too; called by the first request. @default one of its own */
    readonly openClient?: (() => Promise<KubeClient>) | undefined;
  };
}

/** Opens the datastore. Nothing is connected yet: the first request does that. */
export function openDatastore(config: DatastoreConfig, ports: DatastorePorts): Datastore {
  switch (config.type) {
    case "etcdv3":
      return new EtcdDatastore(config.etcd, ports);
    case "kubernetes": {
      const { kubernetes, ...shared } = ports;
      if (kubernetes === undefined) throw new NetplugError("internal", "open datastore: there are no ports for the Kubernetes datastore");
      return new LazyDatastore({ type: "kubernetes", traits: KUBERNETES_TRAITS }, async () => {
        const [{ openKubernetes }, kubeClient] = await Promise.all([import("./kubernetes/open.ts"), kubernetes.openClient?.()]);
        return openKubernetes(config.kubernetes, { ...shared, ...kubernetes, kubeClient });
      });
    }
  }
}
