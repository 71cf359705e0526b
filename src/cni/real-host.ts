/** The host that the process runs on. */

import { openDatastore } from "../datastore/open.ts";
import { systemClock } from "../lib/clock.ts";
import { textSink } from "../lib/log/format.ts";
import { openLogFile } from "../lib/log/log-file.ts";
import { createLog, type LogSink } from "../lib/log/log.ts";
import type { Processes } from "../lib/ports.ts";
import { systemRandom } from "../lib/random.ts";
import { linuxFiles } from "../linux/files.ts";
import { takeLock } from "../linux/flock.ts";
import { readHostName } from "../linux/hostname.ts";
import { linuxLogFiles } from "../linux/log-files.ts";
import { readProcessStartSinceBoot, estimateProcessStart, readTimeSinceBoot } from "../linux/process-start.ts";
import { readStdin, writeStderr, writeStdout } from "../linux/standard-streams.ts";
import { connectTcp } from "../linux/tcp.ts";
import { countWork } from "../linux/turns/queue-files.ts";
import { takeTurn } from "../linux/turns/turn.ts";
import type { LogConfig } from "./config/network-config.ts";
import type { Host } from "./host.ts";
import { linuxKernel } from "./link/kernel.ts";

/** Everything real: environment, stdin, clock, files, processes, kernel, datastore. */
export function realHost(): Host {
  const world = { clock: systemClock, random: systemRandom, files: linuxFiles };
  const programs = { env: process.env, processes };
  return {
    ...world,
    ...programs,
    kernel: linuxKernel,
    fetch: async (url, signal) => (await import("../linux/http-probe.ts")).probeHttp(url, signal),
    watchDirectory: async (folder, onChange) => (await import("../linux/inotify.ts")).watchDirectory(folder, onChange),
    readStdin,
    writeAnswer: (text, remainingMs) => writeStdout(`${text}\n`, remainingMs),
    hostName: readHostName,
    processStart: () => estimateProcessStart(systemClock),
    sinceBoot: readTimeSinceBoot,
    processId: process.pid,
    callerId: process.ppid,
    processStartSinceBoot: readProcessStartSinceBoot,
    takeLock: (path, waitMs) => takeTurn(path, { stallMs: waitMs, clock: systemClock }),
    takeTurn: (path, options) => takeTurn(path, { ...options, clock: systemClock }),
    countWork,
    openDatastore: (config, openClient) =>
      openDatastore(config, {
        ...world,
        connect: connectTcp,
        kubernetes: { ...programs, takeLock: takeFileLock, openClient },
      }),
    openKube: async (settings, options) => {
      const { KubeClient } = await import("../kube/client.ts");
      return new KubeClient(settings, { ...world, ...programs }, options);
    },
    openLog: (config, fields) => createLog({ clock: systemClock, level: config.level, sinks: sinksOf(config), fields }),
  };
}

/** Few calls start a process: those with a delegate, or a kubeconfig that names a program. */
const processes: Processes = {
  run: async (request) => (await import("../linux/processes.ts")).linuxProcesses.run(request),
};

function takeFileLock(path: string, waitMs: number): Promise<Disposable | undefined> {
  return takeLock(path, { waitMs, clock: systemClock });
}

/** stderr always; the file when the config names one. That the file cannot be written is said on stderr; no call fails for it. */
function sinksOf({ filePath, ...limits }: LogConfig): readonly LogSink[] {
  const stderr = textSink(writeStderr);
  if (filePath === undefined) return [stderr];
  return [stderr, openLogFile({ ...limits, path: filePath, files: linuxLogFiles, clock: systemClock, onFailure: writeStderr })];
}
