/** Output to a stream that may be read slowly, or not at all. */

import { messageOf } from "../../lib/errors.ts";
import type { Output } from "../io.ts";

/** What is written, and whether all of it was. */
export interface BufferedOutput extends Output {
  /** Waits until all is written. @returns why it could not be; a closed pipe is no failure: its reader has enough */
  flush(): Promise<string | undefined>;
}

/** Nothing that is written is lost when the other end is a pipe that is read slowly. */
export function bufferOutput(sink: Pick<Bun.FileSink, "write" | "flush">, isTerminal: boolean): BufferedOutput {
  let fault: string | undefined;
  let isRead = true;
  /** Writes that do not fit into the sink's buffer. */
  let pendingWrites: Promise<unknown> = Promise.resolve();
  const note = (thrown: unknown): void => {
    isRead = false;
    if ((thrown as { readonly code?: unknown }).code !== "EPIPE") fault ??= messageOf(thrown);
  };
  const flush = async (): Promise<string | undefined> => {
    await pendingWrites;
    try {
      await sink.flush();
    } catch (thrown) {
      note(thrown);
    }
    return fault;
  };
  return {
    isTerminal,
    write(text) {
      try {
        // A long text is not buffered, so the promise of `write` tells whether it was written; for a short one that of `flush` does.
        const results = [sink.write(text), sink.flush()].map((result) => Promise.resolve(result).catch(note));
        pendingWrites = Promise.all([pendingWrites, ...results]);
      } catch (thrown) {
        note(thrown);
      }
    },
    flush,
    async drained() {
      await flush();
      return isRead;
    },
  };
}

/** For a closed stream: whatever is written is lost, and the caller must learn of it. */
export function closedOutput(): BufferedOutput {
  let fault: string | undefined;
  return {
    isTerminal: false,
    write: () => void (fault = "stdout is closed, want it open; /dev/null if nobody reads it"),
    flush: async () => fault,
    drained: async () => false,
  };
}
