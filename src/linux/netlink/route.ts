/** Routes. */

import { type Address, fromAddressBytes, WIDTH } from "../../lib/ip/address.ts";
import { baseOf, type Prefix, toHostPrefix } from "../../lib/ip/prefix.ts";
import { toAf } from "./address.ts";
import {
  type NetlinkMessage,
  pushAddress,
  pushNumber,
  readBytes,
  readField,
  readNumber,
  toWord,
  visitAttributes,
  type Words,
} from "./codec.ts";
import {
  AF_INET,
  AF_INET6,
  NLM_F_APPEND,
  NLM_F_CREATE,
  NLM_F_EXCL,
  RT_SCOPE_LINK,
  RT_SCOPE_UNIVERSE,
  RT_TABLE_MAIN,
  RTA_DST,
  RTA_GATEWAY,
  RTA_MULTIPATH,
  RTA_OIF,
  RTA_PRIORITY,
  RTA_TABLE,
  RTM_F_FIB_MATCH,
  RTM_F_LOOKUP_TABLE,
  RTM_GETROUTE,
  RTM_NEWROUTE,
  RTN_ANYCAST,
  RTN_LOCAL,
  RTN_UNICAST,
} from "./constants.ts";
import type { Ifindex } from "./link.ts";
import type { NetlinkRequest } from "./request.ts";
import type { Outcome } from "./route-socket.ts";

/** The routing protocol number of all our routes: tells them from everybody else's. */
export const RTPROT_NETPLUG = 110;

/** A route as the kernel shows it. */
export interface Route {
  readonly destination: Prefix;
  /** undefined: several next hops (see {@link toRoutes}), or none (blackhole). */
  readonly index: Ifindex | undefined;
  readonly gateway: Address | undefined;
  readonly table: number;
  /** Whether its destination is an address of the namespace itself, or stands for all of a network that the namespace is in. */
  readonly isLocal: boolean;
  /** `RTPROT_…` */
  readonly protocol: number;
  /**
   * Whether it keeps all traffic to a single address of IPv6 from a route that is added without a metric: the kernel refuses that one only if it
   * has the same metric. One of IPv4 that is added without a metric is always the best.
   */
  readonly hidesOthers: boolean;
}

/** A route that shall be there. */
export interface RouteSpec {
  readonly destination: Prefix;
  readonly index: Ifindex;
  /** undefined: the destination is on the link itself. */
  readonly gateway?: Address;
  /** Among several routes to one destination the lowest counts. @default the kernel's: 0 for IPv4, 1024 for IPv6 */
  readonly metric?: number;
  /** Whether a route of another interface to the same destination and metric may be there, and stays the first choice. IPv4 only. @default false */
  readonly isAppended?: boolean;
}

/** Adds a route to table main; refused with `EEXIST` when one to the same destination with the same metric is there. */
export function addRoute({ destination, index, gateway, metric, isAppended = false }: RouteSpec): NetlinkRequest {
  const { family, length } = destination;
  const scope = family === 4 && gateway === undefined ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  const words: Words = [toWord(toAf(family), length, 0, 0), toWord(RT_TABLE_MAIN, RTPROT_NETPLUG, scope, RTN_UNICAST), 0];
  if (length > 0) pushAddress(words, RTA_DST, baseOf(destination));
  if (gateway !== undefined) pushAddress(words, RTA_GATEWAY, gateway);
  pushNumber(words, RTA_OIF, index);
  if (metric !== undefined) pushNumber(words, RTA_PRIORITY, metric);
  const flags = NLM_F_CREATE | (isAppended ? NLM_F_APPEND : NLM_F_EXCL);
  return { operation: "add route", object: destination, type: RTM_NEWROUTE, flags, payload: words };
}

/**
 * Answered by the one {@link Route} that traffic to `address` takes, as its table has it; refused when there is none.
 *
 * @param through the only interface whose routes count. @default all
 */
