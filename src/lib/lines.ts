/** Lines of an answer that comes in pieces of any size. */

/** Characters: many times the largest object; a limit, so that no server can fill the memory. */
const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * Whole lines without their end; what follows the last line end is no line yet, and is dropped when the answer ends.
 *
 * @throws RangeError when one becomes longer than `limit`; what `body` throws
 */
export async function* readLines(body: ReadableStream<Uint8Array>, limit = LONGEST_LINE): AsyncIterable<string> {
  const decoder = new TextDecoder();
  /** Pieces of the line that is not complete, and their length together. */
  let pieces: string[] = [];
  let length = 0;
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      pieces.push(text.slice(from, at));
      const line = pieces.join("");
      pieces = [];
      length = 0;
      from = at + 1;
      if (line.trim() !== "") yield line;
    }
    if (from === text.length) continue;
    pieces.push(text.slice(from));
    length += text.length - from;
    if (length > limit) throw new RangeError(`a line of the answer is longer than ${limit} characters`);
  }
}
