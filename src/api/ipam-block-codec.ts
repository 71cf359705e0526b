/**
 * The record of a block: one line of JSON, at most 8 KB for a full block of 64 addresses.
 *
 * ```
 * {"cidr":"10.65.0.0/26","node":"node-1",
 *  "groups":[["k8s-pod-network","eth0","node-1","pod"]],      network, interface, node, form of the endpoint's name
 *  "words":["default","web-7d9f8c6b5-"],                      namespaces and beginnings of pod names
 *  "base":1760000000,                                         seconds in rows and "released" count from here
 *  "allocations":["<container ID and pod UID in base64url> 0 0 5k 1 x2x4z"],
 *  "free":"1-63","released":"","emptySince":null}             the owners' ordinals are those that are not free
 * ```
 */

import { equalPrefixes, toPrefixText, tryParsePrefix, type Prefix } from "../lib/ip/prefix.ts";
import { WIDTH } from "../lib/ip/address.ts";
import { NetplugError } from "../lib/errors.ts";
import { isJsonObject, isText } from "../lib/json.ts";
import { quote, quoteValue } from "../lib/quote.ts";
import { parseRanges, toRangesText } from "./ipam-block-ranges.ts";
import {
  createOwnerWriter,
  ENDPOINT_FORMS,
  readOwnerRow,
  type EndpointForm,
  type OwnerGroup,
  type OwnerTables,
} from "./ipam-block-owner.ts";
import type { Allocation, Block, BlockRef } from "./ipam-block.ts";

/** A block's record that netplug cannot have written, or that somebody damaged. */
export class CorruptBlock extends NetplugError {
  override readonly name = "CorruptBlock";
  readonly ref: BlockRef;

  constructor(ref: BlockRef, fault: string) {
    super("ioFailure", `read block "${toPrefixText(ref.cidr)}" of node ${quote(ref.node)}: ${fault}; run "netplugctl ipam check"`);
    this.ref = ref;
  }
}

/** Most addresses that a block has: those of a /20 or a /116. */
const MAX_SIZE = 4_096;

/** Writes a block as one line of JSON. */
export function encodeBlock(block: Block): string {
  const times = [...block.allocations.map(({ since }) => since), ...block.releasedAt.values()];
  const base = times.length === 0 ? 0 : times.reduce((least, time) => Math.min(least, time));
  const writer = createOwnerWriter(block.allocations.map(({ owner }) => owner));
  const allocations = block.allocations.map(({ owner, since }) => writer.write(owner, since - base));
  const released = [...block.releasedAt].map(([ordinal, at]) => `${ordinal}:${(at - base).toString(36)}`);
  return JSON.stringify({
    cidr: toPrefixText(block.cidr),
    node: block.node,
    groups: writer.tables.groups,
    words: writer.tables.words,
    base,
    allocations,
    free: toRangesText(block.free),
    released: released.join(","),
    emptySince: block.emptySince ?? null,
  });
}

/**
 * Reads what {@link encodeBlock} wrote.
 *
 * @param ref where the record was found: its own place must agree
 * @throws {CorruptBlock} naming the block and the fault
 */
export function decodeBlock(text: string, ref: BlockRef): Block {
  const record = parseRecord(text, ref);
  const cidr = typeof record.cidr === "string" ? tryParsePrefix(record.cidr) : undefined;
  if (cidr === undefined || !equalPrefixes(cidr, ref.cidr)) throw new CorruptBlock(ref, `got ${quoteValue(record.cidr)} as its CIDR`);
  if (record.node !== ref.node) throw new CorruptBlock(ref, `got ${quoteValue(record.node)} as its node`);
  const size = sizeOfBlock(cidr, ref);
  const free = typeof record.free === "string" ? parseRanges(record.free, size) : undefined;
  if (free === undefined)
    throw new CorruptBlock(ref, `got ${quoteValue(record.free)} as its free addresses, want each ordinal once, below ${size}`);
  const { base } = record;
  if (!isSeconds(base)) throw new CorruptBlock(ref, `got ${quoteValue(base)} as the base of its times`);
  const allocations = decodeAllocations(record, free, base, size, ref);
  const releasedAt = decodeReleased(record.released, new Set(free), base, ref);
  const emptySince = record.emptySince ?? undefined;
  if (allocations.length > 0 ? emptySince !== undefined : !isSeconds(emptySince)) {
    throw new CorruptBlock(ref, `got ${quoteValue(emptySince)} as "emptySince" with ${allocations.length} allocations`);
  }
  return { cidr, node: ref.node, allocations, free, releasedAt, emptySince: isSeconds(emptySince) ? emptySince : undefined };
}

