/** Giving an interface its addresses. */

import { type Address, WIDTH } from "../../lib/ip/address.ts";
import { toHostPrefix } from "../../lib/ip/prefix.ts";
import { pushAddress, toWord, type Words } from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
  IFA_ADDRESS,
  IFA_F_NODAD,
  IFA_LOCAL,
  NLM_F_CREATE,
  NLM_F_REPLACE,
  RT_SCOPE_LINK,
  RT_SCOPE_UNIVERSE,
  RTM_NEWADDR,
} from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";

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

/** The kernel's number of a family. */
export function toAf(family: 4 | 6): number {
  return family === 4 ? AF_INET : AF_INET6;
}
