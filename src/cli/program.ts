/** The door of the role: the real streams, files, clock and datastore. */

import { openDatastore } from "../datastore/open.ts";
import { systemClock } from "../lib/clock.ts";
import { messageOf } from "../lib/errors.ts";
import { systemRandom } from "../lib/random.ts";
import { linuxFiles } from "../linux/files.ts";
import type { Processes } from "../lib/ports.ts";
import { endProcesses, linuxProcesses } from "../linux/processes.ts";
import { EXIT } from "./failure.ts";
import type { CliIo, Output } from "./io.ts";
import type { LogText } from "./log-lines.ts";
import { runCli } from "./main.ts";

/**
 * Runs netplugctl in this process.
 *
 * @param program what a person types to call it
 * @returns the exit status
 */
export async function runAsProgram(argv: readonly string[], program = "netplugctl"): Promise<number> {
  const isTerminal = await findTerminals();
  const stdout = toOutput(Bun.stdout.writer(), isTerminal(1));
  const stderr = toOutput(Bun.stderr.writer(), isTerminal(2));
  const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };
  const kubernetes = { processes: processesThatEndWithUs, env: process.env };
  const io: CliIo = {
    ...ports,
    stdout,
    stderr,
    env: process.env,
    openLog,
    readInput,
    makeUuid: () => crypto.randomUUID(),
    openDatastore: (config) => openDatastore(config, { ...ports, kubernetes }),
    openKube: async (config) => {
      const { KubeClient } = await import("../kube/client.ts");
      return new KubeClient(config, { ...ports, ...kubernetes }, config);
    },
  };
  const status = await runCli(argv, io, { program });
  const fault = await stdout.flush();
  if (fault !== undefined) stderr.write(`${program}: write output: ${fault}\n`);
  await stderr.flush();
  return fault === undefined ? status : EXIT.failed;
}

const INTERRUPTS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A person who interrupts us also means the program that we wait for, such as one that asks for credentials. */
const processesThatEndWithUs: Processes = {
  async run(request) {
    const onSignal = (signal: NodeJS.Signals): void => {
      endProcesses();
      for (const one of INTERRUPTS) process.off(one, onSignal);
      process.kill(process.pid, signal);
    };
    for (const one of INTERRUPTS) process.on(one, onSignal);
    try {
      return await linuxProcesses.run(request);
    } finally {
      for (const one of INTERRUPTS) process.off(one, onSignal);
    }
  },
};

/** As {@link CliIo.readInput}. */
export async function readInput(source: string, limitBytes: number): Promise<string | undefined> {
  if (source === "-") return await readStream(Bun.stdin.stream(), limitBytes);
  const { statSync } = await import("node:fs");
  // A shell's `<(command)` is a pipe, whose command may take its time.
  const isPipe = statSync(source, { throwIfNoEntry: false })?.isFIFO() === true;
  return isPipe ? await readStream(Bun.file(source).stream(), limitBytes) : linuxFiles.readText(source);
}

async function readStream(stream: ReadableStream<Uint8Array>, limitBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > limitBytes) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** A log to be read in parts. @returns undefined when there is no such file */
export async function openLog(path: string): Promise<LogText | undefined> {
  const file = Bun.file(path);
  if (!(await file.exists())) return undefined;
  return { sizeBytes: file.size, read: (start, end) => file.slice(start, end).bytes() };
}

interface BufferedOutput extends Output {
  /** Waits until all is written. @returns why it could not be; a closed pipe is no failure: its reader has enough */
  flush(): Promise<string | undefined>;
}

/** Nothing is lost when the other end is a pipe that is read slowly. */
function toOutput(sink: ReturnType<typeof Bun.stdout.writer>, isTerminal: boolean): BufferedOutput {
  let fault: string | undefined;
  const note = (thrown: unknown): void => {
    if ((thrown as { readonly code?: unknown }).code !== "EPIPE") fault ??= messageOf(thrown);
  };
  return {
    isTerminal,
    write(text) {
      try {
        void sink.write(text);
        // Only a flush reports a full disk: what the sink writes by itself may be lost silently.
        void Promise.resolve(sink.flush()).catch(note);
      } catch (thrown) {
        note(thrown);
      }
    },
    async flush() {
      try {
        await sink.flush();
      } catch (thrown) {
        note(thrown);
      }
      return fault;
    },
  };
}

/**
 * Whether a file descriptor is a terminal that can show colour, to somebody who wants it (`NO_COLOR`). The module behind it costs 9 ms,
 * which a script need not pay.
 */
async function findTerminals(): Promise<(fd: number) => boolean> {
  if (!Bun.enableANSIColors || process.env["TERM"] === "dumb") return () => false;
  const { isatty } = await import("node:tty");
  return isatty;
}
