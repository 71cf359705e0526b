/** For tests of netplugctl on a real API server. */

import type { test as always } from "bun:test";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../servers/api-server.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openDatastore } from "../../../src/datastore/open.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";
import { onApiServer } from "../servers/on-api-server.ts";
import { CliWorld } from "./cli-world.ts";
import type { CliOptions } from "./in-process.ts";

/**
 * How the tests of a file are registered, and the world of all of them: its server runs from before the first to after the last; where none
 * can run, they are skipped.
 *
 * @param prepare what all of them find
 */
export function shareKubernetesCliWorld(
  prepare?: (world: KubernetesCliWorld) => unknown,
  options: ApiServerOptions = {},
): readonly [test: typeof always, world: KubernetesCliWorld] {
  return onApiServer(() => KubernetesCliWorld.start(options), prepare);
}

/** Commands are those of the cluster's administrator. */
export class KubernetesCliWorld extends CliWorld {
  readonly api: ApiServer;
  readonly datastore: Datastore;

  private constructor(api: ApiServer) {
    super();
    const ports = { clock: systemClock, random: systemRandom, files: linuxFiles, kubernetes: { processes: linuxProcesses, env: {} } };
    const config = { type: "kubernetes", kubernetes: { kubeconfig: api.kubeconfigFile, qps: 0 } } as const;
    this.api = api;
    this.datastore = openDatastore(config, ports);
  }

  static async start(options: ApiServerOptions): Promise<KubernetesCliWorld> {
    return new KubernetesCliWorld(await startApiServer(options));
  }

  /** The server's own. */
  get folder(): string {
    return this.api.folder;
  }

  protected get env(): NonNullable<CliOptions["env"]> {
    return { DATASTORE_TYPE: "kubernetes", KUBECONFIG: this.api.kubeconfigFile, PATH: process.env["PATH"] };
  }

  /** What kubectl reads: an object or a list. */
  async read<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.api.kubectl(["get", "-o", "json", ...args])) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.datastore.close();
    await this.api.stop();
  }
}
