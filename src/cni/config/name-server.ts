/** Messages that somebody was waited for too long: they say where that was. Loaded only by calls that fail. */

import { DEFAULT_ETCD_ENDPOINT, type DatastoreConfig } from "../../datastore/config/datastore-config.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeSettings } from "../../kube/access/access.ts";
import { resolveDatastore, resolveKubeSettings } from "./datastore-environment.ts";
import type { NetworkConfig } from "./network-config.ts";

const WAITED = /^wait for (the datastore|the Kubernetes API): /;

/** What was thrown, with the server in it where an operation's time ended, of whose requests none had failed by itself. */
export function nameServer(thrown: unknown, config: NetworkConfig, env: Readonly<Record<string, string | undefined>>): unknown {
  const whom = thrown instanceof NetplugError && WAITED.exec(thrown.message)?.[1];
  if (!whom) return thrown;
  const where = whom === "the datastore" ? placeOf(resolveDatastore(config, env)) : placeOfApi(resolveKubeSettings(config, env));
  return thrown.reworded(thrown.message.replace(whom, () => `${whom} ${where}`));
}

function placeOf(config: DatastoreConfig): string {
  if (config.type === "kubernetes") return placeOfApi(config.kubernetes);
  const { endpoints, discoverySrv } = config.etcd;
  if (discoverySrv !== undefined) return `of etcd_discovery_srv ${quote(discoverySrv)}`;
  return `at ${endpoints.length === 0 ? DEFAULT_ETCD_ENDPOINT : endpoints.join(", ")}`;
}

/** An API root replaces the server of a kubeconfig. */
function placeOfApi({ kubeconfig, apiRoot }: KubeSettings): string {
  if (apiRoot !== undefined) return `at ${apiRoot}`;
  return kubeconfig === undefined ? "of this cluster" : `of kubeconfig ${quote(kubeconfig)}`;
}
