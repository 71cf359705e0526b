/** The door of the role: the real streams, files, clock and datastore. */

import { openDatastore } from "../datastore/open.ts";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { linuxFiles } from "../linux/files.ts";
import type { CliIo, Output } from "./io.ts";
import { runCli } from "./main.ts";

/**
 * Runs netplugctl in this process.
 *
 * @param program what it was called as
 * @returns the exit status
 */
export async function runAsProgram(argv: readonly string[], program = "netplugctl"): Promise<number> {
  const isTerminal = await findTerminals();
  const stdout = toOutput(Bun.stdout.writer(), isTerminal(1));
  const stderr = toOutput(Bun.stderr.writer(), isTerminal(2));
  const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };
  const io: CliIo = {
    ...ports,
    stdout,
    stderr,
    env: process.env,
    readStdin: () => Bun.stdin.text(),
    makeUuid: () => crypto.randomUUID(),
    openDatastore: (config) => openDatastore(config, ports),
  };
  const status = await runCli(argv, io, { program });
  await stdout.flush();
  await stderr.flush();
  return status;
}

/** Nothing is lost when the other end is a pipe that is read slowly; one that is closed wants no more. */
function toOutput(sink: ReturnType<typeof Bun.stdout.writer>, isTerminal: boolean): Output & { flush(): Promise<void> } {
  return {
    isTerminal,
    write: (text) => void sink.write(text),
    flush: async () => {
      try {
        await sink.flush();
      } catch (error) {
        if ((error as { readonly code?: unknown }).code !== "EPIPE") throw error;
      }
    },
  };
}

/** Whether a file descriptor is a terminal that wants colour. The module behind it costs 9 ms, which a script need not pay. */
async function findTerminals(): Promise<(fd: number) => boolean> {
  if (!Bun.enableANSIColors) return () => false;
  const { isatty } = await import("node:tty");
  return isatty;
}
