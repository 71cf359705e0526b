/** For tests of netplugctl on a real API server. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../cluster/api-server.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { openDatastore } from "../../src/datastore/open.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { linuxProcesses } from "../../src/linux/processes.ts";
import { type CliOptions, type CliResult, runInTest } from "./cli.ts";

/** An API server, and commands on it as its administrator. */
export interface KubeCliWorld extends AsyncDisposable {
  readonly api: ApiServer;
  /** For what a test needs beyond commands. */
  readonly datastore: Datastore;
  /** Runs one command with `DATASTORE_TYPE` and `KUBECONFIG`, unless `env` says otherwise. */
  ctl(argv: readonly string[], options?: CliOptions): Promise<CliResult>;
  /** As {@link ctl}, for what must succeed. @returns stdout @throws Error with stderr */
  done(argv: readonly string[], options?: CliOptions): Promise<string>;
  /** What kubectl reads: an object or a list. */
  read<T>(...args: readonly string[]): Promise<T>;
  /** Writes a file that goes away with the server. @returns its path */
  file(name: string, content: string): string;
}

export async function createKubeCliWorld(options: ApiServerOptions = {}): Promise<KubeCliWorld> {
  const api = await startApiServer(options);
  const base = { DATASTORE_TYPE: "kubernetes", KUBECONFIG: api.kubeconfigFile, PATH: process.env["PATH"] };
  const ports = { clock: systemClock, random: systemRandom, files: linuxFiles, kubernetes: { processes: linuxProcesses, env: {} } };
  const datastore = openDatastore({ type: "kubernetes", kubernetes: { kubeconfig: api.kubeconfigFile, qps: 0 } }, ports);
  const ctl: KubeCliWorld["ctl"] = (argv, { env = {}, ...more } = {}) => runInTest(argv, { ...more, env: { ...base, ...env } });
  return {
    api,
    datastore,
    ctl,
    async done(argv, more) {
      const { status, stdout, stderr } = await ctl(argv, more);
      if (status !== 0) throw new Error(`netplugctl ${argv.join(" ")}: status ${status}: ${stderr}`);
      return stdout;
    },
    read: async <T>(...args: readonly string[]) => JSON.parse(await api.kubectl(["get", "-o", "json", ...args])) as T,
    file(name, content) {
      const path = join(api.folder, name);
      writeFileSync(path, content);
      return path;
    },
    async [Symbol.asyncDispose]() {
      datastore.close();
      await api.stop();
    },
  };
}
