/** `ipam adopt`: allocates what interfaces on this host have and the datastore does not know, as after a restore. */

import type { AllocationOwner, AttachmentId } from "../../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import { type DatastoreConfig, onNode } from "../../../datastore/config/datastore-config.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { isNodeName, NODE_NAME } from "../../../endpoint/names.ts";
import { type Adoption, adoptAddress, giveBackAddress } from "../../../ipam/admin/adopt.ts";
import { type Inventory, takeInventory } from "../../../ipam/admin/check/inventory.ts";
import { isManagedElsewhere } from "../../../ipam/admin/endpoints/managed-elsewhere.ts";
import { isSameAttachment } from "../../../ipam/block.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote, quoteValue } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT, UsageError } from "../../failures/failure.ts";
import { toCommandLine } from "../../failures/suggested-commands.ts";
import type { HostAddress } from "../../host/host-addresses.ts";
import { type Cli, note, say } from "../../io.ts";
import { type AdoptFlags, requireOwnName } from "./adopt-name.ts";
import { withDamageNamed } from "./damaged-block.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** Where the plugin keeps its notes, unless the network config names another `ipam_lock_file`. */
const RUN_FOLDER = "/var/run/netplug";

/**
 * Fails when an interface has an address that cannot be its own, or may have one and that cannot be told.
 *
 * @throws {UsageError} for what no node is called
 * @throws {CommandFailed} for what this one was not called so far
 */
export async function ipamAdopt(cli: Cli, flags: AdoptFlags): Promise<number> {
  const { node, runDir = RUN_FOLDER } = flags;
  requireNames(flags);
  let unread = 0;
  const found = await cli.io.readHostAddresses((text) => {
    unread++;
    note(cli, `${text}; end the container that its name says, or remove it if there is none`);
  });
  const work = async (datastore: Datastore): Promise<number> => {
    const inventory = await takeInventory(datastore);
    if (found.length > 0) await requireOwnName(cli, flags, found, inventory);
    // On Kubernetes the plugin finds its blocks by the hint: with this it is written anew. A damaged block matters only to its own addresses.
    await datastore.read([{ type: "blocks-of-node", node }], { onDamage: () => {} });
    const counts = { adopted: 0, had: 0, refused: 0, elsewhere: 0 };
    const adoptions: HostAddress[] = [];
    for (const [at, one] of found.entries()) {
      const end = await adopt(cli, datastore, one, { flags, inventory });
      counts[end]++;
      if (end === "adopted") adoptions.push(one);
      cli.io.progress?.tell("done", `looked at ${at + 1} of ${found.length} addresses`);
    }
    if (adoptions.length > 0) counts.adopted -= await giveBack(cli, datastore, adoptions, node);
    const { adopted, had, refused, elsewhere } = counts;
    const others = refused === 0 ? "" : `; ${refused} cannot be: recreate their workloads`;
    const nothing = found.length + unread === 0 ? "; no interface here has an address of netplug" : "";
    say(cli, `allocated ${adopted} of ${found.length - elsewhere} addresses in use on this host, ${had} already were${others}${nothing}`);
    return refused + unread === 0 ? EXIT.done : EXIT.failed;
  };
  return await withDatastore(cli, work, (config) => {
    if (config.type === "kubernetes" && found.some(({ where }) => where !== undefined)) requireRunFolder(cli, runDir);
    return withHint(config, node, runDir);
  });
}

/** @throws {UsageError} */
function requireNames({ node, insteadOf }: AdoptFlags): void {
  if (!isNodeName(node)) throw new UsageError(`got ${quoteValue(node)} as --node, want ${NODE_NAME}`);
  if (insteadOf === undefined) return;
  if (!isNodeName(insteadOf)) throw new UsageError(`got ${quoteValue(insteadOf)} as --instead-of, want ${NODE_NAME}`);
  if (insteadOf === node) throw new UsageError(`got ${quote(node)} as --node and as --instead-of, want the wrong name as the latter`);
}

/** A plugin whose addresses are here has its folder; what libcni keeps may be from before the boot. @throws {CommandFailed} where another is meant, or that of the node is not seen in a container */
function requireRunFolder({ io }: Cli, folder: string): void {
  if (io.files.exists(folder)) return;
  throw new CommandFailed(
    `find the plugin's files: there is no folder ${quoteValue(folder)} here; give that of ipam_lock_file in the network config as --run-dir, and in a container mount it from the node`,
  );
}

