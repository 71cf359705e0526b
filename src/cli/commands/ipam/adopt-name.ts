/** Whether this host can be the node that a person names: nobody but a person would release what another name gets. */

import type { Inventory } from "../../../ipam/admin/inventory.ts";
import type { HostNames, NameWitness } from "../../../ipam/admin/node-names.ts";
import { isJsonObject, tryParseJson } from "../../../lib/json.ts";
import { nearestName } from "../../../lib/nearest.ts";
import { quote } from "../../../lib/quote.ts";
import { CommandFailed } from "../../failure.ts";
import { type Cli, note } from "../../io.ts";
import { toCommandLine, toWord } from "../../suggested-commands.ts";

/** Where the plugin keeps its notes, unless the network config names another `ipam_lock_file`. */
export const RUN_FOLDER = "/var/run/netplug";

/** Where the plugin finds its node's name, unless the network config says otherwise: the agent's file, then the host's name, in lower case. */
const NAME_FILE = "/var/lib/netplug/nodename";
const HOST_NAME_FILE = "/proc/sys/kernel/hostname";

/** How many names a message lists. */
const SHOWN_NAMES = 5;

/** The node that this host is. */
export interface AdoptFlags {
  /** What the plugin calls it. */
  readonly node: string;
  /** What `ipam adopt` was told by mistake: what this host has under that name is moved. */
  readonly insteadOf?: string;
  /** Where the plugin keeps its notes. @default RUN_FOLDER */
  readonly runDir?: string;
}

/**
 * Warns of a name that nothing tells of: it may be right, of a host of which nothing is recorded yet.
 *
 * @throws {CommandFailed} for what this host was not called so far
 */
export async function requireOwnName(cli: Cli, flags: AdoptFlags, names: HostNames, inventory: Inventory): Promise<void> {
  const { node, insteadOf } = flags;
  const { allocated, recorded } = names;
  const isNode = ({ name }: NameWitness): boolean => name === node;
  if (allocated.some(isNode)) return;
  const [record] = recorded;
  // On Kubernetes the pods of a node that has a name of its own are recorded under the one that it has there.
  const isTelling = !inventory.areRecordsPods || inventory.nodes.has(node);
  if (record !== undefined && isTelling && !recorded.some(isNode))
    throw new CommandFailed(
      `allocate addresses to node ${quote(node)}: container ${quote(record.what)}, which is on this host, is recorded on node ${quote(record.name)}`,
      { next: toAdopt({ ...flags, node: record.name }) },
    );
  const former = allocated.find(({ name }) => name !== insteadOf);
  if (former !== undefined) {
    const [right, correction] = [toAdopt({ ...flags, node: former.name }), toAdopt({ ...flags, insteadOf: former.name })] as const;
    const isMistake = isKnown(cli, flags, names) && !isTold(former.name, names);
    const doubt = isMistake ? ", of which nothing else tells" : `; if that name was wrong: ${toCommandLine(cli, correction)}`;
    throw new CommandFailed(
      `allocate addresses to node ${quote(node)}: this host got ${former.what} as node ${quote(former.name)}${doubt}`,
      { next: isMistake ? correction : right },
    );
  }
  if (isKnown(cli, flags, names) || inventory.blocks.some((block) => block.node === node)) return;
  await warn(cli, flags, names);
}

/** Whether something tells of a name besides what `ipam adopt` itself may have written. */
export function isTold(name: string, { allocated, recorded, others }: HostNames): boolean {
  return others.has(name) || recorded.some((one) => one.name === name) || allocated.some((one) => one.name === name && one.isByPlugin);
}

/** Whether something tells of the name, on this host too. */
function isKnown({ io }: Cli, { node, runDir = RUN_FOLDER }: AdoptFlags, names: HostNames): boolean {
  const hint = tryParseJson(tryRead(io, `${runDir}/blocks.json`));
  const isHinted = isJsonObject(hint) && hint["node"] === node;
  return (
    isTold(node, names) || isHinted || tryRead(io, NAME_FILE)?.trim() === node || tryRead(io, HOST_NAME_FILE)?.trim().toLowerCase() === node
  );
}

/** These are only hints: what cannot be read says nothing. */
function tryRead({ files }: Cli["io"], file: string): string | undefined {
  try {
    return files.readText(file);
  } catch {
    return undefined;
  }
}

/** Waits until it is shown: what follows writes. */
async function warn(cli: Cli, flags: AdoptFlags, { recorded, others }: HostNames): Promise<void> {
  const { node } = flags;
  const [pod] = recorded;
  const all = [...others].sort();
  const right = pod?.name ?? nearestName(node, all);
  const shown = all.slice(0, SHOWN_NAMES).map(quote).join(", ");
  const more = all.length > SHOWN_NAMES ? `, and ${all.length - SHOWN_NAMES} more` : "";
  const listed = all.length === 0 ? "nor of any other" : `but of ${shown}${more}`;
  const known = pod === undefined ? listed : `and pods of this host are on node ${quote(pod.name)}`;
  const correction = toAdopt({ ...flags, node: right ?? "RIGHT-NAME", insteadOf: node });
  note(
    cli,
    `warning: nothing tells of a node ${quote(node)}, ${known}; if the name is wrong, correct that by ${toCommandLine(cli, correction)}`,
  );
  await cli.io.stderr.drained();
}

/** The command line, without the program's name. */
export function toAdopt({ node, insteadOf, runDir }: AdoptFlags): string {
  const wrong = insteadOf === undefined || insteadOf === node ? "" : ` --instead-of=${insteadOf}`;
  return `ipam adopt --node=${node}${wrong}${runDir === undefined ? "" : ` --run-dir=${toWord(runDir)}`}`;
}
