/** For tests of netplugctl on a real etcd. */

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { openDatastore } from "../../../src/datastore/open.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemRandom } from "../../../src/lib/random.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import { type EtcdServer, startEtcd } from "../servers/etcd.ts";
import { readEtcdctl } from "../servers/etcd-content.ts";
import { share } from "../share.ts";
import { CliWorld } from "./cli-world.ts";

/** The world of all tests of a file: its server runs from before the first to after the last. @param prepare what all of them find */
export function shareEtcdCliWorld(prepare?: (world: EtcdCliWorld) => unknown): EtcdCliWorld {
  return share(() => EtcdCliWorld.start(), prepare);
}

export class EtcdCliWorld extends CliWorld {
  readonly folder: string = mkdtempSync(join(tmpdir(), "netplug-cli-"));
  readonly etcd: EtcdServer;
  readonly datastore: Datastore;

  private constructor(etcd: EtcdServer) {
    super();
    const ports = { clock: systemClock, random: systemRandom, files: linuxFiles };
    this.etcd = etcd;
    this.datastore = openDatastore({ type: "etcdv3", etcd: { endpoints: [etcd.endpoint] } }, ports);
  }

  static async start(): Promise<EtcdCliWorld> {
    return new EtcdCliWorld(await startEtcd());
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
    this.datastore.close();
    rmSync(this.folder, { recursive: true, force: true });
    await this.etcd[Symbol.asyncDispose]();
  }
}
