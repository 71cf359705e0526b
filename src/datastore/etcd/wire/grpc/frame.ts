/**
 * gRPC puts each message into a frame: one byte that says whether it is compressed, four with its length, the message.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */

import { EtcdFailure } from "../../protocol/failure.ts";

const HEADER_BYTES = 5;

/** A message in its frame, not compressed. */
export function toFrame(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEADER_BYTES + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, HEADER_BYTES);
  return frame;
}

/** Many times what etcd sends at once: bytes. */
const LONGEST_MESSAGE = 256 * 1024 * 1024;

/** Cuts a stream of bytes into messages. */
export class FrameReader {
  /** What has come and is no message yet. Put together only when it suffices: long messages are not copied with each of their pieces. */
  #pieces: Uint8Array[] = [];
  #length = 0;
  /** How much has to be there before anything can be done. */
  #wanted = HEADER_BYTES;

  /** @returns the messages that `chunk` completes @throws EtcdFailure for a compressed one, which nobody asked for, and one that is too long */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    this.#pieces.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted) return [];
    const bytes = Bun.concatArrayBuffers(this.#pieces, Infinity, true);
    const messages: Uint8Array[] = [];
    let start = 0;
    for (;;) {
      this.#wanted = HEADER_BYTES;
      if (bytes.length - start < this.#wanted) break;
      this.#wanted += readLength(bytes, start);
      if (bytes.length - start < this.#wanted) break;
      messages.push(bytes.subarray(start + HEADER_BYTES, start + this.#wanted));
      start += this.#wanted;
    }
    this.#pieces = [bytes.subarray(start)];
    this.#length = bytes.length - start;
    return messages;
  }
}

/** Of the message whose header begins at `start`. */
function readLength(bytes: Uint8Array, start: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset + start);
  if (view.getUint8(0) !== 0) throw new EtcdFailure("lost", "the reply is compressed, or not gRPC");
  const length = view.getUint32(1);
  if (length > LONGEST_MESSAGE) throw new EtcdFailure("lost", `the reply is longer than ${LONGEST_MESSAGE} bytes`);
  return length;
}
