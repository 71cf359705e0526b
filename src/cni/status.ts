/** STATUS: whether an ADD could succeed now, found out by asking. */

import type { Kind } from "../api/resource.ts";
import { CLUSTER_INFORMATION, requireReady } from "../datastore/cluster-state.ts";
import type { CommitTarget, Query } from "../datastore/datastore.ts";
import { nextOrdinal } from "../ipam/block.ts";
import { IP_POOLS, IP_RESERVATIONS, IPAM_CONFIGURATION, momentOf, requireConfiguration } from "../ipam/cluster.ts";
import { answerOf, toFacts } from "../ipam/facts.ts";
import { reservedIn, toReservedSet } from "../ipam/reservations.ts";
import { readFacts } from "../ipam/transact/transact.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { parsePrefix } from "../lib/ip/prefix.ts";
import { type Call, hasOwnIpam, isMain } from "./call.ts";
import { resolveMtu } from "./config/node-facts.ts";
import { delegateStatus } from "./delegate/mod.ts";
import { delegateOf, requireIpam } from "./delegate/address-source.ts";
import { settle, throwFirstFailure } from "./failures.ts";
import type { Kernel } from "./link/kernel.ts";
import { arePodsLookedUp, isNodeLookedUp } from "./pod/facts.ts";
import { isNotedAsPermitted, noteAsPermitted } from "./status-note.ts";
import { transactPortsOf } from "./transact-ports.ts";

/** No pool gives this block. It is asked for to see whether blocks can be read: on Kubernetes that may be forbidden, or their CRD may be missing. */
const PROBED_BLOCK = parsePrefix("192.0.2.0/32");

/** A setting that ADDs make in each pod. */
const PROBED_SETTING = "ipv4/ip_forward";

/**
 * The datastore's state is the headline, everything else goes into the details: an administrator who locks the datastore expects to read that.
 *
 * @throws NetplugError notAvailable or degraded with the reason
 */
export async function status(call: Call): Promise<void> {
  const delegate = delegateOf(call);
  await orNotAvailable(async () => {
    requireIpam(call);
    throwFirstFailure(await Promise.all([requireDatastore, requireKubernetes, requireNode].map((require) => settle(() => require(call)))));
  });
  if (delegate !== undefined) await delegateStatus(delegate);
}

/**
 * Asks in two rounds: an API server that has just started forbids everything, and has then forbidden the first. On Kubernetes, where every question is
 * a request, what an administrator rarely changes is asked only when no STATUS of the last minute has asked.
 */
async function requireDatastore(call: Call): Promise<void> {
  const { readsOneSnapshot } = call.datastore.traits;
  const isAllAsked = readsOneSnapshot || !isNotedAsPermitted(call);
  await requireReadable(call, isAllAsked);
  const claimFault = await requireWritable(call, isAllAsked);
  if (isAllAsked && !readsOneSnapshot) noteAsPermitted(call);
  // Room in a block that it has is enough: a node that still gives addresses must not lose its pods.
  if (claimFault !== undefined && !(await canGiveAddress(call))) throw claimFault;
}

/** Reads what every ADD reads: it may be forbidden or damaged, or on Kubernetes a CRD may be missing. */
async function requireReadable(call: Call, isAllAsked: boolean): Promise<void> {
  const facts = await readFacts(transactPortsOf(call), queriesOf(call, isAllAsked));
  requireReady(answerOf(facts, CLUSTER_INFORMATION), "add");
  if (hasOwnIpam(call) && isAllAsked) requireConfiguration(facts);
}

/** Asks whether an ADD could write. @returns why the node can claim no further block; undefined: it can, or has no use for one */
async function requireWritable(call: Call, isAllAsked: boolean): Promise<NetplugError | undefined> {
  const { datastore, deadline, node } = call;
  const isOwnIpam = hasOwnIpam(call);
  if (!isOwnIpam && !isAllAsked) return undefined;
  const query: Query = isOwnIpam ? { type: "block", ref: { cidr: PROBED_BLOCK, node } } : CLUSTER_INFORMATION;
  const probe = { targets: targetsOf(call), isThorough: isAllAsked };
  return await deadline.wait("the datastore", (signal) => datastore.probeCommit(query, { ...probe, signal }));
}

/** What every ADD reads besides its pod and blocks. */
function queriesOf(call: Call, isAllAsked: boolean): readonly Query[] {
  const { plugin, config, node } = call;
  // An ADD that looks up its pod needs none.
  const profile = isMain(plugin) && !arePodsLookedUp(call) ? [getOf("Profile", config.name)] : [];
  if (!hasOwnIpam(call)) return [CLUSTER_INFORMATION, ...profile];
  const rarely = isAllAsked ? [IPAM_CONFIGURATION, IP_RESERVATIONS, getOf("Node", node)] : [];
  return [CLUSTER_INFORMATION, IP_POOLS, ...rarely, ...profile];
}

function getOf(kind: Kind, name: string): Query {
  return { type: "get", ref: { kind, name } };
}

/** What every ADD commits. */
function targetsOf(call: Call): readonly CommitTarget[] {
  if (!isMain(call.plugin)) return ["blocks"];
  return hasOwnIpam(call) ? ["blocks", "endpoints"] : ["endpoints"];
}

/** Whether a block of the node has an address that is neither in use nor reserved, nor cools down. A damaged block gives none. */
async function canGiveAddress({ datastore, deadline, node, host }: Call): Promise<boolean> {
  const queries = [IPAM_CONFIGURATION, IP_RESERVATIONS, { type: "blocks-of-node", node }] as const;
  const answers = await deadline.wait("the datastore", (signal) =>
    datastore.read(queries, { signal, mayLag: true, onDamage: () => {}, damageOf: "blocks" }),
  );
  const [, reservations, blocks] = answers;
  const reserved = toReservedSet(reservations);
  const moment = momentOf(toFacts(queries, answers), Math.floor(host.clock.now() / 1000));
  return blocks.some(({ value }) => nextOrdinal(value, moment, reservedIn(reserved, value.cidr)) !== undefined);
}

async function requireKubernetes(call: Call): Promise<void> {
  if (arePodsLookedUp(call) || isNodeLookedUp(call)) await (await import("./pod/ask.ts")).probeKubernetes(call);
}

function requireNode({ plugin, config, host: { files, kernel } }: Call): void {
  if (!isMain(plugin)) return;
  resolveMtu(config, files);
  requireRights(kernel);
  requireSettings(kernel);
}

/** Enters a network namespace as an ADD does. @throws {KernelError} */
function requireRights(kernel: Kernel): void {
  using netns = kernel.openNetns("/proc/thread-self/ns/net");
  kernel.openRouteSocket(netns)[Symbol.dispose]();
}

/** Opens a setting as an ADD does, and writes nothing into it, which leaves it as it is. @throws NetplugError kernelRefused */
function requireSettings(kernel: Kernel): void {
  try {
    kernel.writeSysctls([{ path: PROBED_SETTING, value: "" }]);
  } catch (cause) {
    throw new NetplugError("kernelRefused", `${messageOf(cause)}; mount /proc/sys writable for the runtime`, { cause });
  }
}

async function orNotAvailable(probe: () => Promise<void>): Promise<void> {
  try {
    await probe();
  } catch (cause) {
    throw new NetplugError("notAvailable", messageOf(cause), { cause, details: cause instanceof NetplugError ? cause.details : undefined });
  }
}
