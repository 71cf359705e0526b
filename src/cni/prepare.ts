/** From a network config that was read to a {@link Call}: everything that must be known before the first request. */

import { isPartlyPlain, onNode } from "../datastore/config/datastore-config.ts";
import type { Datastore } from "../datastore/datastore.ts";
import type { KubeClient } from "../kube/client.ts";
import { NetplugError, orNothing } from "../lib/errors.ts";
import { sha1Hex } from "../lib/hash.ts";
import { quote } from "../lib/quote.ts";
import { type Call, isMain, type LocalCall } from "./call.ts";
import { resolveDatastore, resolveKubeSettings } from "./config/datastore-environment.ts";
import type { NetworkConfig } from "./config/network-config.ts";
import { resolveNodeName } from "./config/node-facts.ts";
import type { Host } from "./host.ts";
import { openPrefetchFile } from "./prefetch-file.ts";
import { readCniArgs } from "./protocol/cni-args.ts";
import type { CniVerb } from "./protocol/versions.ts";

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

/** A call of which only environment and network config were read. */
export type ReadCall = Omit<LocalCall, "args" | "argsFault">;

/**
 * Finds node, pod and datastore of the call, and opens the datastore. When that fails, a DEL does its local work before it fails too; a DEL
 * whose `CNI_ARGS` cannot be read goes on without them.
 *
 * @param fault what is wrong in the network config and was kept for the end of a DEL
 * @throws NetplugError malformedRequest, invalidConfig, ioFailure
 */
export async function prepare(verb: CniVerb, read: ReadCall, fault: NetplugError | undefined): Promise<Call> {
  const { args, fault: argsFault } = readCniArgs(read.environment);
  const isFaultyDel = verb === "DEL" && argsFault !== undefined;
  const readArgs = isFaultyDel ? (await import("./protocol/del-args.ts")).readDelArgs(read.environment) : { args, argsFault };
  const local = { ...read, ...readArgs };
  try {
    if (fault !== undefined) throw fault;
    if (argsFault !== undefined && verb !== "DEL") throw argsFault;
    return await toCall(verb, local);
  } catch (thrown) {
    if (verb === "DEL") await (await import("./del/del-locally.ts")).delLocally(local, thrown);
    throw thrown;
  }
}

async function toCall(verb: CniVerb, local: LocalCall): Promise<Call> {
  const { plugin, config, host, log } = local;
  const datastoreConfig = resolveDatastore(config, host.env);
  if (verb !== "STATUS" && isPartlyPlain(datastoreConfig))
    (await import("../datastore/config/plaintext-endpoints.ts")).warnOfPlaintext(datastoreConfig.etcd, log.warning);
  if (isMain(plugin) && verb !== "DEL" && verb !== "GC") requireOwnType(config);
  const node = resolveNodeName(config, host.files, () => host.hostName());
  const openKube = kubeOpenerOf(verb, config, host, datastoreConfig.type);
  const prefetch = openPrefetchFile(host.files, `${config.runFolder}/next-add.${config.name}.json`);
  const datastore = host.openDatastore(onNode(datastoreConfig, node, config.runFolder), openKube);
  const datastoreKey = (): string => sha1Hex(JSON.stringify(datastoreConfig, withoutSecrets));
  const workCount = orNothing(() => host.countWork(config.ipamLockFile));
  return { ...local, node, prefetch, workCount, openKube, datastore, datastoreKey };
}

/** What gives a call its one client. */
function kubeOpenerOf(verb: CniVerb, config: NetworkConfig, host: Host, datastore: Datastore["type"]): () => Promise<KubeClient> {
  let opening: Promise<KubeClient> | undefined;
  const { qps = verb === "GC" ? GC_QPS : undefined, burst } = config;
  const options = { qps, burst, protocol: "http2", role: ROLES[datastore], renewal: RENEWAL } as const;
  return () => (opening ??= host.openKube(resolveKubeSettings(config, host.env), options));
}

/** For `JSON.stringify`: the access depends on the user, not on its current password. */
function withoutSecrets(key: string, value: unknown): unknown {
  return key === "password" || key === "token" ? undefined : value;
}

/** Refuses the config of another main plugin, whose keys may mean something else. */
function requireOwnType({ type }: NetworkConfig): void {
  if (type === undefined || type === "netplug") return;
  throw new NetplugError("invalidConfig", `read "type": got ${quote(type)}, want "netplug"`);
}
