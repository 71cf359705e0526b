/**
 * gRPC puts each message into a frame: one byte that says whether it is compressed, four with its length, the message.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

import { EtcdFailure } from "../failure.ts";

const HEADER_BYTES = 5;

export function toFrame(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEADER_BYTES);
  return frame;
}

/** Cuts a stream of bytes into messages. */
export class FrameReader {
  #rest: Uint8Array = new Uint8Array();

  /** @returns the messages that `chunk` completes @throws EtcdFailure for a compressed one, which nobody asked for */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    let bytes = chunk;
    if (this.#rest.length > 0) {
      bytes = new Uint8Array(this.#rest.length + chunk.length);
      bytes.set(this.#rest);
      bytes.set(chunk, this.#rest.length);
    }
    const messages: Uint8Array[] = [];
    let start = 0;
    while (bytes.length - start >= HEADER_BYTES) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + start);
      if (view.getUint8(0) !== 0) throw new EtcdFailure("lost", "the reply is compressed, or not gRPC");
      const end = start + HEADER_BYTES + view.getUint32(1);
      if (end > bytes.length) break;
      messages.push(bytes.subarray(start + HEADER_BYTES, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return messages;
  }
}
