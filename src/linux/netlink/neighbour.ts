/** Neighbours: which MAC address stands for which IP address on a link. */

import { type Address, fromAddressBytes, toAddressBytes, toAddressText } from "../../lib/ip/address.ts";
import { fromMacBytes, type MacAddress, toMacBytes } from "../../lib/mac-address.ts";
import { toAf } from "./address.ts";
import { decodeAttributes, type NetlinkMessage, PayloadWriter, readI32, readU16, readU8 } from "./codec.ts";
import { AF_INET, AF_INET6, AF_UNSPEC, NDA_DST, NDA_LLADDR, NLM_F_CREATE, NLM_F_REPLACE, NUD_PERMANENT, RTM_GETNEIGH, RTM_NEWNEIGH } from "./constants.ts";
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
  const payload = writeNeighbourHeader(toAf(address.family), index, NUD_PERMANENT)
    .attribute(NDA_DST, toAddressBytes(address))
    .attribute(NDA_LLADDR, toMacBytes(mac))
    .finish();
  return { operation: "set neighbour", object: toAddressText(address), type: RTM_NEWNEIGH, flags: NLM_F_CREATE | NLM_F_REPLACE, payload };
}

/** For a dump: every {@link Neighbour} of the namespace. */
export function listNeighbours(): NetlinkRequest {
  return { operation: "list", object: "neighbours", type: RTM_GETNEIGH, flags: 0, payload: writeNeighbourHeader(AF_UNSPEC, 0, 0).finish() };
}

/** @returns undefined for entries of other families @throws {NetlinkDecodeError} */
export function toNeighbour({ payload }: NetlinkMessage): Neighbour | undefined {
  const attributes = decodeAttributes(payload, NEIGHBOUR_HEADER_BYTES);
  const family = readU8(payload, 0);
  const destination = attributes.get(NDA_DST);
  if ((family !== AF_INET && family !== AF_INET6) || destination === undefined) return undefined;
  const mac = attributes.get(NDA_LLADDR);
  return {
    index: readI32(payload, 4) as Ifindex,
    address: fromAddressBytes(destination),
    mac: mac?.length === 6 ? fromMacBytes(mac) : undefined,
    isPermanent: (readU16(payload, 8) & NUD_PERMANENT) !== 0,
  };
}

/** `struct ndmsg`: family u8, padding 3 bytes, index i32, state u16, flags u8, type u8. */
const NEIGHBOUR_HEADER_BYTES = 12;

function writeNeighbourHeader(af: number, index: number, state: number): PayloadWriter {
  return new PayloadWriter().u8(af).u8(0).u16(0).u32(index).u16(state).u8(0).u8(0);
}
