/** An address together with the length of the prefix it lies in, such as `10.65.3.9/16`: host bits are kept. */

import { type Address, toAddressText, tryParseAddress, WIDTH } from "./address.ts";

/** Unlike a prefix, it keeps which address it was written with. */
export interface Cidr {
  readonly address: Address;
  /** Prefix length in bits, 0 … 32 or 128. */
  readonly length: number;
}

/** Parses `address/length`; `undefined` for anything else, a bare address too. */
export function tryParseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const address = slash < 0 ? undefined : tryParseAddress(text.slice(0, slash));
  if (address === undefined) return undefined;
  const length = tryParseLength(text.slice(slash + 1), WIDTH[address.family]);
  return length === undefined ? undefined : { address, length };
}

/** A prefix length: decimal without sign or leading zero. */
export function tryParseLength(text: string, max: number): number | undefined {
  const length = Number(text);
  return String(length) === text && Number.isInteger(length) && length >= 0 && length <= max ? length : undefined;
}

/** Canonical text. */
export function toCidrText(cidr: Cidr): string {
  return `${toAddressText(cidr.address)}/${cidr.length}`;
}
