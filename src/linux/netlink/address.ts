/** Addresses of interfaces. */

import { type Address, fromAddressBytes, toAddressBytes, toAddressText, WIDTH } from "../../lib/ip/address.ts";
import { decodeAttributes, type NetlinkMessage, PayloadWriter, readU32, readU8 } from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
  AF_UNSPEC,
  IFA_ADDRESS,
  IFA_F_DADFAILED,
  IFA_F_NODAD,
  IFA_F_TENTATIVE,
  IFA_FLAGS,
  IFA_LOCAL,
  NLM_F_CREATE,
  NLM_F_REPLACE,
  RT_SCOPE_LINK,
  RT_SCOPE_UNIVERSE,
  RTM_GETADDR,
  RTM_NEWADDR,
} from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";

/** An address as the kernel shows it. */
export interface LinkAddress {
  readonly index: Ifindex;
  readonly address: Address;
  /** Prefix length in bits. */
  readonly length: number;
  /** Not usable (yet): duplicate address detection runs, or has found one. */
  readonly isTentative: boolean;
}

export interface AddressSpec {
  readonly index: Ifindex;
  readonly address: Address;
  /** Prefix length in bits. @default that of the single address */
  readonly length?: number;
  /** @default "global" */
  readonly scope?: "global" | "link";
}

/** Adds an address without duplicate address detection, or confirms it when it is there. */
export function addAddress({ index, address, length = WIDTH[address.family], scope = "global" }: AddressSpec): NetlinkRequest {
  const bytes = toAddressBytes(address);
  const payload = new PayloadWriter()
    .u8(toAf(address.family))
    .u8(length)
    .u8(IFA_F_NODAD)
    .u8(scope === "link" ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE)
    .u32(index)
    .attribute(IFA_LOCAL, bytes)
    .attribute(IFA_ADDRESS, bytes)
    .finish();
  const object = `${toAddressText(address)}/${length}`;
  return { operation: "add address", object, type: RTM_NEWADDR, flags: NLM_F_CREATE | NLM_F_REPLACE, payload };
}

/** For a dump: every {@link LinkAddress} of an interface. Older kernels send those of the others too. */
export function listAddresses(index: Ifindex): NetlinkRequest {
  const payload = new PayloadWriter().u8(AF_UNSPEC).u8(0).u8(0).u8(0).u32(index).finish();
  return { operation: "list", object: "addresses", type: RTM_GETADDR, flags: 0, payload };
}

/** @returns undefined for a family that is not IP @throws {NetlinkDecodeError} */
export function toLinkAddress({ payload }: NetlinkMessage): LinkAddress | undefined {
  const attributes = decodeAttributes(payload, ADDRESS_HEADER_BYTES);
  const family = readU8(payload, 0);
  // IFA_ADDRESS is the far end on point-to-point links; IPv6 has IFA_LOCAL only then.
  const bytes = attributes.get(IFA_LOCAL) ?? attributes.get(IFA_ADDRESS);
  if ((family !== AF_INET && family !== AF_INET6) || bytes === undefined) return undefined;
  const wideFlags = attributes.get(IFA_FLAGS);
  const flags = wideFlags === undefined ? readU8(payload, 2) : readU32(wideFlags);
  return {
    index: readU32(payload, 4) as Ifindex,
    address: fromAddressBytes(bytes),
    length: readU8(payload, 1),
    isTentative: (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0,
  };
}

/** `struct ifaddrmsg`: family, prefix length, flags, scope, all u8; index u32. */
const ADDRESS_HEADER_BYTES = 8;

/** The kernel's number of a family. */
export function toAf(family: 4 | 6): number {
  return family === 4 ? AF_INET : AF_INET6;
}