export function getRoute(address: Address, through?: Ifindex): NetlinkRequest {
  const { family } = address;
  // For IPv6 the kernel always says the table, and refuses the flag.
  const flags = family === 4 ? RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE : RTM_F_FIB_MATCH;
  const words: Words = [toWord(toAf(family), WIDTH[family], 0, 0), 0, flags];
  pushAddress(words, RTA_DST, address);
  if (through !== undefined) pushNumber(words, RTA_OIF, through);
  return { operation: "look up route", object: toHostPrefix(address), type: RTM_GETROUTE, flags: 0, payload: words };
}

/** For a dump: every {@link Route} of a family, of all tables. */
export function listRoutes(family: 4 | 6): NetlinkRequest {
  return { operation: "list", object: "routes", type: RTM_GETROUTE, flags: 0, payload: [toWord(toAf(family), 0, 0, 0), 0, 0] };
}

/** What {@link getRoute} has found. @returns undefined where it was refused */
export function toFoundRoute(outcome: Outcome | undefined): Route | undefined {
  const reply = outcome?.replies[0];
  return reply && toRoute(reply);
}

/** @returns undefined for a family that is not IP @throws {NetlinkDecodeError} */
export function toRoute({ payload }: NetlinkMessage): Route | undefined {
  const af = readField(payload, 0, 1);
  if (af !== AF_INET && af !== AF_INET6) return undefined;
  const family = af === AF_INET ? 4 : 6;
  let base = 0n;
  let index: Ifindex | undefined;
  let gateway: Address | undefined;
  let table = readField(payload, 4, 1);
  let metric = 0;
  const length = readField(payload, 1, 1);
  const type = readField(payload, 7, 1);
  visitAttributes(payload, ROUTE_HEADER_BYTES, (type, value) => {
    if (type === RTA_DST) base = fromAddressBytes(readBytes(value)).value;
    else if (type === RTA_OIF) index = readNumber(value) as Ifindex;
    else if (type === RTA_GATEWAY) gateway = fromAddressBytes(readBytes(value));
    else if (type === RTA_TABLE) table = readNumber(value);
    else if (type === RTA_PRIORITY) metric = readNumber(value);
  });
  return {
    destination: { family, base, length },
    index,
    gateway,
    table,
    isLocal: type >= RTN_LOCAL && type <= RTN_ANYCAST,
    protocol: readField(payload, 5, 1),
    hidesOthers: length === 128 && table === RT_TABLE_MAIN && metric < 1024,
  };
}

/**
 * The same for each next hop: the kernel makes one route of several when somebody adds another of IPv6 with the same metric, as the CNI
 * project's plugins do with a default route.
 */
export function toRoutes(message: NetlinkMessage): readonly Route[] {
  const route = toRoute(message);
  const hops: Route[] = [];
  visitAttributes(message.payload, ROUTE_HEADER_BYTES, (type, value) => {
    if (type !== RTA_MULTIPATH || route === undefined) return;
    let rest = readBytes(value);
    while (rest.length > 0) {
      const length = Math.max(readField(rest, 0, 2), NEXT_HOP_BYTES);
      let gateway: Address | undefined;
      visitAttributes(rest.subarray(0, length), NEXT_HOP_BYTES, (of, inner) => {
        if (of === RTA_GATEWAY) gateway = fromAddressBytes(readBytes(inner));
      });
      hops.push({ ...route, index: readField(rest, 4, 4) as Ifindex, gateway });
      rest = rest.subarray(length);
    }
  });
  return route === undefined || hops.length > 0 ? hops : [route];
}

/** `struct rtnexthop`: length u16, flags u8, hops u8, interface i32. */
const NEXT_HOP_BYTES = 8;
/** `struct rtmsg`: family, lengths of destination and source, TOS, table, protocol, scope, type, all u8; flags u32. */
const ROUTE_HEADER_BYTES = 12;
