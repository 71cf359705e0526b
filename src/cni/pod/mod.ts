/** The way to the Kubernetes API, loaded on the first use. */

import type { Datastore } from "../../datastore/datastore.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Call } from "../call.ts";
import { resolveKubeSettings } from "../config/datastore-environment.ts";
import type { Host } from "../host.ts";
import { type Asked, isNodeLookedUp, isPodLookedUp } from "./facts.ts";
import type { NetworkConfig } from "../config/network-config.ts";
import type { CniVerb } from "../protocol/versions.ts";

/** Roles of `manifests/`, for messages. */
const ROLES = { etcdv3: "netplug-cni-readonly", kubernetes: "netplug-cni", memory: undefined } as const;

/** Ends messages about an expired token. */
const RENEWAL = 'renew it: see whether "netplug install-cni" runs on this node';

/**
 * Requests a second of a GC whose config has no `qps`. A runtime runs no other call at the same time: so the node sends no more than
 * these, and starting pods wait for the GC.
 *
 * @see CNI SPEC 1.1.0, section "Lifecycle & Ordering"
 */
const GC_QPS = 50;

/** What gives a call its one client. */
export function kubeOpenerOf(verb: CniVerb, config: NetworkConfig, host: Host, datastore: Datastore["type"]): () => Promise<KubeClient> {
  let opening: Promise<KubeClient> | undefined;
  const { qps = verb === "GC" ? GC_QPS : undefined, burst } = config;
  const options = { qps, burst, protocol: "http2", role: ROLES[datastore], renewal: RENEWAL } as const;
  return () => (opening ??= host.openKube(resolveKubeSettings(config, host.env), options));
}

/**
 * Asks for all that an ADD must know; resolves when the requests are on their way, so that the caller can use the time.
 *
 * @returns undefined when there is nothing to ask for
 * @throws NetplugError invalidConfig, accessDenied when it cannot be asked at all
 */
export async function askKubernetes(call: Call): Promise<Asked | undefined> {
  if (!isPodLookedUp(call) && !isNodeLookedUp(call)) return undefined;
  const span = call.ledger.phase("kubernetes");
  return await (await import("./ask.ts")).askForFacts(call, span);
}
