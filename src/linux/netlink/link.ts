/** Interfaces. */

import { fromMacBytes, type MacAddress, toMacBytes } from "../../lib/mac-address.ts";
import { type Attributes, decodeAttributes, type NetlinkMessage, PayloadWriter, readI32, readText, readU32 } from "./codec.ts";
import {
  AF_UNSPEC,
  IFF_LOWER_UP,
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
  /** Up, and so is its other side. */
  readonly hasCarrier: boolean;
  /** Of a veth: index of the other side in the other side's namespace. */
  readonly peer: Ifindex | undefined;
}

/** Both ends of a veth pair as they shall be created. */
export interface VethSpec {
  readonly name: string;
  /** Bytes, of both ends. */
  readonly mtu: number;
  readonly mac: MacAddress;
  /** Of both ends: the kernel gives the other one as many as there are processors unless told. */
  readonly queues: number;
  readonly peerName: string;
  readonly peerMac: MacAddress;
  /** Descriptor of the namespace in which the other end is born; it never exists elsewhere. */
  readonly peerNetns: number;
}

/** Creates both ends in one message; both are down. The kernel ignores an alias here: it is set by {@link setLinkAlias}. */
export function createVeth(spec: VethSpec): NetlinkRequest {
  const writer = writeLinkHeader(new PayloadWriter(), 0, 0);
  writer.attributeText(IFLA_IFNAME, spec.name);
  writeEnd(writer, spec.mac, spec);
  writer.nested(IFLA_LINKINFO, () =>
    writer.attributeText(IFLA_INFO_KIND, "veth").nested(IFLA_INFO_DATA, () =>
      writer.nested(VETH_INFO_PEER, () => {
        writeLinkHeader(writer, 0, 0).attributeText(IFLA_IFNAME, spec.peerName).attributeU32(IFLA_NET_NS_FD, spec.peerNetns);
        writeEnd(writer, spec.peerMac, spec);
      }),
    ),
  );
  return { operation: "create veth", object: spec.name, type: RTM_NEWLINK, flags: NLM_F_CREATE | NLM_F_EXCL, payload: writer.finish() };
}

/** Takes the interface up; its other end takes part as soon as it is up too. */
export function setLinkUp(index: number, name: string): NetlinkRequest {
  return { operation: "take up interface", object: name, type: RTM_SETLINK, flags: 0, payload: writeLinkHeader(new PayloadWriter(), index, IFF_UP).finish() };
}

/** @param alias 255 bytes at most */
export function setLinkAlias(index: Ifindex, name: string, alias: string): NetlinkRequest {
  const payload = writeLinkHeader(new PayloadWriter(), index, 0).attribute(IFLA_IFALIAS, Buffer.from(alias)).finish();
  return { operation: "set alias of", object: name, type: RTM_SETLINK, flags: 0, payload };
}

export function setLinkMac(index: Ifindex, name: string, mac: MacAddress): NetlinkRequest {
  const payload = writeLinkHeader(new PayloadWriter(), index, 0).attribute(IFLA_ADDRESS, toMacBytes(mac)).finish();
  return { operation: "set MAC address of", object: name, type: RTM_SETLINK, flags: 0, payload };
}

/** Answered by one {@link Link}, or refused with `ENODEV`. */
export function getLink(which: { readonly name: string } | { readonly index: Ifindex }): NetlinkRequest {
  const writer = writeLinkHeader(new PayloadWriter(), "index" in which ? which.index : 0, 0);
  if ("name" in which) writer.attributeText(IFLA_IFNAME, which.name);
  writer.attributeU32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  const object = "name" in which ? which.name : `#${which.index}`;
  return { operation: "look up interface", object, type: RTM_GETLINK, flags: 0, payload: writer.finish() };
}

/** For a dump: every {@link Link} of the namespace. */
export function listLinks(): NetlinkRequest {
  const payload = writeLinkHeader(new PayloadWriter(), 0, 0).attributeU32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS).finish();
  return { operation: "list", object: "interfaces", type: RTM_GETLINK, flags: 0, payload };
}

/** Takes its other end, and all addresses and routes over either, with it. */
export function deleteLink(index: Ifindex, name: string): NetlinkRequest {
  return { operation: "delete interface", object: name, type: RTM_DELLINK, flags: 0, payload: writeLinkHeader(new PayloadWriter(), index, 0).finish() };
}

/** @throws {NetlinkDecodeError} */
export function toLink({ payload }: NetlinkMessage): Link {
  const attributes = decodeAttributes(payload, LINK_HEADER_BYTES);
  const flags = readU32(payload, 8);
  const mac = attributes.get(IFLA_ADDRESS);
  const peer = attributes.get(IFLA_LINK);
  const info = attributes.get(IFLA_LINKINFO);
  const mtu = attributes.get(IFLA_MTU);
  const kind = info === undefined ? undefined : textOf(decodeAttributes(info), IFLA_INFO_KIND);
  const index = readI32(payload, 4) as Ifindex;
  return {
    index,
    name: textOf(attributes, IFLA_IFNAME) ?? "",
    alias: textOf(attributes, IFLA_IFALIAS),
    kind,
    mtu: mtu === undefined ? 0 : readU32(mtu),
    mac: mac?.length === 6 ? fromMacBytes(mac) : undefined,
    isUp: (flags & IFF_UP) !== 0,
    hasCarrier: (flags & IFF_LOWER_UP) !== 0,
    // Older kernels leave it out when both ends have the same index.
    peer: kind !== "veth" ? undefined : peer === undefined ? index : (readI32(peer) as Ifindex),
  };
}

/** `struct ifinfomsg`: family u8, padding u8, type u16, index i32, flags u32, mask of flags to change u32. */
const LINK_HEADER_BYTES = 16;

/** @param up `IFF_UP` to take it up, 0 to leave it as it is */
function writeLinkHeader(writer: PayloadWriter, index: number, up: number): PayloadWriter {
  return writer.u8(AF_UNSPEC).u8(0).u16(0).u32(index).u32(up).u32(up);
}

function writeEnd(writer: PayloadWriter, mac: MacAddress, { mtu, queues }: VethSpec): void {
  writer
    .attribute(IFLA_ADDRESS, toMacBytes(mac))
    .attributeU32(IFLA_MTU, mtu)
    .attributeU32(IFLA_NUM_TX_QUEUES, queues)
    .attributeU32(IFLA_NUM_RX_QUEUES, queues);
}

function textOf(attributes: Attributes, type: number): string | undefined {
  const value = attributes.get(type);
  return value === undefined ? undefined : readText(value);
}
