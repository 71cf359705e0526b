/** For tests: the etcd driver with the real clock and files. */

import { readFileSync } from "node:fs";
import type { Datastore } from "../../src/datastore/datastore.ts";
import type { EtcdConfig } from "../../src/datastore/config/datastore-config.ts";
import type { RequestLimits } from "../../src/datastore/etcd/client/client.ts";
import type { DatastorePorts } from "../../src/datastore/open.ts";
import { openDatastore } from "../../src/datastore/open.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Files } from "../../src/lib/ports.ts";
import { systemRandom } from "../../src/lib/random.ts";

/** Only what a datastore reads: the rest fails. */
export const testFiles = {
  readText(path: string): string | undefined {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return undefined;
    }
  },
} as Files;

/** For tests that wait until a request gives up. */
export const IMPATIENT: RequestLimits = { requestMs: 800, tryMs: 250 };

/** Leaves the order of endpoints as it is given. */
export const inGivenOrder = (): number => 0.999;

export function openEtcd(etcd: EtcdConfig, ports: Partial<DatastorePorts> = {}): Datastore {
  return openDatastore({ type: "etcdv3", etcd }, { clock: systemClock, random: systemRandom, files: testFiles, ...ports });
}
