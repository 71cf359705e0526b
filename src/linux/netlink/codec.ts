/** The wire format of netlink: messages, and attributes inside them. Numbers are in the host's byte order, little endian on all our platforms. */

/**
 * Bytes from the kernel that are no netlink message: lengths that leave the buffer, or values of a wrong size.
 */
export class NetlinkDecodeError extends RangeError {
  override readonly name = "NetlinkDecodeError";
}

/** `struct nlmsghdr`: length u32, type u16, flags u16, sequence u32, port u32. */
export const HEADER_BYTES = 16;
/** `struct nlattr`: length u16, type u16. */
const ATTRIBUTE_HEADER_BYTES = 4;
/** The two highest bits of an attribute's type say "nested" and "in network byte order". */
const NLA_TYPE_MASK = 0x3fff;
const NLA_F_NESTED = 0x8000;

export interface NetlinkMessage {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** Behind the header; a copy, so it may be kept. */
  readonly payload: Uint8Array;
}

/** Attributes by type; of a repeated one the last. The values are views into the message. */
export type Attributes = ReadonlyMap<number, Uint8Array>;

/** Builds a payload: a fixed structure first, then attributes. Grows as needed. */
export class PayloadWriter {
  #bytes = new Uint8Array(512);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  u8(value: number): this {
    this.#bytes[this.#reserve(1)] = value;
    return this;
  }

  u16(value: number): this {
    const at = this.#reserve(2);
    this.#view.setUint16(at, value, true);
    return this;
  }

  u32(value: number): this {
    const at = this.#reserve(4);
    this.#view.setUint32(at, value, true);
    return this;
  }

  attribute(type: number, value: Uint8Array): this {
    this.u16(ATTRIBUTE_HEADER_BYTES + value.length).u16(type);
    const at = this.#reserve(value.length);
    this.#bytes.set(value, at);
    return this.#align();
  }

  attributeU8(type: number, value: number): this {
    return this.u16(ATTRIBUTE_HEADER_BYTES + 1)
      .u16(type)
      .u8(value)
      .#align();
  }

  attributeU32(type: number, value: number): this {
    return this.u16(ATTRIBUTE_HEADER_BYTES + 4)
      .u16(type)
      .u32(value);
  }

  /** With the closing NUL that the kernel wants. */
  attributeText(type: number, value: string): this {
    return this.attribute(type, Buffer.from(`${value}\0`));
  }

  /** An attribute that consists of what `write` adds. */
  nested(type: number, write: (writer: PayloadWriter) => void): this {
    const start = this.#length;
    this.u16(0).u16(type | NLA_F_NESTED);
    write(this);
    this.#view.setUint16(start, this.#length - start, true);
    return this;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** @returns where `count` bytes begin that the caller fills */
  #reserve(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    return at;
  }

  #align(): this {
    this.#reserve(align(this.#length) - this.#length);
    return this;
  }
}

/** A request as it goes into a message, without its header. */
export interface Envelope {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  readonly payload: Uint8Array;
}

/** Puts messages one behind the other, for one `send`. */
export function encodeMessages(messages: readonly Envelope[]): Uint8Array {
  const total = messages.reduce((sum, message) => sum + align(HEADER_BYTES + message.payload.length), 0);
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const { type, flags, sequence, payload } of messages) {
    view.setUint32(at, HEADER_BYTES + payload.length, true);
    view.setUint16(at + 4, type, true);
    view.setUint16(at + 6, flags, true);
    view.setUint32(at + 8, sequence, true);
    bytes.set(payload, at + HEADER_BYTES);
    at += align(HEADER_BYTES + payload.length);
  }
  return bytes;
}

/**
 * Takes one datagram apart.
 *
 * @throws {NetlinkDecodeError} a length leaves the datagram
 */
export function decodeMessages(datagram: Uint8Array): NetlinkMessage[] {
  const view = viewOf(datagram);
  const messages: NetlinkMessage[] = [];
  for (let at = 0; at < datagram.length; ) {
    if (datagram.length - at < HEADER_BYTES) throw new NetlinkDecodeError(`decode message: ${datagram.length - at} bytes are left, want ${HEADER_BYTES}`);
    const length = view.getUint32(at, true);
    if (length < HEADER_BYTES || length > datagram.length - at) {
      throw new NetlinkDecodeError(`decode message: got length ${length}, want ${HEADER_BYTES}..${datagram.length - at}`);
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

/**
 * Reads the attributes behind a fixed structure, or those of a nested attribute.
 *
 * @param skipBytes size of the fixed structure
 * @throws {NetlinkDecodeError} a length leaves the payload
 */
export function decodeAttributes(payload: Uint8Array, skipBytes = 0): Attributes {
  if (payload.length < skipBytes) throw new NetlinkDecodeError(`decode attributes: got ${payload.length} bytes, want ${skipBytes} or more`);
  const view = viewOf(payload);
  const attributes = new Map<number, Uint8Array>();
  for (let at = align(skipBytes); payload.length - at >= ATTRIBUTE_HEADER_BYTES; ) {
    const length = view.getUint16(at, true);
    if (length < ATTRIBUTE_HEADER_BYTES || length > payload.length - at) {
      throw new NetlinkDecodeError(`decode attribute: got length ${length}, want ${ATTRIBUTE_HEADER_BYTES}..${payload.length - at}`);
    }
    attributes.set(view.getUint16(at + 2, true) & NLA_TYPE_MASK, payload.subarray(at + ATTRIBUTE_HEADER_BYTES, at + length));
    at += align(length);
  }
  return attributes;
}

/** @throws {NetlinkDecodeError} the bytes end before */
export function readU8(bytes: Uint8Array, at = 0): number {
  const value = bytes[at];
  if (value === undefined) throw new NetlinkDecodeError(`decode number: got ${bytes.length} bytes, want ${at + 1} or more`);
  return value;
}

/** @throws {NetlinkDecodeError} the bytes end before */
export function readU16(bytes: Uint8Array, at = 0): number {
  if (bytes.length < at + 2) throw new NetlinkDecodeError(`decode number: got ${bytes.length} bytes, want ${at + 2} or more`);
  return viewOf(bytes).getUint16(at, true);
}

/** @throws {NetlinkDecodeError} the bytes end before */
export function readU32(bytes: Uint8Array, at = 0): number {
  if (bytes.length < at + 4) throw new NetlinkDecodeError(`decode number: got ${bytes.length} bytes, want ${at + 4} or more`);
  return viewOf(bytes).getUint32(at, true);
}

/** @throws {NetlinkDecodeError} the bytes end before */
export function readI32(bytes: Uint8Array, at = 0): number {
  return readU32(bytes, at) | 0;
}

/** Text up to its NUL; what is no UTF-8 is replaced. */
export function readText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Messages and attributes begin at multiples of 4. */
function align(length: number): number {
  return (length + 3) & ~3;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
