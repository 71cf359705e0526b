/** What STATUS asks a datastore to which every question is a request of its own, and what not again within a minute. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { inFrontOf } from "../../src/datastore/in-front-of.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { createIpamWorld, NETWORK } from "../support/ipam/ipam.ts";
import { callInProcess } from "./support/in-process-call.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "npgt-status-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Notes what it is asked. */
function noting({ read, probeCommit, ...rest }: Datastore, asked: string[]): Datastore {
  return {
    ...rest,
    traits: { ...rest.traits, readsOneSnapshot: false },
    read: (queries, options) => (asked.push(`read ${queries.length}`), read(queries, options)),
    probeCommit(query, probe) {
      asked.push(`probe ${query.type} for ${probe.targets.join(" and ")}${probe.isThorough ? ", thoroughly" : ""}`);
      return probeCommit(query, probe);
    },
  };
}

test.each([
  ["netplug-ipam", ["read 6", "probe block for blocks and endpoints, thoroughly"], ["read 3", "probe block for blocks and endpoints"]],
  ["a-delegate", ["read 2", "probe get for endpoints, thoroughly"], ["read 2"]],
])("with addresses of %s", async (type, first, next) => {
  const world = await createIpamWorld();
  const asked: string[] = [];
  const datastore = noting(inFrontOf(world.datastore, {}), asked);
  const env = { CNI_COMMAND: "STATUS", CNI_PATH: folder };
  const config = {
    cniVersion: "1.1.0",
    name: NETWORK,
    nodename: "n1",
    lib_dir: folder,
    ipam_lock_file: join(folder, "lock"),
    ipam: { type },
  };
  const change = {
    openDatastore: () => datastore,
    files: { ...linuxFiles, isExecutableFile: () => true },
    processes: { run: async () => ({ status: 0, stdout: "", stderr: "" }) },
  };
  for (const want of [first, next, next]) {
    expect((await callInProcess("netplug", env, config, change)).json).toBeUndefined();
    expect(asked.splice(0)).toEqual(want);
  }
});
