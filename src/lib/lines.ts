/** Lines of an answer that comes in pieces of any size. */

/** Whole lines without their end; what follows the last line end is no line yet, and is dropped when the answer ends. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder();
  /** Pieces of the line that is not complete. */
  let pieces: string[] = [];
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      pieces.push(text.slice(from, at));
      const line = pieces.join("");
      pieces = [];
      from = at + 1;
      if (line.trim() !== "") yield line;
    }
    if (from < text.length) pieces.push(text.slice(from));
  }
}
