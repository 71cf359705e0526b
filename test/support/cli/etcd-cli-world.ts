/** For tests of netplugctl on a real etcd. */

import { afterAll, beforeAll } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openDatastore } from "../../../src/datastore/open.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { type EtcdServer, startEtcd } from "../etcd.ts";
import { readEtcdctl } from "../etcd-content.ts";
import { CliWorld } from "./cli-world.ts";

/** The world of all tests of a file: its server runs from before the first to after the last. @param prepare what all of them find */
export function shareEtcdCliWorld(prepare: (world: EtcdCliWorld) => Promise<void> = async () => {}): EtcdCliWorld {
  const world = new EtcdCliWorld();
  beforeAll(async () => {
    await world.start();
    await prepare(world);
  });
  afterAll(async () => await world[Symbol.asyncDispose]());
  return world;
}

export class EtcdCliWorld extends CliWorld {
  readonly folder: string = mkdtempSync(join(tmpdir(), "netplug-cli-"));
  #running: { readonly etcd: EtcdServer; readonly datastore: Datastore } | undefined;

  async start(): Promise<void> {
    const etcd = await startEtcd();
    const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };
    this.#running = { etcd, datastore: openDatastore({ type: "etcdv3", etcd: { endpoints: [etcd.endpoint] } }, ports) };
  }

  get etcd(): EtcdServer {
    return this.#mustRun().etcd;
  }

  get datastore(): Datastore {
    return this.#mustRun().datastore;
  }

  protected get env(): { readonly ETCD_ENDPOINTS: string } {
    return { ETCD_ENDPOINTS: this.etcd.endpoint };
  }

  /** Forgets everything that was stored. */
  async reset(): Promise<void> {
    await this.etcd.ctl(["del", "--prefix", "/netplug/"]);
    for (const name of readdirSync(this.folder)) rmSync(join(this.folder, name), { recursive: true });
  }

  /** The values of all keys that begin so, by key: what `etcdctl` reads, not we. */
  async stored(prefix: string): Promise<Readonly<Record<string, unknown>>> {
    const content = await readEtcdctl(this.etcd, prefix);
    return Object.fromEntries([...content].map(([key, value]) => [key, JSON.parse(value)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running?.datastore.close();
    rmSync(this.folder, { recursive: true, force: true });
    await this.#running?.etcd[Symbol.asyncDispose]();
  }

  #mustRun(): { readonly etcd: EtcdServer; readonly datastore: Datastore } {
    if (this.#running === undefined) throw new Error("use etcd: it runs only while tests do");
    return this.#running;
  }
}
