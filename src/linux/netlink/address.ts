/** Addresses of interfaces. */

import { type Address, fromAddressBytes, WIDTH } from "../../lib/ip/address.ts";
import { toHostPrefix } from "../../lib/ip/prefix.ts";
import { type NetlinkMessage, pushAddress, readBytes, readField, readNumber, toWord, visitAttributes, type Words } from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
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
  /** Not usable (yet): duplicate address detection runs, or has found one. */
  readonly isTentative: boolean;
}

/** An address that an interface shall have. */
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
  const rtScope = scope === "link" ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  const words: Words = [toWord(toAf(address.family), length, IFA_F_NODAD, rtScope), index];
  pushAddress(words, IFA_LOCAL, address);
  pushAddress(words, IFA_ADDRESS, address);
  return {
    operation: "add address",
    object: toHostPrefix(address),
    type: RTM_NEWADDR,
    flags: NLM_F_CREATE | NLM_F_REPLACE,
    payload: words,
  };
}

/** For a dump: every {@link LinkAddress} of an interface. Kernels before 4.20 send those of the others too. */
export function listAddresses(index: Ifindex): NetlinkRequest {
  return { operation: "list", object: "addresses", type: RTM_GETADDR, flags: 0, payload: [0, index] };
}

/** @returns undefined for a family that is not IP @throws {NetlinkDecodeError} */
export function toLinkAddress({ payload }: NetlinkMessage): LinkAddress | undefined {
  const family = readField(payload, 0, 1);
  let local: Address | undefined;
  let far: Address | undefined;
  let flags = readField(payload, 2, 1);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  visitAttributes(payload, ADDRESS_HEADER_BYTES, (type, value) => {
    if (type === IFA_LOCAL) local = fromAddressBytes(readBytes(value));
    else if (type === IFA_ADDRESS) far = fromAddressBytes(readBytes(value));
    else if (type === IFA_FLAGS) flags = readNumber(value);
  });
  // IFA_ADDRESS is the far end on point-to-point links; IPv6 has IFA_LOCAL only then.
  const address = local ?? far;
  if (address === undefined) return undefined;
  const isTentative = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0;
  return { index: readField(payload, 4, 4) as Ifindex, address, isTentative };
}

/** `struct ifaddrmsg`: family, prefix length, flags, scope, all u8; index u32. */
const ADDRESS_HEADER_BYTES = 8;

/** The kernel's number of a family. */
export function toAf(family: 4 | 6): number {
  return family === 4 ? AF_INET : AF_INET6;
}
