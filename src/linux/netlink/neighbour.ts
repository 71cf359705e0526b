/** Neighbours: which MAC address stands for which IP address on a link. */

import { type Address, fromAddressBytes } from "../../lib/ip/address.ts";
import { toHostPrefix } from "../../lib/ip/prefix.ts";
import type { MacAddress } from "../../lib/mac-address.ts";
import { toAf } from "./address.ts";
import { type NetlinkMessage, pushAddress, pushMac, readBytes, readField, readMac, visitAttributes, type Words } from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
  NDA_DST,
  NDA_LLADDR,
  NLM_F_CREATE,
  NLM_F_REPLACE,
  NUD_PERMANENT,
  RTM_GETNEIGH,
  RTM_NEWNEIGH,
} from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";

/** A neighbour entry as the kernel shows it. */
export interface Neighbour {
  readonly index: Ifindex;
  readonly address: Address;
  /** undefined: not resolved. */
  readonly mac: MacAddress | undefined;
  readonly isPermanent: boolean;
}

/** Sets an entry that the kernel neither asks for nor forgets. */
export function setPermanentNeighbour(index: Ifindex, address: Address, mac: MacAddress): NetlinkRequest {
  const words: Words = [toAf(address.family), index, NUD_PERMANENT];
  pushAddress(words, NDA_DST, address);
  pushMac(words, NDA_LLADDR, mac);
  return {
    operation: "set neighbour",
    object: toHostPrefix(address),
    type: RTM_NEWNEIGH,
    flags: NLM_F_CREATE | NLM_F_REPLACE,
    payload: words,
  };
}

/** For a dump: every {@link Neighbour} of the namespace. */
export function listNeighbours(): NetlinkRequest {
  return { operation: "list", object: "neighbours", type: RTM_GETNEIGH, flags: 0, payload: [0, 0, 0] };
}

/** @returns undefined for entries of other families @throws {NetlinkDecodeError} */
export function toNeighbour({ payload }: NetlinkMessage): Neighbour | undefined {
  const family = readField(payload, 0, 1);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  let address: Address | undefined;
  let mac: MacAddress | undefined;
  visitAttributes(payload, NEIGHBOUR_HEADER_BYTES, (type, value) => {
    if (type === NDA_DST) address = fromAddressBytes(readBytes(value));
    else if (type === NDA_LLADDR) mac = readMac(value);
  });
  if (address === undefined) return undefined;
  return { index: readField(payload, 4, 4) as Ifindex, address, mac, isPermanent: (readField(payload, 8, 2) & NUD_PERMANENT) !== 0 };
}

/** `struct ndmsg`: family u8, padding 3 bytes, index i32, state u16, flags u8, type u8. */
const NEIGHBOUR_HEADER_BYTES = 12;
