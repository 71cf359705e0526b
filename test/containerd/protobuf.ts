/** Just enough of the protobuf wire format to speak to a container runtime: messages are field numbers with values. */

/** A field's value; a list repeats the field, an object is a message of its own, false and 0 and "" are left out. */
export type ProtoValue = string | number | boolean | Uint8Array | ProtoMessage | readonly ProtoValue[];
export interface ProtoMessage {
  readonly [field: number]: ProtoValue | undefined;
}

/** What a message holds: each field's values in order, those with a length as bytes. */
export type ProtoFields = ReadonlyMap<number, readonly (number | Uint8Array)[]>;

const VARINT = 0;
const LENGTH = 2;

/** @see https://protobuf.dev/programming-guides/encoding */
export function encodeMessage(message: ProtoMessage): Uint8Array {
  const bytes: number[] = [];
  for (const [field, value] of Object.entries(message)) encodeField(bytes, Number(field), value);
  return Uint8Array.from(bytes);
}

function encodeField(bytes: number[], field: number, value: ProtoValue | undefined): void {
  if (value === undefined || value === "" || value === 0 || value === false) return;
  if (Array.isArray(value)) {
    for (const one of value) encodeField(bytes, field, one);
  } else if (typeof value === "number" || typeof value === "boolean") {
    pushVarint(bytes, field * 8 + VARINT);
    pushVarint(bytes, Number(value));
  } else {
    const content = value instanceof Uint8Array ? value : toBytes(value);
    pushVarint(bytes, field * 8 + LENGTH);
    pushVarint(bytes, content.length);
    bytes.push(...content);
  }
}

function toBytes(value: string | ProtoMessage): Uint8Array {
  return typeof value === "string" ? new TextEncoder().encode(value) : encodeMessage(value);
}

function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}

export function decodeMessage(bytes: Uint8Array): ProtoFields {
  const fields = new Map<number, (number | Uint8Array)[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError("decode protobuf: ended inside a number");
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const field = Math.floor(key / 8);
    let value: number | Uint8Array;
    if (key % 8 === VARINT) {
      value = varint();
    } else if (key % 8 === LENGTH) {
      const length = varint();
      value = bytes.subarray(at, at + length);
      at += length;
    } else {
      throw new RangeError(`decode protobuf: got wire type ${key % 8}, want ${VARINT} or ${LENGTH}`);
    }
    fields.set(field, [...(fields.get(field) ?? []), value]);
  }
  return fields;
}

/** The text of a field, "" when it is absent. */
export function textOf(fields: ProtoFields, field: number): string {
  const value = fields.get(field)?.[0];
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
}

/** The number of a field, 0 when it is absent. */
export function numberOf(fields: ProtoFields, field: number): number {
  const value = fields.get(field)?.[0];
  return typeof value === "number" ? value : 0;
}

/** The messages of a repeated field. */
export function messagesOf(fields: ProtoFields, field: number): readonly ProtoFields[] {
  return (fields.get(field) ?? []).filter((value) => value instanceof Uint8Array).map(decodeMessage);
}
