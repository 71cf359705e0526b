/** Interfaces. */

import type { MacAddress } from "../../lib/mac-address.ts";
import {
  beginNested,
  endNested,
  type NetlinkMessage,
  pushBytes,
  pushMac,
  pushNumber,
  pushText,
  readField,
  readMac,
  readNumber,
  readText,
  type Value,
  visitAttributes,
  type Words,
} from "./codec.ts";
import {
  IF_OPER_UP,
  IFF_UP,
  IFLA_ADDRESS,
  IFLA_EXT_MASK,
  IFLA_IFALIAS,
  IFLA_IFNAME,
  IFLA_INFO_DATA,
  IFLA_INFO_KIND,
  IFLA_LINK,
  IFLA_LINKINFO,
  IFLA_MTU,
  IFLA_NET_NS_FD,
  IFLA_NUM_RX_QUEUES,
  IFLA_NUM_TX_QUEUES,
  IFLA_OPERSTATE,
  NLM_F_CREATE,
  NLM_F_EXCL,
  RTEXT_FILTER_SKIP_STATS,
  RTM_DELLINK,
  RTM_GETLINK,
  RTM_NEWLINK,
  RTM_SETLINK,
  VETH_INFO_PEER,
} from "./constants.ts";
import type { NetlinkRequest } from "./request.ts";

/** Number of an interface in its namespace; the same number means another interface elsewhere. */
export type Ifindex = number & { readonly brand: "Ifindex" };

/** An interface as the kernel shows it. */
export interface Link {
  readonly index: Ifindex;
  readonly name: string;
  /** undefined when none is set. */
  readonly alias: string | undefined;
  /** `veth`, `bridge`, …; undefined for hardware. */
  readonly kind: string | undefined;
  /** Bytes. */
  readonly mtu: number;
  readonly mac: MacAddress | undefined;
  /** Wanted up. */
  readonly isUp: boolean;
  /** Whether both sides are up, and the kernel's worker has let this one send. */
  readonly isOperational: boolean;
  /** Of a veth: index of the other side in the other side's namespace. */
  readonly peer: Ifindex | undefined;
}

/** Both ends of a veth pair as they shall be created. */
export interface VethSpec {
  readonly name: string;
  /** Bytes, of both ends. */
  readonly mtu: number;
  readonly mac: MacAddress;
  /** On both ends: unless told, the kernel gives the other end as many as there are processors. */
  readonly queues: number;
  readonly peerName: string;
  readonly peerMac: MacAddress;
  /** Descriptor of the namespace in which the other end is born; it never exists elsewhere. */
  readonly peerNetns: number;
}

/** Names one interface. */
export type LinkKey = { readonly name: string } | { readonly index: Ifindex };

/** Creates both ends in one message; both are down. The kernel ignores an alias here: it is set by {@link setLinkAlias}. */
export function createVeth(spec: VethSpec): NetlinkRequest {
  const words = linkHeader(0, 0);
  pushEnd(words, spec.name, spec.mac, spec);
  const info = beginNested(words, IFLA_LINKINFO);
  pushText(words, IFLA_INFO_KIND, "veth");
  const data = beginNested(words, IFLA_INFO_DATA);
  const peer = beginNested(words, VETH_INFO_PEER);
  for (const word of linkHeader(0, 0)) words.push(word);
  pushEnd(words, spec.peerName, spec.peerMac, spec);
  pushNumber(words, IFLA_NET_NS_FD, spec.peerNetns);
  endNested(words, peer);
  endNested(words, data);
  endNested(words, info);
  return { operation: "create veth", object: spec.name, type: RTM_NEWLINK, flags: NLM_F_CREATE | NLM_F_EXCL, payload: words };
}

/** Takes the interface up; its other end takes part as soon as it is up too. */
export function setLinkUp(index: number, name: string): NetlinkRequest {
  return { operation: "take up interface", object: name, type: RTM_SETLINK, flags: 0, payload: linkHeader(index, IFF_UP) };
}