/** Number of addresses of a block. */
function sizeOfBlock(cidr: Prefix, ref: BlockRef): number {
  const size = 2 ** (WIDTH[cidr.family] - cidr.length);
  if (size > MAX_SIZE) throw new CorruptBlock(ref, `got ${size} addresses, a block has at most ${MAX_SIZE}`);
  return size;
}

function parseRecord(text: string, ref: BlockRef): Readonly<Record<string, unknown>> {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    throw new CorruptBlock(ref, `its record of ${text.length} characters is no JSON`);
  }
  if (!isJsonObject(record)) throw new CorruptBlock(ref, "its record is no JSON object");
  return record;
}

function decodeAllocations(
  record: Readonly<Record<string, unknown>>,
  free: readonly number[],
  base: number,
  size: number,
  ref: BlockRef,
): readonly Allocation[] {
  const rows = record.allocations;
  const tables = decodeTables(record, ref);
  if (!Array.isArray(rows) || rows.length + free.length !== size) {
    const count = Array.isArray(rows) ? rows.length : 0;
    throw new CorruptBlock(ref, `${count} allocations and ${free.length} free addresses are not its ${size} addresses`);
  }
  const isFree = new Uint8Array(size);
  for (const ordinal of free) isFree[ordinal] = 1;
  let ordinal = -1;
  return rows.map((row: unknown) => {
    do ordinal++;
    while (isFree[ordinal] === 1);
    const read = readOwnerRow(row, tables);
    if (read === undefined || !isSeconds(base + read.seconds)) throw new CorruptBlock(ref, `cannot read the owner of address ${ordinal}`);
    return { ordinal, owner: read.owner, since: base + read.seconds };
  });
}

function decodeTables({ groups, words }: Readonly<Record<string, unknown>>, ref: BlockRef): OwnerTables {
  if (!isListOf(groups, isGroup)) throw new CorruptBlock(ref, 'got no list of owner groups as "groups"');
  if (!isListOf(words, isText)) throw new CorruptBlock(ref, 'got no list of texts as "words"');
  return { groups, words };
}

function decodeReleased(released: unknown, free: ReadonlySet<number>, base: number, ref: BlockRef): ReadonlyMap<number, number> {
  const releasedAt = new Map<number, number>();
  if (released === "") return releasedAt;
  for (const entry of typeof released === "string" ? released.split(",") : [""]) {
    const colon = entry.indexOf(":");
    const ordinal = Number(entry.slice(0, colon));
    const since = Number.parseInt(entry.slice(colon + 1), 36);
    const at = base + since;
    if (`${ordinal}:${since.toString(36)}` !== entry || !free.has(ordinal) || !isSeconds(at))
      throw new CorruptBlock(ref, `got ${quoteValue(entry)} as the release of a free address`);
    releasedAt.set(ordinal, at);
  }
  return releasedAt;
}

function isListOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem);
}

function isGroup(value: unknown): value is OwnerGroup {
  if (!Array.isArray(value) || value.length !== 4) return false;
  return value.slice(0, 3).every(isText) && ENDPOINT_FORMS.includes(value[3] as EndpointForm);
}

function isSeconds(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
