/**
 * Names of block objects: a function of the CIDR, so that of two claims one fails. An address is written at full width, so that names
 * sort as addresses do.
 *
 * ```
 * 10.65.0.64/26        010-065-000-064-26
 * fd00:65::40/122      fd00-0065-0000-0000-0000-0000-0000-0040-122
 * ```
 */

import { BLOCK_SIZE_LIMITS } from "../../../api/ip-pool.ts";
import { type Address, WIDTH } from "../../../lib/ip/address.ts";
import { baseOf, type Prefix, prefixOf, subnetAt, toHostPrefix } from "../../../lib/ip/prefix.ts";

/** Length of the largest block that there may be: blocks are looked for by the part of this length that they lie in. */
const CELL_LENGTH = { 4: BLOCK_SIZE_LIMITS[4].min, 6: BLOCK_SIZE_LIMITS[6].min } as const;

/** Number of groups that an address has in a name, and of digits in each. */
const FORM = { 4: { groups: 4, digits: 3, radix: 10, bits: 8n }, 6: { groups: 8, digits: 4, radix: 16, bits: 16n } } as const;

/** The name under which a block is claimed by CREATE: a function of its CIDR, so a second claim of it fails. */
export function toBlockName(cidr: Prefix): string {
  return `${toAddressForm(cidr)}-${cidr.length}`;
}

/** @returns undefined for a name that {@link toBlockName} does not give */
export function parseBlockName(name: string): Prefix | undefined {
  const groups = name.split("-");
  const family = groups.length === FORM[4].groups + 1 ? 4 : 6;
  const { groups: count, radix, bits } = FORM[family];
  let base = 0n;
  for (const group of groups.slice(0, count)) {
    const value = Number.parseInt(group, radix);
    if (Number.isNaN(value)) return undefined;
    base = (base << bits) | BigInt(value);
  }
  const length = Number(groups[count]);
  const address: Address = { family, value: base };
  if (!(length >= CELL_LENGTH[family] && length <= WIDTH[family])) return undefined;
  const cidr = prefixOf(address, length);
  return toBlockName(cidr) === name ? cidr : undefined;
}

/** The part of the address space around a block, as blocks are labelled with it. */
export function toCell(cidr: Prefix): string {
  return toAddressForm(prefixOf(baseOf(cidr), CELL_LENGTH[cidr.family]));
}

/** All cells that a prefix reaches into; undefined when they are more than `most`. */
export function cellsOf(prefix: Prefix, most: number): readonly string[] | undefined {
  const length = CELL_LENGTH[prefix.family];
  if (prefix.length >= length) return [toCell(prefix)];
  const count = 2 ** (length - prefix.length);
  return count > most ? undefined : Array.from({ length: count }, (_, i) => toCell(subnetAt(prefix, length, i)));
}

/** The cell around an address. */
export function cellAround(address: Address): string {
  return toCell(toHostPrefix(address));
}

function toAddressForm({ family, base }: Prefix): string {
  const { groups, digits, radix, bits } = FORM[family];
  let form = "";
  for (let i = groups - 1; i >= 0; i--) {
    const group = BigInt.asUintN(Number(bits), base >> (BigInt(i) * bits));
    form += group.toString(radix).padStart(digits, "0") + (i > 0 ? "-" : "");
  }
  return form;
}
