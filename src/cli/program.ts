/** Entry point of the role: the real streams, files, clock and datastore. */

import { openDatastore } from "../datastore/open.ts";
import { systemClock } from "../lib/clock.ts";
import { systemRandom } from "../lib/random.ts";
import { linuxFiles } from "../linux/files.ts";
import { takeLock } from "../linux/flock.ts";
import { openLog, pipeAt, readInput, readPipe } from "../linux/input.ts";
import type { Processes } from "../lib/ports.ts";
import { endProcesses, linuxProcesses } from "../linux/processes.ts";
import { wasClosed } from "../linux/standard-streams.ts";
import { bufferOutput, closedOutput } from "./streams/buffered-output.ts";
import { toFailureText } from "./failures/failure.ts";
import type { CliIo } from "./io.ts";
import { failureStatusOf, runCli } from "./main.ts";

/**
 * Runs netplugctl in this process.
 *
 * @param program what a person types to call it
 * @returns the exit status
 */
export async function runAsProgram(argv: readonly string[], program: string): Promise<number> {
  let isClosed: boolean;
  try {
    isClosed = wasClosed(1);
  } catch (thrown) {
    // Without the C library no command gets far, and only Bun's own stream can say so.
    console.error(toFailureText(thrown, { program, options: {} }, []).trimEnd());
    return failureStatusOf(argv);
  }
  const isTerminal = await findTerminals();
  const stdout = isClosed ? closedOutput() : bufferOutput(Bun.stdout.writer(), isTerminal(1));
  const stderr = bufferOutput(Bun.stderr.writer(), isTerminal(2));
  const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };
  const kubernetes = { processes: processesThatEndWithUs, env: process.env, takeLock: takeFileLock };
  const io: CliIo = {
    ...ports,
    stdout,
    stderr,
    env: process.env,
    openLog,
    readInput,
    pipeAt,
    readPipe,
    makeUuid: () => crypto.randomUUID(),
    readHostAddresses: async (onUnread) => {
      const { readHostAddresses } = await import("./host/host-addresses.ts");
      const { readCachedAddresses } = await import("./host/cached-addresses.ts");
      return [...readHostAddresses(), ...readCachedAddresses(linuxFiles, onUnread)];
    },
    openDatastore: (config, files, openClient) => openDatastore(config, { ...ports, files, kubernetes: { ...kubernetes, openClient } }),
    openKube: async (config, files) => {
      const { KubeClient } = await import("../kube/client.ts");
      return new KubeClient(config, { ...ports, ...kubernetes, files }, { ...config, protocol: "http2" });
    },
  };
  const status = await runCli(argv, io, program);
  const fault = await stdout.flush();
  if (fault !== undefined) stderr.write(`${program}: write output: ${fault}\n`);
  await stderr.flush();
  return fault === undefined ? status : failureStatusOf(argv);
}

const takeFileLock = async (path: string, waitMs: number): Promise<Disposable | undefined> =>
  await takeLock(path, { waitMs, clock: systemClock });

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

/**
 * Whether a file descriptor is a terminal that can show colour, to somebody who wants it (`NO_COLOR`). The module behind it costs 9 ms,
 * which a script need not pay.
 */
async function findTerminals(): Promise<(fd: number) => boolean> {
  if (!Bun.enableANSIColors || process.env["TERM"] === "dumb") return () => false;
  const { isatty } = await import("node:tty");
  return isatty;
}
