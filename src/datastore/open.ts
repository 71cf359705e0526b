/** Which driver a config asks for. */

import { NetplugError } from "../lib/errors.ts";
import type { Datastore } from "./datastore.ts";
import type { DatastoreConfig } from "./datastore-config.ts";
import { checkEtcdConfig, normaliseEndpoint } from "./datastore-config.ts";
import type { EtcdPorts } from "./etcd/client.ts";
import { EtcdDatastore } from "./etcd/etcd-datastore.ts";

/** What drivers need of the outside world. */
export type DatastorePorts = EtcdPorts;

/**
 * Opens the datastore. Nothing is connected yet: the first request does that.
 *
 * @throws NetplugError invalidConfig
 */
export function openDatastore(config: DatastoreConfig, ports: DatastorePorts): Datastore {
  switch (config.type) {
    case "etcdv3":
      checkEtcdConfig(config.etcd);
      return new EtcdDatastore({ ...config.etcd, endpoints: config.etcd.endpoints.map(normaliseEndpoint) }, ports);
    case "kubernetes":
      throw new NetplugError(
        "invalidConfig",
        'open datastore: got datastore_type "kubernetes", which comes with the Kubernetes datastore; use "etcdv3"',
      );
  }
}
