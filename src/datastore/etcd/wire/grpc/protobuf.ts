/**
 * As much of the protocol buffers wire format as etcd's messages need: a message is a sequence of
 * `tag = field << 3 | type`, with type 0 for a varint and 2 for bytes with their length before them.
 *
 * @see https://protobuf.dev/programming-guides/encoding/
 */

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** Bytes that are no message, or end in the middle of one. */
export class ProtobufError extends RangeError {
  override readonly name = "ProtobufError";
}

/** Collects the fields of one message. Fields with their zero value are left out, as the format has it. */
export class MessageWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  /** A whole number, 0 or more; truth values are 0 and 1. */
  number(field: number, value: number | bigint): this {
    if (value === 0 || value === 0n) return this;
    this.#varint((field << 3) | VARINT);
    if (typeof value === "bigint") this.#bigVarint(value);
    else this.#varint(value);
    return this;
  }

  text(field: number, value: string): this {
    if (value === "") return this;
    return this.#field(field, new TextEncoder().encode(value));
  }

  /** Bytes, each as the character of its number. */
  bytes(field: number, value: string): this {
    if (value === "") return this;
    return this.#field(field, fromByteText(value));
  }

  /** A message inside this one; it is written even when it is empty. */
  message(field: number, write: (message: MessageWriter) => void): this {
    const inner = new MessageWriter();
    write(inner);
    return this.#field(field, inner.finish());
  }

  /** The message so far. Valid until the next call of the writer. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #field(field: number, bytes: Uint8Array): this {
    this.#varint((field << 3) | BYTES);
    this.#varint(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  #bigVarint(value: bigint): void {
    this.#reserve(10);
    let rest = value;
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}

/** One field of a message: a number when it is a varint, else its bytes. */
export type Field = { readonly field: number; readonly number: bigint } | { readonly field: number; readonly bytes: Uint8Array };

/** Fields of a message in their order, as {@link MessageWriter} writes them; those of fixed width are skipped. @throws ProtobufError */
function* fieldsOf(message: Uint8Array): Iterable<Field> {
  let position = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = message[position++];
      if (byte === undefined) throw new ProtobufError("read varint: the message ends");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new ProtobufError("read varint: got more than 10 bytes");
  };
  while (position < message.length) {
    const tag = Number(varint());
    const [field, type] = [Math.floor(tag / 8), tag % 8];
    if (type === VARINT) {
      yield { field, number: varint() };
      continue;
    }
    if (type !== BYTES && type !== FIXED64 && type !== FIXED32) throw new ProtobufError(`read field ${field}: got wire type ${type}`);
    const length = type === BYTES ? Number(varint()) : type === FIXED64 ? 8 : 4;
    if (position + length > message.length)
      throw new ProtobufError(`read field ${field}: got ${message.length - position} of ${length} bytes`);
    if (type === BYTES) yield { field, bytes: message.subarray(position, position + length) };
    position += length;
  }
}

/** A message with fields looked up by number. */
export class MessageReader {
  readonly #fields: readonly Field[];

  constructor(message: Uint8Array) {
    this.#fields = [...fieldsOf(message)];
  }

  /** 0 when it is absent. */
  number(field: number): bigint {
    const found = this.#fields.findLast((candidate) => candidate.field === field);
    return found !== undefined && "number" in found ? found.number : 0n;
  }

  isSet(field: number): boolean {
    return this.number(field) !== 0n;
  }

  /** "" when it is absent. */
  text(field: number): string {
    const found = this.#fields.findLast((candidate) => candidate.field === field);
    return found !== undefined && "bytes" in found ? new TextDecoder().decode(found.bytes) : "";
  }

  /** All of a field that repeats. */
  texts(field: number): readonly string[] {
    return this.#fields.flatMap((candidate) =>
      candidate.field === field && "bytes" in candidate ? [new TextDecoder().decode(candidate.bytes)] : [],
    );
  }

  /** Bytes, each as the character of its number: what is no UTF-8 stays what it is. "" when it is absent. */
  bytes(field: number): string {
    const found = this.#fields.findLast((candidate) => candidate.field === field);
    return found !== undefined && "bytes" in found ? toByteText(found.bytes) : "";
  }

  /** Empty when it is absent. */
  message(field: number): MessageReader {
    return this.messages(field).at(-1) ?? new MessageReader(new Uint8Array());
  }

  messages(field: number): readonly MessageReader[] {
    const found: MessageReader[] = [];
    for (const candidate of this.#fields) {
      if (candidate.field === field && "bytes" in candidate) found.push(new MessageReader(candidate.bytes));
    }
    return found;
  }
}

/** As `btoa` and `atob` have it. */
function toByteText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** @throws ProtobufError for a character that is no byte */
function fromByteText(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0xff) throw new ProtobufError(`write bytes: got the character ${code}, want 255 at most`);
    bytes[i] = code;
  }
  return bytes;
}
