/** `ipam adopt`: allocates what interfaces on this host have and the datastore does not know, as after a restore. */

import type { AllocationOwner, AttachmentId } from "../../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import { type DatastoreConfig, onNode } from "../../../datastore/config/datastore-config.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { isNodeName, NODE_NAME } from "../../../endpoint/names.ts";
import { type Adoption, adoptAddress, giveBackAddress } from "../../../ipam/admin/adopt.ts";
import { type Inventory, takeInventory } from "../../../ipam/admin/inventory.ts";
import { isManagedElsewhere } from "../../../ipam/admin/managed-elsewhere.ts";
import { isSameAttachment } from "../../../ipam/block.ts";
import { describeAllocation } from "../../../ipam/owner-text.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { quoteValue } from "../../../lib/quote.ts";
import { withDatastore } from "../../access/access.ts";
import { CommandFailed, EXIT, UsageError } from "../../failure.ts";
import type { HostAddress } from "../../host/host-addresses.ts";
import { type Cli, note, say } from "../../io.ts";
import { withDamageNamed } from "./damaged-block.ts";
import { toTransactPorts } from "./transact-ports.ts";

/** Where the plugin keeps its notes, unless the network config names another `ipam_lock_file`. */
const RUN_FOLDER = "/var/run/netplug";

/** The node that this host is. */
export interface AdoptFlags {
  /** What the plugin calls it. */
  readonly node: string;
  /** Where the plugin keeps its notes. @default RUN_FOLDER */
  readonly runDir?: string;
}

/**
 * Fails when an interface has an address that cannot be its own, or may have one and that cannot be told.
 *
 * @throws {UsageError} for what no node is called
 * @throws {CommandFailed} for what this one was not called so far
 */
export async function ipamAdopt(cli: Cli, { node, runDir = RUN_FOLDER }: AdoptFlags): Promise<number> {
  if (!isNodeName(node)) throw new UsageError(`got ${quoteValue(node)} as --node, want ${NODE_NAME}`);
  let unread = 0;
  const found = await cli.io.readHostAddresses((text) => {
    unread++;
    note(cli, `${text}; end the container that its name says, or remove it if there is none`);
  });
  const work = async (datastore: Datastore): Promise<number> => {
    const inventory = await takeInventory(datastore);
    requireOwnName(node, found, inventory);
    // On Kubernetes the plugin finds its blocks by the hint: with this it is written anew. A damaged block matters only to its own addresses.
    await datastore.read([{ type: "blocks-of-node", node }], { onDamage: () => {} });
    const counts = { adopted: 0, had: 0, refused: 0, elsewhere: 0 };
    const adoptions: HostAddress[] = [];
    for (const [at, one] of found.entries()) {
      const end = await adopt(cli, datastore, one, { node, inventory });
      counts[end]++;
      if (end === "adopted") adoptions.push(one);
      cli.io.progress?.tell("done", `looked at ${at + 1} of ${found.length} addresses`);
    }
    if (adoptions.length > 0) counts.adopted -= await giveBack(cli, datastore, adoptions, node);
    const { adopted, had, refused, elsewhere } = counts;
    const others = refused === 0 ? "" : `; ${refused} cannot be: recreate their workloads`;
    say(cli, `allocated ${adopted} of ${found.length - elsewhere} addresses in use on this host, ${had} already were${others}`);
    return refused + unread === 0 ? EXIT.done : EXIT.failed;
  };
  return await withDatastore(cli, work, (config) => {
    if (config.type === "kubernetes" && found.some(({ where }) => where !== undefined)) requireRunFolder(cli, runDir);
    return withHint(config, node, runDir);
  });
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

/** A slip in the name would leave addresses to a node that is none; nobody but a person would release them. */
function requireOwnName(node: string, found: readonly HostAddress[], { allocations }: Inventory): void {
  const known = found.flatMap(({ attachment, address }) => {
    const holder = allocations.get(toAddressText(address));
    return holder !== undefined && isSameAttachment(holder.owner, attachment) ? [{ address, name: holder.owner.node }] : [];
  });
  const [first] = known;
  if (first === undefined || known.some(({ name }) => name === node)) return;
  const { address, name } = first;
  throw new CommandFailed(
    `allocate addresses to node ${quoteValue(node)}: this host was node ${quoteValue(name)} when it got ${toAddressText(address)}`,
    { next: `ipam adopt --node=${name}` },
  );
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
  { node, inventory: { users, podCidrs, allocations } }: { readonly node: string; readonly inventory: Inventory },
): Promise<"adopted" | "had" | "refused" | "elsewhere"> {
  const text = toAddressText(address);
  const { containerID, ifName, network } = attachment;
  const here = where === undefined ? "" : `, here "${where}"`;
  const whose = `container "${containerID}" (interface "${ifName}", network "${network}"${here})`;
  if (where === undefined) {
    const holder = allocations.get(text);
    if (holder !== undefined && isSameAttachment(holder.owner, attachment)) return "had";
    say(cli, `${text} may be in use by ${whose}, but nothing tells whether it still is`);
    return "refused";
  }
  const endpoint = users.get(text)?.find((one) => isEndpointOf(one, attachment));
  const owner = { ...attachment, ...(endpoint && detailsOf(endpoint)), node };
  const work = (): Promise<Adoption> => adoptAddress(toTransactPorts(cli, datastore), owner, address);
  const adoption = await withDamageNamed(cli, datastore, address, work);
  if ("end" in adoption && adoption.end === "had") return "had";
  const isOutside = "end" in adoption && adoption.end === "outside-pools";
  if (isOutside && endpoint !== undefined && isManagedElsewhere(endpoint, address, podCidrs)) return "elsewhere";
  const isAdopted = "end" in adoption && adoption.end === "adopted";
  say(cli, `${text} ${isAdopted ? "allocated to" : "is in use by"} ${whose}${whyNot(adoption)}`);
  return isAdopted ? "adopted" : "refused";
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

function whyNot(adoption: Adoption): string {
  if ("holder" in adoption) return `, but allocated to ${describeAllocation(adoption.holder)}`;
  if ("overlapped" in adoption) return `, but its block would overlap block ${adoption.overlapped}`;
  return adoption.end === "outside-pools" ? ", but lies in no pool" : "";
}
