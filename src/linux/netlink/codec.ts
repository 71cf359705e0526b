/**
 * The wire format of netlink: messages, and attributes inside them.
 *
 * Everything in it is aligned to 32 bits and in the host's byte order (little endian on all our platforms), so what we send is built
 * as 32-bit words. That is also the quickest way for a process that runs this code once: few functions, no library calls.
 */

import { type Address, toAddressBytes } from "../../lib/ip/address.ts";
import { fromMacBytes, type MacAddress, toMacBytes } from "../../lib/mac-address.ts";

/**
 * Bytes from the kernel that are no netlink message: lengths that leave the buffer, or values of a wrong size.
 */
export class NetlinkDecodeError extends RangeError {
  override readonly name = "NetlinkDecodeError";
}

/** A payload to send. Each element is one 32-bit word, signed or not. */
export type Words = number[];

/** A message to send. */
export interface Envelope {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly payload: readonly number[];
}

/** A message that was received. */
export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** Behind the header; a copy, so it may be kept. */
  readonly payload: Uint8Array;
}

/** `struct nlmsghdr`: length u32, type u16, flags u16, sequence u32, port u32. */
export const HEADER_BYTES = 16;
/** `struct nlattr`: length u16, type u16. */
const ATTRIBUTE_HEADER_BYTES = 4;
/** The two highest bits of an attribute's type say "nested" and "in network byte order". */
const NLA_TYPE_MASK = 0x3fff;
const NLA_F_NESTED = 0x8000;

/** Four bytes as a word; the first is at the lowest address. */
export function toWord(first: number, second: number, third: number, fourth: number): number {
  return first | (second << 8) | (third << 16) | (fourth << 24);
}

/** Adds an attribute of 32 bits. */
export function pushNumber(words: Words, type: number, value: number): void {
  words.push((ATTRIBUTE_HEADER_BYTES + 4) | (type << 16), value);
}

/** Adds an attribute of any length, padded to whole words. */
export function pushBytes(words: Words, type: number, bytes: Uint8Array): void {
  words.push((ATTRIBUTE_HEADER_BYTES + bytes.length) | (type << 16));
  for (let at = 0; at < bytes.length; at += 4) {
    words.push(toWord(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0));
  }
}

/** Adds a text, with the closing NUL that the kernel wants. */
export function pushText(words: Words, type: number, text: string): void {
  pushBytes(words, type, new TextEncoder().encode(`${text}\0`));
}

/** Adds an attribute with an address in network order: 4 or 16 bytes. */
export function pushAddress(words: Words, type: number, address: Address): void {
  pushBytes(words, type, toAddressBytes(address));
}

/** Adds an attribute with a hardware address: 6 bytes. */
export function pushMac(words: Words, type: number, mac: MacAddress): void {
  pushBytes(words, type, toMacBytes(mac));
}

/** Begins an attribute that consists of what follows, until {@link endNested} is called with the result. */
export function beginNested(words: Words, type: number): number {
  return words.push((type | NLA_F_NESTED) << 16) - 1;
}

/** @param start what {@link beginNested} returned */
export function endNested(words: Words, start: number): void {
  words[start] = (words[start] ?? 0) | ((words.length - start) * 4);
}

/** Puts messages one behind the other, for one `send`. */
export function encodeMessages(messages: readonly Envelope[]): Int32Array {
  const words: Words = [];
  for (const { type, flags, sequence, payload } of messages) {
    words.push(HEADER_BYTES + 4 * payload.length, type | (flags << 16), sequence, 0);
    for (const word of payload) words.push(word);
  }
  return new Int32Array(words);
}

/**
 * Takes one datagram apart.
 *
 * @throws {NetlinkDecodeError} a length leaves the datagram
 */
export function decodeMessages(datagram: Uint8Array): NetlinkMessage[] {
  const view = viewOf(datagram);
  const messages: NetlinkMessage[] = [];
  for (let at = 0; at < datagram.length;) {
    const left = datagram.length - at;
    const length = left < HEADER_BYTES ? left : view.getUint32(at, true);
    if (length < HEADER_BYTES || length > left) {
      throw new NetlinkDecodeError(`decode message: got length ${length}, want ${HEADER_BYTES}..${left}`);
    }
    messages.push({
      type: view.getUint16(at + 4, true),
      flags: view.getUint16(at + 6, true),
      sequence: view.getUint32(at + 8, true),
      payload: datagram.slice(at + HEADER_BYTES, at + length),
    });
    at += align(length);
  }
  return messages;
}

/** Told of one attribute: its type, and where in the payload its value lies. */
export type AttributeVisitor = (type: number, value: Value) => void;

/**
 * Reads the attributes behind a fixed structure, or those inside a nested one.
 *
 * @param from where they begin
 * @throws {NetlinkDecodeError} a length leaves the payload
 */
export function visitAttributes(payload: Uint8Array, from: number, visit: AttributeVisitor): void {
  if (payload.length < from) throw new NetlinkDecodeError(`decode attributes: got ${payload.length} bytes, want ${from} or more`);
  const view = viewOf(payload);
  for (let at = from; payload.length - at >= ATTRIBUTE_HEADER_BYTES;) {
    const length = view.getUint16(at, true);
    if (length < ATTRIBUTE_HEADER_BYTES || length > payload.length - at) {
      throw new NetlinkDecodeError(`decode attribute: got length ${length}, want ${ATTRIBUTE_HEADER_BYTES}..${payload.length - at}`);
    }
    visit(view.getUint16(at + 2, true) & NLA_TYPE_MASK, { payload, start: at + ATTRIBUTE_HEADER_BYTES, end: at + length });
    at += align(length);
  }
}

/** Where an attribute's value lies; the `read…` functions make something of it. */
export interface Value {
  readonly payload: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The value's bytes, without copying them. */
export function readBytes({ payload, start, end }: Value): Uint8Array {
  return payload.subarray(start, end);
}

/** @throws {NetlinkDecodeError} not 4 bytes */
export function readNumber({ payload, start, end }: Value): number {
  if (end - start !== 4) throw new NetlinkDecodeError(`decode number: got ${end - start} bytes, want 4`);
  return viewOf(payload).getUint32(start, true);
}

/** Text up to its NUL; what is no UTF-8 is replaced. */
export function readText(value: Value): string {
  const bytes = readBytes(value);
  const length = bytes.indexOf(0);
  return new TextDecoder().decode(length < 0 ? bytes : bytes.subarray(0, length));
}

/** @returns undefined for a hardware address that is not of Ethernet */
export function readMac(value: Value): MacAddress | undefined {
  return value.end - value.start === 6 ? fromMacBytes(readBytes(value)) : undefined;
}

/** One number of a fixed structure. @throws {NetlinkDecodeError} the payload ends before */
export function readField(payload: Uint8Array, at: number, size: 1 | 2 | 4): number {
  if (payload.length < at + size) throw new NetlinkDecodeError(`decode structure: got ${payload.length} bytes, want ${at + size} or more`);
  const view = viewOf(payload);
  return size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at, true) : view.getUint32(at, true);
}

/** Messages and attributes begin at multiples of 4. */
function align(length: number): number {
  return (length + 3) & ~3;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
