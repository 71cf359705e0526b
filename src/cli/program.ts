/** Entry point of the role: the real streams, files, clock and datastore. */

import { openDatastore } from "../datastore/open.ts";
import { systemClock } from "../lib/clock.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { systemRandom } from "../lib/random.ts";
import { linuxFiles } from "../linux/files.ts";
import type { Processes } from "../lib/ports.ts";
import { endProcesses, linuxProcesses } from "../linux/processes.ts";
import { wasClosed } from "../linux/standard-streams.ts";
import { bufferOutput, closedOutput } from "./buffered-output.ts";
import { EXIT } from "./failure.ts";
import type { LogText } from "./host/log-lines.ts";
import type { CliIo } from "./io.ts";
import { runCli } from "./main.ts";

/**
 * Runs netplugctl in this process.
 *
 * @param program what a person types to call it
 * @returns the exit status
 */
export async function runAsProgram(argv: readonly string[], program: string): Promise<number> {
  const isTerminal = await findTerminals();
  const stdout = wasClosed(1) ? closedOutput() : bufferOutput(Bun.stdout.writer(), isTerminal(1));
  const stderr = bufferOutput(Bun.stderr.writer(), isTerminal(2));
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
    readHostAddresses: async (onUnread) => {
      const { readHostAddresses } = await import("./host/host-addresses.ts");
      const { readCachedAddresses } = await import("./host/cached-addresses.ts");
      return [...readHostAddresses(), ...readCachedAddresses(linuxFiles, onUnread)];
    },
    openDatastore: (config, openClient) => openDatastore(config, { ...ports, kubernetes: { ...kubernetes, openClient } }),
    openKube: async (config) => {
      const { KubeClient } = await import("../kube/client.ts");
      return new KubeClient(config, { ...ports, ...kubernetes }, { ...config, protocol: "http2" });
    },
  };
  const status = await runCli(argv, io, program);
  const fault = await stdout.flush();
  if (fault !== undefined) stderr.write(`${program}: write output: ${fault}\n`);
  await stderr.flush();
  return fault === undefined ? status : EXIT.failed;
}

const INTERRUPTS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** An interrupt also ends the program that we wait for, such as one that asks for credentials. */
const processesThatEndWithUs: Processes = {
  async run(request) {
    const onSignal = (signal: NodeJS.Signals): void => {
      endProcesses();
      for (const interrupt of INTERRUPTS) process.off(interrupt, onSignal);
      process.kill(process.pid, signal);
    };
    for (const interrupt of INTERRUPTS) process.on(interrupt, onSignal);
    try {
      return await linuxProcesses.run(request);
    } finally {
      for (const interrupt of INTERRUPTS) process.off(interrupt, onSignal);
    }
  },
};

/** As {@link CliIo.readInput}. */
export async function readInput(source: string, limitBytes: number): Promise<string | undefined> {
  if (source === "-") return toInputText(await readBytes(Bun.stdin.stream(), limitBytes), "stdin", limitBytes);
  const { statSync } = await import("node:fs");
  const stats = statSync(source, { throwIfNoEntry: false });
  // A shell's `<(command)` is a pipe, whose command may take its time.
  if (stats?.isFIFO() === true) return toInputText(await readBytes(Bun.file(source).stream(), limitBytes), quote(source), limitBytes);
  if (stats?.isFile() === true) requireAtMost(stats.size, quote(source), limitBytes);
  return linuxFiles.readText(source);
}

function toInputText(bytes: Uint8Array, name: string, limitBytes: number): string {
  requireAtMost(bytes.length, name, limitBytes);
  return new TextDecoder().decode(bytes);
}

function requireAtMost(sizeBytes: number, name: string, limitBytes: number): void {
  if (sizeBytes > limitBytes) throw new NetplugError("ioFailure", `read ${name}: got more than ${limitBytes} bytes, want fewer`);
}

/** Reads to the end, but stops once it has more than `limitBytes`. */
async function readBytes(stream: ReadableStream<Uint8Array>, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > limitBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Limit for a log that comes through a pipe: its end is wanted, so all of it must be read. */
const MAX_PIPED_LOG_BYTES = 256 * 1024 * 1024;

/**
 * A log to be read in parts; what a pipe gives (`zcat old.log.gz | …`), at once.
 *
 * @returns undefined when there is no such file
 * @throws NetplugError ioFailure
 */
export async function openLog(path: string): Promise<LogText | undefined> {
  const { accessSync, constants, statSync } = await import("node:fs");
  const file = Bun.file(path);
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || stats.isDirectory()) return undefined;
    accessSync(path, constants.R_OK);
    if (stats.isFile()) return { sizeBytes: stats.size, read: (start, end) => file.slice(start, end).bytes() };
    const bytes = stats.isFIFO()
      ? await readBytes(file.stream(), MAX_PIPED_LOG_BYTES)
      : new TextEncoder().encode(linuxFiles.readText(path)); // a device, which cannot be waited for
    if (bytes.length <= MAX_PIPED_LOG_BYTES) return { sizeBytes: bytes.length, read: async (start, end) => bytes.subarray(start, end) };
  } catch (cause) {
    if (cause instanceof NetplugError) throw cause;
    throw new NetplugError("ioFailure", `read log ${quote(path)}: ${messageOf(cause)}`, { cause });
  }
  throw new NetplugError("ioFailure", `read log ${quote(path)}: it is larger than ${MAX_PIPED_LOG_BYTES} bytes, want a file`);
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
