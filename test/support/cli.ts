/** For tests of netplugctl: the real commands on a real datastore, with streams that are kept. */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_CONFIG_FILE } from "../../src/cli/access/config-file.ts";
import type { CliIo } from "../../src/cli/io.ts";
import { runCli } from "../../src/cli/main.ts";
import { openLog, readInput } from "../../src/cli/program.ts";
import { openDatastore } from "../../src/datastore/open.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { linuxProcesses } from "../../src/linux/processes.ts";
import { type EtcdServer, startEtcd } from "./etcd.ts";
import { readEtcdctl } from "./etcd-content.ts";

export interface CliResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly stdin?: string;
  /** Besides the endpoint of the server. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Content of the default configuration file, which else does not exist. */
  readonly defaultConfig?: string;
  readonly isTerminal?: boolean;
  /** What it is called as. @default "netplugctl" */
  readonly program?: string;
  /** What the command gets for the datastore. @default that itself */
  readonly instead?: (datastore: Datastore) => Datastore;
}

/** A server, and commands on it. */
export interface CliWorld extends AsyncDisposable {
  readonly etcd: EtcdServer;
  /** Removed at the end. */
  readonly folder: string;
  /** Runs one command. */
  ctl(argv: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** As {@link ctl}, for what must succeed. @returns stdout @throws Error with stderr */
  done(argv: readonly string[], options?: CliOptions): Promise<string>;
  /** Writes a file into the folder. @returns its path */
  file(name: string, content: string): string;
  /** Forgets everything that was stored. */
  reset(): Promise<void>;
  /** The values of all keys that begin so, by key: what `etcdctl` reads, not we. */
  stored(prefix: string): Promise<Readonly<Record<string, unknown>>>;
  /** For what a test needs beyond commands. */
  readonly datastore: Datastore;
}

/** Starts a server of its own. */
export async function createCliWorld(): Promise<CliWorld> {
  const etcd = await startEtcd();
  const folder = mkdtempSync(join(tmpdir(), "netplug-cli-"));
  const datastore = openDatastore({ type: "etcdv3", etcd: { endpoints: [etcd.endpoint] } }, ports);
  const world: CliWorld = {
    etcd,
    folder,
    datastore,
    ctl: (argv, { env = {}, ...options } = {}) => runInTest(argv, { ...options, env: { ETCD_ENDPOINTS: etcd.endpoint, ...env } }),
    async done(argv, options) {
      const { status, stdout, stderr } = await world.ctl(argv, options);
      if (status !== 0) throw new Error(`netplugctl ${argv.join(" ")}: status ${status}: ${stderr}`);
      return stdout;
    },
    file(name, content) {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    async reset() {
      await etcd.ctl(["del", "--prefix", "/netplug/"]);
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    },
    async stored(prefix) {
      const content = await readEtcdctl(etcd, prefix);
      return Object.fromEntries([...content].map(([key, value]) => [key, JSON.parse(value)]));
    },
    async [Symbol.asyncDispose]() {
      datastore.close();
      rmSync(folder, { recursive: true, force: true });
      await etcd[Symbol.asyncDispose]();
    },
  };
  return world;
}

const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };

/** Runs one command in this process, with this environment and no other. */
export async function runInTest(argv: readonly string[], options: CliOptions): Promise<CliResult> {
  const { stdin = "", env = {}, defaultConfig, isTerminal = false, program = "netplugctl", instead = (datastore) => datastore } = options;
  const texts = { stdout: "", stderr: "" };
  const kubernetes = { processes: linuxProcesses, env };
  const io: CliIo = {
    ...ports,
    stdout: { isTerminal, write: (text) => void (texts.stdout += text) },
    stderr: { isTerminal, write: (text) => void (texts.stderr += text) },
    env,
    files: { ...linuxFiles, readText: (path) => (path === DEFAULT_CONFIG_FILE ? defaultConfig : linuxFiles.readText(path)) },
    openLog,
    readInput: async (source, limitBytes) => (source === "-" ? stdin : await readInput(source, limitBytes)),
    makeUuid: () => crypto.randomUUID(),
    openDatastore: (config) => instead(openDatastore(config, { ...ports, kubernetes })),
    openKube: async (config) => new KubeClient(config, { ...ports, ...kubernetes }, config),
  };
  return { status: await runCli(argv, io, { program }), ...texts };
}

/** One pool as YAML. */
export function poolYaml(name: string, cidr: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name }, spec: { cidr, ...more } });
}
