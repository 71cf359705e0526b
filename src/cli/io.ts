/** Everything outside the process that a command touches, handed in as one value. */

import type { DatastoreConfig, KubernetesConfig } from "../datastore/config/datastore-config.ts";
import type { DatastoreSettings } from "../datastore/config/datastore-settings.ts";
import type { Datastore } from "../datastore/datastore.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Clock, Files, Random } from "../lib/ports.ts";
import { toVisibleLines } from "../lib/visible-text.ts";
import type { PartedFile } from "../linux/input.ts";
import type { HostAddress } from "./host/host-addresses.ts";

/** One of the two streams that are written. */
export interface Output {
  write(text: string): void;
  /** Waits until all is written. @returns whether what is written next can still be read by somebody */
  drained(): Promise<boolean>;
  /** Whether a person looks at it: then colour helps. */
  readonly isTerminal: boolean;
}

/** Shows a person what a command has done so far. */
export interface Progress {
  /** Says it, in place of what was said of the same part before. */
  tell(part: "read" | "done", text: string): void;
  /** Takes the line away until something more is told. */
  wipe(): void;
}

/** Everything of the outside world that a command touches, so that tests hand in their own. */
export interface CliIo {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Tells a person how far the command is; absent where nobody looks. */
  readonly progress?: Progress;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  /** A log to be read in parts; `-` is stdin. @returns undefined when there is no such file, or it is a folder */
  openLog(source: string): Promise<PartedFile | undefined>;
  /**
   * The whole of a file, or of what a pipe gives until it ends; `-` is stdin.
   *
   * @param what it is, for messages: `config file`
   * @returns undefined when there is no such file
   * @throws NetplugError ioFailure, also for more than `limitBytes`: a part would be taken for the whole
   */
  readInput(source: string, limitBytes: number, what?: string): Promise<string | undefined>;
  /** Which pipe a path leads to, under whatever name: it gives its content to one reader only, who may have to wait for it. @returns undefined for all else */
  pipeAt(path: string): string | undefined;
  /** What it gives until it ends, waited for. @returns undefined when there is no such file @throws NetplugError ioFailure */
  readPipe(path: string): string | undefined;
  makeUuid(): string;
  /** @param onUnread gets what cannot be read of them, and why @throws {KernelError} @throws NetplugError ioFailure */
  readHostAddresses(onUnread: (text: string) => void): Promise<readonly HostAddress[]>;
  /** @param files has the certificates and tokens @param openKube gives the client of a datastore on the Kubernetes API, which closes it @throws NetplugError invalidConfig */
  openDatastore(config: DatastoreConfig, files: Files, openKube?: OpenKube): Datastore;
  /** A client of the Kubernetes API, which is loaded by the first who wants one. @param files has the kubeconfig and what it names */
  openKube(config: KubernetesConfig, files: Files): Promise<KubeClient>;
}

/** Gives each who asks the same client. */
export type OpenKube = () => Promise<KubeClient>;

/** Options that may be given anywhere on the command line. */
export interface GlobalOptions {
  /** File of datastore access; a default one is read when absent. */
  readonly config?: string;
  readonly kubeconfig?: string;
  /** Context of the kubeconfig. */
  readonly context?: string;
}

/** The roles for people of `manifests/rbac.yaml`. */
export type Role = "netplug-admin" | "netplug-view";

/** What a command is called with besides its own flags. */
export interface Cli {
  readonly io: CliIo;
  readonly options: GlobalOptions;
  /** What the program was called as: decides on the default datastore, and begins the commands that messages propose. */
  readonly program: string;
  /** The role for people that permits all of the command: a denial names it. */
  readonly role: Role;
  /** What the file of datastore access says, which is read once. @throws {CommandFailed} a file that is missing although it is named, or that makes no sense */
  readonly settingsOfFile: () => Promise<DatastoreSettings>;
}

/** Writes one line to stdout, or several; of control characters only those between them. */
export function say(cli: Cli, line: string): void {
  cli.io.stdout.write(`${toVisibleLines(line)}\n`);
}

/** Tells a person something that is not the result. */
export function note({ io }: Pick<Cli, "io">, line: string): void {
  io.stderr.write(`${toVisibleLines(line)}\n`);
}