/** @param alias 255 bytes at most */
export function setLinkAlias(index: Ifindex, name: string, alias: string): NetlinkRequest {
  const words = linkHeader(index, 0);
  pushBytes(words, IFLA_IFALIAS, new TextEncoder().encode(alias));
  return { operation: "set alias of", object: name, type: RTM_SETLINK, flags: 0, payload: words };
}

/** The interface may stay up. */
export function setLinkMac(index: Ifindex, name: string, mac: MacAddress): NetlinkRequest {
  const words = linkHeader(index, 0);
  pushMac(words, IFLA_ADDRESS, mac);
  return { operation: "set MAC address of", object: name, type: RTM_SETLINK, flags: 0, payload: words };
}

/** Answered by one {@link Link}, or refused with `ENODEV`. */
export function getLink(which: LinkKey): NetlinkRequest {
  const words = linkHeader("index" in which ? which.index : 0, 0);
  if ("name" in which) pushText(words, IFLA_IFNAME, which.name);
  pushNumber(words, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  const object = "name" in which ? which.name : `#${which.index}`;
  return { operation: "look up interface", object, type: RTM_GETLINK, flags: 0, payload: words };
}

/** For a dump: every {@link Link} of the namespace. */
export function listLinks(): NetlinkRequest {
  const words = linkHeader(0, 0);
  pushNumber(words, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  return { operation: "list", object: "interfaces", type: RTM_GETLINK, flags: 0, payload: words };
}

/** Takes its other end, and all addresses and routes over either, with it. */
export function deleteLink(index: Ifindex, name: string): NetlinkRequest {
  return { operation: "delete interface", object: name, type: RTM_DELLINK, flags: 0, payload: linkHeader(index, 0) };
}

/** @throws {NetlinkDecodeError} */
export function toLink({ payload }: NetlinkMessage): Link {
  const index = readField(payload, 4, 4) as Ifindex;
  const flags = readField(payload, 8, 4);
  let name = "";
  let alias: string | undefined;
  let kind: string | undefined;
  let isOperational = false;
  let mtu = 0;
  let mac: MacAddress | undefined;
  // Older kernels leave it out when both ends have the same index.
  let peer = index;
  visitAttributes(payload, LINK_HEADER_BYTES, (type, value) => {
    if (type === IFLA_IFNAME) name = readText(value);
    else if (type === IFLA_IFALIAS) alias = readText(value);
    else if (type === IFLA_MTU) mtu = readNumber(value);
    else if (type === IFLA_OPERSTATE) isOperational = readField(value.payload, value.start, 1) === IF_OPER_UP;
    else if (type === IFLA_ADDRESS) mac = readMac(value);
    else if (type === IFLA_LINK) peer = readNumber(value) as Ifindex;
    else if (type === IFLA_LINKINFO) kind = toKind(value);
  });
  const isUp = (flags & IFF_UP) !== 0;
  return { index, name, alias, kind, mtu, mac, isUp, isOperational, peer: kind === "veth" ? peer : undefined };
}

/** `struct ifinfomsg`: family u8, padding u8, type u16, index i32, flags u32, mask of flags to change u32. */
const LINK_HEADER_BYTES = 16;

/** @param up `IFF_UP` to take it up, 0 to leave it as it is */
function linkHeader(index: number, up: number): Words {
  return [0, index, up, up];
}

function pushEnd(words: Words, name: string, mac: MacAddress, { mtu, queues }: VethSpec): void {
  pushText(words, IFLA_IFNAME, name);
  pushMac(words, IFLA_ADDRESS, mac);
  pushNumber(words, IFLA_MTU, mtu);
  pushNumber(words, IFLA_NUM_TX_QUEUES, queues);
  pushNumber(words, IFLA_NUM_RX_QUEUES, queues);
}

function toKind({ payload, start, end }: Value): string | undefined {
  let kind: string | undefined;
  visitAttributes(payload.subarray(0, end), start, (type, value) => {
    if (type === IFLA_INFO_KIND) kind = readText(value);
  });
  return kind;
}
