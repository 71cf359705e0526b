/** For tests of netplugctl on a real API server. */

import { afterAll, beforeAll } from "bun:test";
import { type ApiServer, type ApiServerOptions, canStartApiServer, startApiServer } from "../../cluster/api-server.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openDatastore } from "../../../src/datastore/open.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { linuxProcesses } from "../../../src/linux/processes.ts";
import { CliWorld } from "./cli-world.ts";
import type { CliOptions } from "./in-process.ts";

/**
 * The world of all tests of a file: its server runs from before the first to after the last; where none can run, these skip themselves.
 *
 * @param prepare what all of them find
 */
export function shareKubernetesCliWorld(
  prepare: (world: KubernetesCliWorld) => Promise<void> = async () => {},
  options: ApiServerOptions = {},
): KubernetesCliWorld {
  const world = new KubernetesCliWorld();
  if (!canStartApiServer()) return world;
  beforeAll(async () => {
    await world.start(options);
    await prepare(world);
  });
  afterAll(async () => await world[Symbol.asyncDispose]());
  return world;
}

/** Commands are those of the cluster's administrator. */
export class KubernetesCliWorld extends CliWorld {
  #running: { readonly api: ApiServer; readonly datastore: Datastore } | undefined;

  async start(options: ApiServerOptions): Promise<void> {
    const api = await startApiServer(options);
    const ports = { clock: systemClock, random: systemRandom, files: linuxFiles, kubernetes: { processes: linuxProcesses, env: {} } };
    const config = { type: "kubernetes", kubernetes: { kubeconfig: api.kubeconfigFile, qps: 0 } } as const;
    this.#running = { api, datastore: openDatastore(config, ports) };
  }

  get api(): ApiServer {
    return this.#mustRun().api;
  }

  get datastore(): Datastore {
    return this.#mustRun().datastore;
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
    this.#running?.datastore.close();
    await this.#running?.api.stop();
  }

  #mustRun(): { readonly api: ApiServer; readonly datastore: Datastore } {
    if (this.#running === undefined) throw new Error("use the API server: it runs only while tests do");
    return this.#running;
  }
}
