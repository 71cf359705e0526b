/** Routes. */

import { type Address, fromAddressBytes, toAddressBytes, toAddressText, WIDTH } from "../../lib/ip/address.ts";
import { baseOf, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { toAf } from "./address.ts";
import { decodeAttributes, type NetlinkMessage, PayloadWriter, readU32, readU8 } from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
  NLM_F_CREATE,
  NLM_F_EXCL,
  RT_SCOPE_LINK,
  RT_SCOPE_UNIVERSE,
  RT_TABLE_MAIN,
  RT_TABLE_UNSPEC,
  RTA_DST,
  RTA_GATEWAY,
  RTA_OIF,
  RTA_TABLE,
  RTM_F_FIB_MATCH,
  RTM_GETROUTE,
  RTM_NEWROUTE,
  RTN_UNICAST,
} from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";

/** The routing protocol number under which all our routes stand: tells them from everybody else's. */
export const RTPROT_NETPLUG = 110;

/** A route as the kernel shows it. */
export interface Route {
  readonly destination: Prefix;
  /** undefined: several next hops, or none (blackhole). */
  readonly index: Ifindex | undefined;
  readonly gateway: Address | undefined;
  readonly table: number;
  /** `RTPROT_…` */
  readonly protocol: number;
}

export interface RouteSpec {
  readonly destination: Prefix;
  readonly index: Ifindex;
  /** undefined: the destination is on the link itself. */
  readonly gateway?: Address;
}

/** Adds a route to table main; refused with `EEXIST` when one to the same destination is there. */
export function addRoute({ destination, index, gateway }: RouteSpec): NetlinkRequest {
  const { family, length } = destination;
  const isLinkScope = family === 4 && gateway === undefined;
  const writer = new PayloadWriter()
    .u8(toAf(family))
    .u8(length)
    .u8(0)
    .u8(0)
    .u8(RT_TABLE_MAIN)
    .u8(RTPROT_NETPLUG)
    .u8(isLinkScope ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE)
    .u8(RTN_UNICAST)
    .u32(0);
  if (length > 0) writer.attribute(RTA_DST, toAddressBytes(baseOf(destination)));
  if (gateway !== undefined) writer.attribute(RTA_GATEWAY, toAddressBytes(gateway));
  writer.attributeU32(RTA_OIF, index);
  const via = gateway === undefined ? "" : ` via ${toAddressText(gateway)}`;
  const object = `${toPrefixText(destination)}${via}`;
  return { operation: "add route", object, type: RTM_NEWROUTE, flags: NLM_F_CREATE | NLM_F_EXCL, payload: writer.finish() };
}

/** Answered by the one {@link Route} that traffic to `address` takes, as it stands in its table; refused when there is none. */
export function getRoute(address: Address): NetlinkRequest {
  const payload = writeRouteHeader(address.family, WIDTH[address.family], RTM_F_FIB_MATCH).attribute(RTA_DST, toAddressBytes(address)).finish();
  return { operation: "look up route", object: toAddressText(address), type: RTM_GETROUTE, flags: 0, payload };
}

/** For a dump: every {@link Route} of a family, of all tables. */
export function listRoutes(family: 4 | 6): NetlinkRequest {
  return { operation: "list", object: "routes", type: RTM_GETROUTE, flags: 0, payload: writeRouteHeader(family, 0, 0).finish() };
}

/** @returns undefined for a family that is not IP @throws {NetlinkDecodeError} */
export function toRoute({ payload }: NetlinkMessage): Route | undefined {
  const attributes = decodeAttributes(payload, ROUTE_HEADER_BYTES);
  const family = readU8(payload, 0);
  if (family !== AF_INET && family !== AF_INET6) return undefined;
  const destination = attributes.get(RTA_DST);
  const index = attributes.get(RTA_OIF);
  const gateway = attributes.get(RTA_GATEWAY);
  const table = attributes.get(RTA_TABLE);
  return {
    destination: {
      family: family === AF_INET ? 4 : 6,
      base: destination === undefined ? 0n : fromAddressBytes(destination).value,
      length: readU8(payload, 1),
    },
    index: index === undefined ? undefined : (readU32(index) as Ifindex),
    gateway: gateway === undefined ? undefined : fromAddressBytes(gateway),
    table: table === undefined ? readU8(payload, 4) : readU32(table),
    protocol: readU8(payload, 5),
  };
}

/** `struct rtmsg`: family, lengths of destination and source, TOS, table, protocol, scope, type, all u8; flags u32. */
const ROUTE_HEADER_BYTES = 12;

function writeRouteHeader(family: 4 | 6, length: number, flags: number): PayloadWriter {
  return new PayloadWriter().u8(toAf(family)).u8(length).u8(0).u8(0).u8(RT_TABLE_UNSPEC).u8(0).u8(0).u8(0).u32(flags);
}
