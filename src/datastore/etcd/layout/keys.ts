/**
 * Where things live in etcd. All values are JSON.
 *
 * ```
 * /netplug/v3/<plural>/[<namespace>/]<name>      a resource
 * /netplug/ipam/blocks/<node>/<cidr>             a block, with its allocations: only these keys contain "/blocks/"
 * /netplug/ipam/claims/<4|6>/<cidr>              {"node"}            the block is claimed: exists with the block
 * /netplug/ipam/spare/<4|6>/<cidr>               {"node","next"}     the block has an unallocated address; which are next
 * /netplug/ipam/empty/<4|6>/<cidr>               {"node","since"}    the block has no allocation
 * /netplug/ipam/borrowed/<borrower>/<cidr>       {"node"}            a node has addresses in a block of another
 * ```
 *
 * A `<cidr>` is written at full width (`010.065.000.064-26`, `fd00:0065:…:0000-122`), so that keys sort by address and
 * a range of keys is a range of addresses.
 */

import type { BlockRef } from "../../../api/ipam-block.ts";
import { BLOCK_SIZE_LIMITS } from "../../../api/ip-pool.ts";
import { KINDS } from "../../../api/registry.ts";
import type { Kind } from "../../../api/resource.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { type Family, WIDTH } from "../../../lib/ip/address.ts";
import { baseOf, lastAddressOf, type Prefix, prefixOf } from "../../../lib/ip/prefix.ts";
import type { ResourceRef } from "../../datastore.ts";

/** Indexes that are ordered by address, one tree per family. */
export type AddressIndex = "claims" | "spare" | "empty";

/** All keys from `key` (inclusive) to `end` (exclusive). */
export interface KeyRange {
  readonly key: string;
  readonly end: string;
}

const RESOURCES = "/netplug/v3/";
const BLOCKS = "/netplug/ipam/blocks/";

/** Of `010.065.000.000`. */
const V4_FORM_LENGTH = 15;

/** Where a resource is; {@link parseResourceKey} reads it back. */
export function resourceKey(ref: ResourceRef): string {
  const namespace = KINDS[ref.kind].namespaced ? `${toSegment(ref.namespace ?? "")}/` : "";
  return `${RESOURCES}${KINDS[ref.kind].plural}/${namespace}${toSegment(ref.name)}`;
}

/** All resources of a kind, or those of one namespace. */
export function resourceRange(kind: Kind, namespace?: string): KeyRange {
  const inside = namespace !== undefined && KINDS[kind].namespaced ? `${toSegment(namespace)}/` : "";
  return under(`${RESOURCES}${KINDS[kind].plural}/${inside}`);
}

/** Reads what {@link resourceKey} wrote; undefined for any other key. */
export function parseResourceKey(key: string): ResourceRef | undefined {
  const [plural, first, second, ...more] = key.slice(RESOURCES.length).split("/");
  const info = Object.values(KINDS).find((candidate) => candidate.plural === plural);
  if (info === undefined || first === undefined || info.namespaced !== (second !== undefined)) return undefined;
  if (first === "" || second === "" || more.length > 0) return undefined;
  const { kind } = info;
  const ref =
    second === undefined ? { kind, name: fromSegment(first) } : { kind, namespace: fromSegment(first), name: fromSegment(second) };
  return resourceKey(ref) === key ? ref : undefined;
}

/** Where a block is, below the node that owns it. */
export function blockKey(ref: BlockRef): string {
  return `${BLOCKS}${toSegment(ref.node)}/${toCidrForm(ref.cidr)}`;
}

/** The blocks of one node, or all. */
export function blockRange(node?: string): KeyRange {
  return under(node === undefined ? BLOCKS : `${BLOCKS}${toSegment(node)}/`);
}

/** Reads what {@link blockKey} wrote; undefined for any other key. */
export function parseBlockKey(key: string): BlockRef | undefined {
  if (!key.startsWith(BLOCKS)) return undefined;
  const slash = key.indexOf("/", BLOCKS.length);
  const cidr = fromCidrForm(key.slice(slash + 1));
  return slash <= BLOCKS.length || cidr === undefined ? undefined : { node: fromSegment(key.slice(BLOCKS.length, slash)), cidr };
}

