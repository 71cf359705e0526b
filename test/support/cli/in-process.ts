/** For tests of netplugctl: one real command in the test's process, with streams that are kept. */

import { DEFAULT_CONFIG_FILE } from "../../../src/cli/access/config-file.ts";
import { type HostAddress, readHostAddresses } from "../../../src/cli/host/host-addresses.ts";
import type { CliIo } from "../../../src/cli/io.ts";
import { runCli } from "../../../src/cli/main.ts";
import { openLog, pipeAt, readInput, readPipe } from "../../../src/linux/input.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openDatastore } from "../../../src/datastore/open.ts";
import { KubeClient } from "../../../src/kube/client.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { takeLock } from "../../../src/linux/flock.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";

export interface CliResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly stdin?: string;
  /** All of its environment; in a world (`cli-world.ts`) besides what leads to the datastore. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Content of the default configuration file, which else does not exist. */
  readonly defaultConfig?: string;
  /** Contents of other files by path, which else are those of this machine. */
  readonly files?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
  /** What it is called as. @default "netplugctl" */
  readonly program?: string;
  /** What the kernel shows. @default what it really does */
  readonly hostAddresses?: (onUnread: (text: string) => void) => readonly HostAddress[];
  /** What the command gets for the datastore. @default that itself */
  readonly instead?: (datastore: Datastore) => Datastore;
}

const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };

/** Runs one command in this process, with this environment and no other. */
export async function runInProcess(argv: readonly string[], options: CliOptions): Promise<CliResult> {
  const { stdin = "", env = {}, defaultConfig, isTerminal = false, program = "netplugctl", instead = (datastore) => datastore } = options;
  const { hostAddresses } = options;
  const files: Readonly<Record<string, string | undefined>> = { ...options.files, [DEFAULT_CONFIG_FILE]: defaultConfig };
  const texts = { stdout: "", stderr: "" };
  const takeFileLock = async (path: string, waitMs: number) => await takeLock(path, { waitMs, clock: systemClock });
  const kubernetes = { processes: linuxProcesses, env, takeLock: takeFileLock };
  const io: CliIo = {
    ...ports,
    stdout: { isTerminal, write: (text) => void (texts.stdout += text), drained: async () => true },
    stderr: { isTerminal, write: (text) => void (texts.stderr += text), drained: async () => true },
    env,
    files: { ...linuxFiles, readText: (path) => (path in files ? files[path] : linuxFiles.readText(path)) },
    openLog,
    readInput: async (source, ...how) => {
      if (source === "-") return stdin;
      return source in files ? files[source] : await readInput(source, ...how);
    },
    pipeAt,
    readPipe,
    makeUuid: () => crypto.randomUUID(),
    readHostAddresses: async (onUnread) => (hostAddresses ?? readHostAddresses)(onUnread),
    openDatastore: (config, itsFiles, openClient) =>
      instead(openDatastore(config, { ...ports, files: itsFiles, kubernetes: { ...kubernetes, openClient } })),
    openKube: async (config, itsFiles) =>
      new KubeClient(config, { ...ports, ...kubernetes, files: itsFiles }, { ...config, protocol: "http2" }),
  };
  return { status: await runCli(argv, io, program), ...texts };
}
