/** Reads a log from its end: what is newest is wanted first, and a log may be larger than memory likes. */

import type { Parted } from "../../linux/input.ts";

const PART_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 10;

/** The lines of a log, the last first, and none that is empty. What is appended in the meantime is not seen. */
export async function* linesFromEnd(log: Parted, partBytes: number = PART_BYTES): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  /** Parts, in their order, of a line whose beginning has not been read yet. */
  let rest: readonly Uint8Array[] = [];
  for (let end = log.sizeBytes; end > 0; end -= partBytes) {
    const part = await log.read(Math.max(0, end - partBytes), end);
    let lineEnd = part.length;
    for (let at = part.lastIndexOf(LINE_FEED); at >= 0; at = at === 0 ? -1 : part.lastIndexOf(LINE_FEED, at - 1)) {
      const line = decoder.decode(concat([part.subarray(at + 1, lineEnd), ...rest]));
      if (line !== "") yield line;
      rest = [];
      lineEnd = at;
    }
    rest = [part.subarray(0, lineEnd), ...rest];
  }
  const first = decoder.decode(concat(rest));
  if (first !== "") yield first;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat([...parts]);
}