/** Where an index has its entry for a block. */
export function indexKey(index: AddressIndex, cidr: Prefix): string {
  return `/netplug/ipam/${index}/${cidr.family}/${toCidrForm(cidr)}`;
}

/** The blocks of an index that lie inside a prefix, without those that begin below `from`. */
export function indexRange(index: AddressIndex, within: Prefix, from?: bigint): KeyRange {
  const { family, base } = within;
  const tree = `/netplug/ipam/${index}/${family}/`;
  // A larger block with the same base sorts before `within` itself: its length is smaller and written at full width.
  const key = from === undefined || from <= base ? toCidrForm(within) : toAddressForm(family, from);
  // "." is the character after the "-" that ends an address.
  return { key: tree + key, end: `${tree}${toAddressForm(family, lastAddressOf(within).value)}.` };
}

/** Says that `borrower` has addresses in a block of another node. */
export function borrowedKey(borrower: string, cidr: Prefix): string {
  return `/netplug/ipam/borrowed/${toSegment(borrower)}/${toCidrForm(cidr)}`;
}

/** All blocks of other nodes in which `borrower` holds addresses. */
export function borrowedRange(borrower: string): KeyRange {
  return under(`/netplug/ipam/borrowed/${toSegment(borrower)}/`);
}

/** The CIDR that a key of an index ends with; undefined for any other key. */
export function cidrOfIndexKey(key: string): Prefix | undefined {
  return fromCidrForm(key.slice(key.lastIndexOf("/") + 1));
}

/** Prefixes of every length that a block may have and that contain `prefix` properly, longest first. */
export function enclosingBlocks(prefix: Prefix): readonly Prefix[] {
  const { min, max } = BLOCK_SIZE_LIMITS[prefix.family];
  const enclosing: Prefix[] = [];
  for (let length = Math.min(prefix.length - 1, max); length >= min; length--) enclosing.push(prefixOf(baseOf(prefix), length));
  return enclosing;
}

/** The range of all keys that begin with `prefix`. */
function under(prefix: string): KeyRange {
  return { key: prefix, end: prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1) };
}

/** One part of a key: no slash, only ASCII, and never the word that marks a block. */
function toSegment(name: string): string {
  if (name === "") throw new NetplugError("internal", "make an etcd key: got an empty name or namespace");
  return name === "blocks" ? "%62locks" : encodeURIComponent(name.toWellFormed());
}

function fromSegment(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // not written by us
  }
}

function toCidrForm(cidr: Prefix): string {
  const digits = cidr.family === 4 ? 2 : 3;
  return `${toAddressForm(cidr.family, cidr.base)}-${String(cidr.length).padStart(digits, "0")}`;
}

/** Without a pattern: compiling one would cost an ADD more than all of its keys. */
function fromCidrForm(form: string): Prefix | undefined {
  const dash = form.indexOf("-");
  const address = form.slice(0, dash);
  const family = address.length === V4_FORM_LENGTH ? 4 : 6;
  const base = family === 4 ? fromV4Form(address) : fromV6Form(address);
  const length = Number(form.slice(dash + 1));
  if (base === undefined || !(Number.isInteger(length) && length >= 0 && length <= WIDTH[family])) return undefined;
  const cidr = prefixOf({ family, value: base }, length);
  return toCidrForm(cidr) === form ? cidr : undefined;
}

/** `010.065.000.000`. */
function fromV4Form(form: string): bigint | undefined {
  let value = 0;
  for (let at = 0; at < V4_FORM_LENGTH; at += 4) {
    const octet = Number(form.slice(at, at + 3));
    if (!(Number.isInteger(octet) && octet <= 255)) return undefined;
    value = value * 256 + octet;
  }
  return BigInt(value);
}

/** `fd00:0065:…`, all eight groups. */
function fromV6Form(form: string): bigint | undefined {
  const digits = form.replaceAll(":", "");
  if (digits.length !== 32 || Number.isNaN(Number(`0x${digits}`))) return undefined;
  return BigInt(`0x${digits}`);
}

function toAddressForm(family: Family, address: bigint): string {
  if (family === 4) {
    const value = Number(address);
    return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255].map((octet) => String(octet).padStart(3, "0")).join(".");
  }
  const digits = address.toString(16).padStart(32, "0");
  return Array.from({ length: 8 }, (_, group) => digits.slice(group * 4, group * 4 + 4)).join(":");
}
