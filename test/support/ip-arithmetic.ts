/** For tests: arithmetic of addresses by `ipaddr.js`, which is not ours. */

import ipaddr from "ipaddr.js";

type Parsed = ipaddr.IPv4 | ipaddr.IPv6;
export type Family = 4 | 6;

/** The canonical text of an address. */
export function canonical(address: string): string {
  return ipaddr.parse(address).toString();
}

export function familyOf(text: string): Family {
  return text.includes(":") ? 6 : 4;
}

/** The canonical text of the address of `10.65.0.1/32`, or of that without a length. */
export function withoutLength(text: string): string {
  return canonical(baseOf(text));
}

/** `10.65.0.1` as `10.65.0.1/32`; what has a length already stays as it is. */
export function withLength(text: string): string {
  return text.includes("/") ? text : `${text}/${widthOf(text)}`;
}

/** How many bits addresses of the family have. */
function widthOf(text: string): number {
  return familyOf(text) === 4 ? 32 : 128;
}

export function isWithin(address: string, cidr: string): boolean {
  return familyOf(address) === familyOf(cidr) && ipaddr.parse(address).match(ipaddr.parseCIDR(cidr));
}

/** Whether two CIDRs have an address in common. */
export function haveCommon(a: string, b: string): boolean {
  return isWithin(baseOf(a), b) || isWithin(baseOf(b), a);
}

/** All addresses of a small CIDR, in their order. */
export function addressesIn(cidr: string): readonly string[] {
  const [base, length] = ipaddr.parseCIDR(cidr);
  return Array.from({ length: 2 ** (widthOf(cidr) - length) }, (_, i) => plus(base, i).toString());
}

/** The parts of a small CIDR that have this length. */
export function partsOf(cidr: string, length: number): readonly string[] {
  const [base, whole] = ipaddr.parseCIDR(cidr);
  const size = 2 ** (widthOf(cidr) - length);
  return Array.from({ length: 2 ** (length - whole) }, (_, i) => `${plus(base, i * size).toString()}/${length}`);
}

function baseOf(cidr: string): string {
  return cidr.split("/")[0] ?? "";
}

function plus(base: Parsed, offset: number): Parsed {
  const bytes = base.toByteArray();
  let carry = offset;
  for (let i = bytes.length - 1; i >= 0 && carry > 0; i--) {
    const sum = (bytes[i] ?? 0) + carry;
    bytes[i] = sum % 256;
    carry = Math.floor(sum / 256);
  }
  return ipaddr.fromByteArray(bytes);
}
