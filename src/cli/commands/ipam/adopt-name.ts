/** Whether this host can be the node that a person names: nobody but a person would release what another name gets. */

import type { Inventory } from "../../../ipam/admin/check/inventory.ts";
import { isSameAttachment } from "../../../ipam/block.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { quote } from "../../../lib/quote.ts";
import { CommandFailed } from "../../failures/failure.ts";
import type { HostAddress } from "../../host/host-addresses.ts";
import { type Cli, note } from "../../io.ts";
import { toCommandLine, toWord } from "../../failures/suggested-commands.ts";

/** Where the plugin finds its node's name, unless the network config says otherwise: the agent's file, else the host's name, in lower case. */
const NAME_FILES = ["/var/lib/netplug/nodename", "/proc/sys/kernel/hostname"] as const;

/** How many names a message lists. */
const SHOWN_NAMES = 5;

/** The node that this host is. */
export interface AdoptFlags {
  /** What the plugin calls it. */
  readonly node: string;
  /** What `ipam adopt` was told by mistake: what this host has under that name is moved. */
  readonly insteadOf?: string;
  /** Where the plugin keeps its notes. @default `/var/run/netplug` */
  readonly runDir?: string;
}

/**
 * Warns of a name that the datastore does not know: it may be right, of a host of which nothing is recorded yet.
 *
 * @throws {CommandFailed} for what this host was not called so far
 */
export async function requireOwnName(cli: Cli, flags: AdoptFlags, found: readonly HostAddress[], inventory: Inventory): Promise<void> {
  const { insteadOf } = flags;
  const recorded = recordedNames(found, inventory);
  requireNoOtherRecord(flags, recorded, inventory);
  const allocated = allocatedNames(found, inventory);
  // On etcd the plugin records its own name: if it has two, it was changed while containers ran, and both are right.
  const changed = inventory.areRecordsPods ? NO_NAMES : recorded;
  // Of several wrong names one is given up at a time.
  if (insteadOf === undefined || !allocated.has(insteadOf)) requireNoOtherAddress(cli, flags, allocated, changed);
  await warnOfUnknown(cli, flags, recorded, inventory);
}

/** Names of this host as a node, each with one thing that has it. */
type NamesOfHost = ReadonlyMap<string, string>;

const NO_NAMES: NamesOfHost = new Map();

/** With a container ID whose endpoint is recorded. On Kubernetes that is Kubernetes' name, which need not be the node's own. */
function recordedNames(found: readonly HostAddress[], { endpoints }: Inventory): NamesOfHost {
  const here = new Set(found.map(({ attachment: { containerID, ifName } }) => `${containerID}/${ifName}`));
  const records = endpoints.filter(({ spec }) => spec.node !== "" && here.has(`${spec.containerID}/${spec.endpoint}`));
  return new Map(records.map(({ spec: { node, containerID = "" } }) => [node, containerID]));
}

/** With an address that is allocated. */
function allocatedNames(found: readonly HostAddress[], { allocations }: Inventory): NamesOfHost {
  const addresses = found.flatMap(({ attachment, address }) => {
    const text = toAddressText(address);
    const owner = allocations.get(text)?.owner;
    return owner !== undefined && isSameAttachment(owner, attachment) ? [[owner.node, text] as const] : [];
  });
  return new Map(addresses);
}

/** @throws {CommandFailed} */
function requireNoOtherRecord(flags: AdoptFlags, recorded: NamesOfHost, { areRecordsPods, nodes }: Inventory): void {
  const { node, insteadOf } = flags;
  const [record] = recorded;
  const mayBeOwn = areRecordsPods && !nodes.has(node);
  if (record === undefined || recorded.has(node) || mayBeOwn) return;
  const [name, containerID] = record;
  throw new CommandFailed(
    `allocate addresses to node ${quote(node)}: container ${quote(containerID)}, which is on this host, is recorded on node ${quote(name)}`,
    { next: toAdopt(name, insteadOf, flags) },
  );
}

/** @throws {CommandFailed} with both ways out: which of the names is wrong nobody can tell but a person */
function requireNoOtherAddress(cli: Cli, flags: AdoptFlags, allocated: NamesOfHost, changed: NamesOfHost): void {
  const { node } = flags;
  const other = [...allocated].find(([name]) => name !== node && !changed.has(name));
  if (other === undefined) return;
  const [name, address] = other;
  const right = toCommandLine(cli, toAdopt(name, undefined, flags));
  const correction = toCommandLine(cli, toAdopt(node, name, flags));
  const got = `this host got ${address} as node ${quote(name)}`;
  throw new CommandFailed(
    `allocate addresses to node ${quote(node)}: ${got}; if that name is right: ${right}; if it was wrong: ${correction}`,
  );
}

/** Waits until it is shown: what follows writes. */
async function warnOfUnknown(cli: Cli, flags: AdoptFlags, recorded: NamesOfHost, inventory: Inventory): Promise<void> {
  const { node } = flags;
  const { nodes, endpoints, allocations } = inventory;
  const owners = [...allocations.values()].map(({ owner }) => owner.node);
  const known = new Set([...nodes, ...endpoints.map(({ spec }) => spec.node), ...owners]);
  const names = NAME_FILES.map((file) => tryRead(cli.io, file)?.trim() ?? "");
  if (known.has(node) || names.find((name) => name !== "")?.toLowerCase() === node) return;
  const all = [...known].filter((name) => name !== "").sort();
  const more = all.length > SHOWN_NAMES ? `, and ${all.length - SHOWN_NAMES} more` : "";
  const listed = all.length === 0 ? "nor any other" : `but ${all.slice(0, SHOWN_NAMES).map(quote).join(", ")}${more}`;
  const [ofPods] = recorded.keys();
  const told = ofPods === undefined ? listed : `and pods of this host are on node ${quote(ofPods)}`;
  const correction = toCommandLine(cli, toAdopt(ofPods ?? "RIGHT-NAME", node, flags));
  note(cli, `warning: the datastore knows no node ${quote(node)}, ${told}; if the name is wrong, correct that by ${correction}`);
  await cli.io.stderr.drained();
}

/** These are only hints: what cannot be read says nothing. */
function tryRead({ files }: Cli["io"], file: string): string | undefined {
  try {
    return files.readText(file);
  } catch {
    return undefined;
  }
}

/** The command line, without the program's name. */
function toAdopt(node: string, wrong: string | undefined, { runDir }: AdoptFlags): string {
  const instead = wrong === undefined || wrong === node ? "" : ` --instead-of=${wrong}`;
  return `ipam adopt --node=${node}${instead}${runDir === undefined ? "" : ` --run-dir=${toWord(runDir)}`}`;
}
