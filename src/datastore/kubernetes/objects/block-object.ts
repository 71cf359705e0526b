/**
 * Blocks as objects of `ipamblocks.netplug.io`. The record is one text in the spec; labels and annotations beside it, written with it, say
 * what must be found without reading records:
 *
 * ```
 * netplug.io/cell               the /20 or /116 that the block lies in
 * netplug.io/node               the node that owns it
 * holder.netplug.io/<node>      a node that owns it or holds addresses in it
 * netplug.io/spare              it has an unallocated address; the annotation netplug.io/next says which, where that is worth saying
 * netplug.io/empty              it has no allocation, since that second
 * ```
 *
 * A node's name that is no valid label is replaced by its hash; the owner's full name is then in the annotation `netplug.io/node`.
 */

import { CorruptBlock, decodeBlock, encodeBlock } from "../../../api/ipam-block-codec.ts";
import { nextOrdinalsOf, type SpareBlock, toNextOrdinals } from "../../../api/ipam-block-spare.ts";
import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import type { ObjectMeta } from "../../../kube/kube-object.ts";
import { isLabelValue } from "../../../lib/characters.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { toPrefixText, tryParsePrefix } from "../../../lib/ip/prefix.ts";
import { tryParseJson } from "../../../lib/json.ts";
import { quote } from "../../../lib/quote.ts";
import type { Revision, Stored } from "../../datastore.ts";
import { parseBlockName, toBlockName, toCell } from "./block-name.ts";
import { revisionOf } from "./custom-object.ts";
import { REMEDY } from "./failure.ts";
import { toLabelValue } from "./label-value.ts";
import type { BlockObject } from "./resource-types.ts";

/** Labels by which lists find blocks without reading their records. */
export const BLOCK_LABELS = {
  cell: "netplug.io/cell",
  node: "netplug.io/node",
  spare: "netplug.io/spare",
  empty: "netplug.io/empty",
} as const;

/** Beside the label `spare`, as JSON: what {@link toNextOrdinals} reads. */
export const NEXT_ANNOTATION = "netplug.io/next";

/**
 * Clears the API server's record of who set which field: these objects have one writer, and an update costs the server a fifth less. A
 * create cannot do this. Source: Kubernetes, "Server-Side Apply", clearing `managedFields`.
 */
const UNTRACKED = [{}] as const;

/** What an object's metadata say of its block. */
export interface BlockEntry extends SpareBlock {
  readonly isSpare: boolean;
  /** Seconds since 1970; undefined while something is allocated. */
  readonly emptySince: number | undefined;
}

/** Beginning of the labels that a block has for each node with something in it. */
export const HOLDER_LABELS = "holder.netplug.io/";

/** Key of the label that a block has for each node with something in it. */
export function holderLabel(node: string): string {
  return `${HOLDER_LABELS}${toLabelValue(node)}`;
}

/** @param revision of the state that it replaces; undefined: it is claimed */
export function toBlockObject(block: Block, revision?: Revision): BlockObject & { readonly metadata: { readonly name: string } } {
  const cidr = toPrefixText(block.cidr);
  return {
    metadata: {
      name: toBlockName(block.cidr),
      labels: labelsOf(block),
      annotations: annotationsOf(block),
      ...(revision !== undefined && { resourceVersion: revision, managedFields: UNTRACKED }),
    },
    spec: { cidr, node: block.node, allocations: encodeBlock(block) },
  };
}

/**
 * Reads what {@link toBlockObject} made.
 *
 * @throws {CorruptBlock} a record that cannot be read, or is being deleted; NetplugError ioFailure for an object that is no block at all, notInitialised where a
 *   CRD of another version hides what we need
 */
export function toStoredBlock(object: BlockObject): Stored<Block> {
  const { ref, allocations } = readSpec(object);
  if (isEnding(object.metadata)) throw new CorruptBlock(ref, "somebody deleted it, and finalizers of other programs are all that keeps it");
  return { value: decodeBlock(allocations, ref), revision: revisionOf(object) };
}

/** Where the block of an object is. @throws NetplugError as {@link toStoredBlock} */
export function refOfObject(object: BlockObject): BlockRef {
  return readSpec(object).ref;
}

/**
 * Reads the metadata alone. One that is being deleted keeps its place, has nothing to give, and is no node's: otherwise that node would read it as
 * its own, and fail.
 *
 * @returns undefined for an object that we cannot have written
 */
export function toBlockEntry(metadata: ObjectMeta): BlockEntry | undefined {
  const { name = "", labels = {}, annotations = {} } = metadata;
  const cidr = parseBlockName(name);
  const node = annotations[BLOCK_LABELS.node] ?? labels[BLOCK_LABELS.node];
  if (cidr === undefined || node === undefined) return undefined;
  if (isEnding(metadata)) return { cidr, node: "", isSpare: false, emptySince: undefined };
  const since = labels[BLOCK_LABELS.empty];
  const next = toNextOrdinals(tryParseJson(annotations[NEXT_ANNOTATION]));
  return {
    cidr,
    node,
    isSpare: labels[BLOCK_LABELS.spare] !== undefined,
    emptySince: since === undefined ? undefined : Number(since),
    ...(next !== undefined && { next }),
  };
}

/**
 * Whether a block is being deleted, which nothing takes back; finalizers keep it for a while. Our next write would take these away, and with
 * them the object and what was written.
 */
export function isEnding({ deletionTimestamp }: ObjectMeta): boolean {
  return deletionTimestamp !== undefined;
}

/** The {@link BLOCK_LABELS} of a block, and a label for each node that has an address of it. */
export function labelsOf({ cidr, node, free, emptySince, allocations }: Block): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {
    [BLOCK_LABELS.cell]: toCell(cidr),
    [BLOCK_LABELS.node]: toLabelValue(node),
    [holderLabel(node)]: "",
  };
  if (free.length > 0) labels[BLOCK_LABELS.spare] = "";
  if (emptySince !== undefined) labels[BLOCK_LABELS.empty] = String(emptySince);
  for (const { owner } of allocations) if (owner.node !== node) labels[holderLabel(owner.node)] = "";
  return labels;
}

/** What lists need too, but no label can hold. */
export function annotationsOf(block: Block): Readonly<Record<string, string>> {
  const next = block.free.length > 0 ? nextOrdinalsOf(block) : undefined;
  return {
    ...(!isLabelValue(block.node) && { [BLOCK_LABELS.node]: block.node }),
    ...(next !== undefined && { [NEXT_ANNOTATION]: JSON.stringify(next) }),
  };
}

function readSpec({ metadata, spec }: BlockObject): { readonly ref: BlockRef; readonly allocations: string } {
  const name = metadata.name ?? "";
  const { cidr: text, node, allocations } = spec ?? {};
  const cidr = typeof text === "string" ? tryParsePrefix(text) : undefined;
  if (cidr === undefined || typeof node !== "string" || toBlockName(cidr) !== name) throw notOurs(name);
  const ref = { cidr, node };
  if (typeof allocations !== "string") throw withoutAllocations(name);
  return { ref, allocations };
}

/** Nobody can leave them out where the CRD knows them; where it does not, the API server keeps to itself what is stored. */
function withoutAllocations(name: string): NetplugError {
  const message = `read ipamblock ${quote(name)}: it comes without its allocations; the CRD of blocks is of another version: ${REMEDY}`;
  return new NetplugError("notInitialised", message);
}

function notOurs(name: string): NetplugError {
  return new NetplugError("ioFailure", `read ipamblock ${quote(name)}: it is not what netplug writes there; restore it or delete it`);
}