/** Blocks that are claimed here are named where the plugin looks for them. What it noted before the datastore was restored counts for nothing. */
function withHint(config: DatastoreConfig, node: string, folder: string): DatastoreConfig {
  const ofPlugin = onNode(config, node, folder);
  if (ofPlugin.type !== "kubernetes" || ofPlugin.kubernetes.hints === undefined) return config;
  return { ...ofPlugin, kubernetes: { ...ofPlugin.kubernetes, hints: { ...ofPlugin.kubernetes.hints, isDoubted: true } } };
}

/** Whether the record, which has the address, is the attachment's. */
function isEndpointOf({ spec }: WorkloadEndpoint, { containerID, ifName }: AttachmentId): boolean {
  return spec.containerID === containerID && spec.endpoint === ifName;
}

/** What the record tells of the owner. */
function detailsOf({ metadata: { name, namespace }, spec: { pod } }: WorkloadEndpoint): Partial<AllocationOwner> {
  return { endpoint: name, ...(namespace !== undefined && { namespace }), ...(pod !== undefined && { pod }) };
}

async function adopt(
  cli: Cli,
  datastore: Datastore,
  { attachment, address, where }: HostAddress,
  { flags, inventory: { users, podCidrs, allocations } }: { readonly flags: AdoptFlags; readonly inventory: Inventory },
): Promise<"adopted" | "had" | "refused" | "elsewhere"> {
  const { node, insteadOf } = flags;
  const text = toAddressText(address);
  const { containerID, ifName, network } = attachment;
  const here = where === undefined ? "" : `, here "${where}"`;
  const whose = `container "${containerID}" (interface "${ifName}", network "${network}"${here})`;
  const holder = allocations.get(text)?.owner;
  const isHeld = holder !== undefined && isSameAttachment(holder, attachment);
  if (where === undefined && !(isHeld && holder.node === insteadOf)) {
    if (isHeld) return "had";
    say(cli, `${text} may be in use by ${whose}, but nothing tells whether it still is`);
    return "refused";
  }
  const endpoint = users.get(text)?.find((one) => isEndpointOf(one, attachment));
  const owner = { ...attachment, ...(endpoint && detailsOf(endpoint)), node };
  const work = (): Promise<Adoption> => adoptAddress(toTransactPorts(cli, datastore), owner, address, insteadOf);
  const adoption = await withDamageNamed(cli, datastore, address, work);
  const end = "end" in adoption ? adoption.end : "refused";
  if (end === "outside-pools" && endpoint !== undefined && isManagedElsewhere(endpoint, address, podCidrs)) return "elsewhere";
  const isDone = end === "adopted" || end === "moved";
  const before = end === "moved" ? `, and no longer to node ${quote(insteadOf ?? "")}` : "";
  if (end !== "had") say(cli, `${text} ${isDone ? "allocated to" : "is in use by"} ${whose}${before}${whyNot(cli, adoption, owner, text)}`);
  if ("block" in adoption)
    say(cli, `block ${toPrefixText(adoption.block)} moved from node ${quote(insteadOf ?? "")} to node ${quote(node)}`);
  if (end === "had") return end;
  return isDone ? "adopted" : "refused";
}

/** Milliseconds in which the kernel ends an interface whose DEL has begun. */
const REMOVAL_MS = 1_000;

/** Releases what was adopted for an interface that has ended since. @returns how many addresses that are */
async function giveBack(cli: Cli, datastore: Datastore, adoptions: readonly HostAddress[], node: string): Promise<number> {
  await cli.io.clock.sleep(REMOVAL_MS);
  const left = new Set((await cli.io.readHostAddresses(() => {})).map(keyOf));
  const gone = adoptions.filter((one) => !left.has(keyOf(one)));
  for (const { attachment, address } of gone) {
    await giveBackAddress(toTransactPorts(cli, datastore), { ...attachment, node }, address);
    say(cli, `${toAddressText(address)} released again: its interface is gone`);
  }
  return gone.length;
}

function keyOf({ attachment: { network, containerID, ifName }, address }: HostAddress): string {
  return [toAddressText(address), network, containerID, ifName].join(" ");
}

function whyNot(cli: Cli, adoption: Adoption, attachment: AttachmentId, address: string): string {
  if ("holder" in adoption) {
    const { holder } = adoption;
    const release = `; if that is gone: ${toCommandLine(cli, `ipam release --ip=${address}`)}, then this command again`;
    return `, but allocated to ${describeAllocation(holder)}${isSameAttachment(holder.owner, attachment) ? "" : release}`;
  }
  if ("overlapped" in adoption) return `, but its block would overlap block ${adoption.overlapped}`;
  return adoption.end === "outside-pools" ? ", but lies in no pool" : "";
}
