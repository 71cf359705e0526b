/** Warns of a network config that makes the plugin look in other places than those where running pods are recorded, or among those of another node. */

import { isJsonObject, tryParseForeignJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";

/** The keys that say where addresses are recorded. */
const KEYS = ["name", "nodename", "datastore_type", "ipam.type"] as const;

type Places = Readonly<Record<(typeof KEYS)[number], unknown>>;

/**
 * Names the keys, never what they hold.
 *
 * @param before the config that is replaced
 */
export function warnOfMoves(before: string, after: string, log: Log): void {
  const [was, is] = [placesIn(before), placesIn(after)];
  if (was === undefined || is === undefined) return;
  // Without a name in the config the plugin finds one on the node, which may be the same.
  const isMoved = (key: keyof Places): boolean => was[key] !== undefined && is[key] !== undefined && was[key] !== is[key];
  // What netplug-ipam has given is found in the datastore, whoever is asked now.
  const keys = KEYS.filter((key) => isMoved(key) && was[key] !== "netplug-ipam");
  if (keys.length === 0) return;
  const want = "drain the node before, unless docs/moving.md has steps for this change; afterwards look with netplugctl ipam check";
  log.warning("the network config changes what addresses are recorded under: those of pods that run now may stay recorded", {
    keys,
    want,
  });
}

/**
 * Warns of a name that is not Kubernetes' for this node: every node gets the same template, and among nodes of one name GC takes the addresses
 * of one for what another one has left.
 *
 * @param nodeName undefined when nothing says it
 */
export function warnOfNodeName(config: string, nodeName: string | undefined, log: Log): void {
  const { nodename } = placesIn(config) ?? {};
  if (nodeName === undefined || nodename === undefined || nodename === "" || nodename === nodeName) return;
  const want = '"nodename": "__KUBERNETES_NODE_NAME__", or none';
  log.warning("the network config names another node than this one: if other nodes have this name too, GC releases addresses in use", {
    want,
  });
}

/** @returns undefined when the config is not one of our plugin */
function placesIn(text: string): Places | undefined {
  const document = tryParseForeignJson(text);
  if (!isJsonObject(document)) return undefined;
  const plugins: readonly unknown[] = Array.isArray(document["plugins"]) ? document["plugins"] : [document];
  const ours = plugins.filter(isJsonObject).find(({ type }) => type === "netplug");
  if (ours === undefined) return undefined;
  const { nodename, datastore_type: datastoreType = "etcdv3", ipam } = ours;
  return { name: document["name"], nodename, datastore_type: datastoreType, "ipam.type": isJsonObject(ipam) ? ipam["type"] : undefined };
}
