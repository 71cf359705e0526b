/** STATUS where the run directory cannot be written: it says what becomes of an ADD. */

import { expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CniReply } from "../support/cni.ts";
import type { CniVerb } from "../support/cni-call.ts";
import { TestNetns } from "../support/netns.ts";
import { isOnEtcd } from "../support/node-datastore.ts";
import { NodeMounts } from "../support/node-mounts.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/test-node.ts";

/** With blocks of two addresses. */
const node = share(
  () => TestNode.start([]),
  (node) => node.createPool("small", { cidr: "10.65.0.0/24", blockSize: 31 }),
);

test.each<[what: string, breakDisk: (mounts: NodeMounts, disk: string) => void, reason: string]>([
  ["is full", (mounts, disk) => mounts.fill(disk, "space"), "ENOSPC"],
  ["has no inodes left", (mounts, disk) => mounts.fill(disk, "inodes"), "ENOSPC"],
  ["is read-only", (mounts, disk) => mounts.remount(disk, "ro"), "EROFS"],
  [
    "has a folder in the place of the list of blocks",
    (mounts, disk) => {
      const path = mounts.path(join(disk, "run", "blocks.json"));
      rmSync(path, { force: true });
      mkdirSync(path);
    },
    "EISDIR",
  ],
])("STATUS on a node whose run directory %s fails exactly while an ADD would", async (what, breakDisk, reason) => {
  await using mounts = await NodeMounts.start();
  using pods = new DisposableStack();
  const disk = join(node.folder, "disk");
  mkdirSync(disk, { recursive: true });
  const repair = (): void => mounts.mount(disk, "size=256k,nr_inodes=64");
  const added: string[] = [];
  // A name that no other test has: a node keeps its blocks.
  const config = node.config({ nodename: reason.toLowerCase() + what.length, ipam_lock_file: join(disk, "run", "ipam.lock") });
  const plugin = mounts.plugin(node.folder, "netplug");
  const call = async (verb: CniVerb, attachment: { readonly containerID?: string; readonly netns?: string } = {}): Promise<CniReply> => {
    // The pod is named as to ours, which the script is.
    const args = await node.datastore.prepare(verb, attachment);
    return await node.call(verb, { ...attachment, plugin, config, ...(args !== undefined && { args }) });
  };
  const add = async (): Promise<CniReply> => {
    const containerID = node.newContainerID();
    added.push(containerID);
    return await call("ADD", { containerID, netns: pods.use(new TestNetns()).path });
  };
  /** What STATUS and an ADD say after it. */
  const ask = async (): Promise<unknown> => {
    const { status, json } = await call("STATUS");
    if (json !== undefined) {
      const where = `cannot write the list of its blocks, "${disk}/run/blocks.json"`;
      expect([json.code, json.msg]).toEqual([50, expect.stringContaining(where)]);
      expect(json.msg).toMatch(new RegExp(`${reason}.*; make room there, mount it writable, or remove what is not a file$`));
    }
    return [status, (await add()).json?.code ?? 0];
  };

  repair();
  mkdirSync(mounts.path(join(disk, "run")));
  breakDisk(mounts, disk);
  const withoutBlock = await ask();
  repair();
  mkdirSync(mounts.path(join(disk, "run")));
  if (!isOnEtcd) expect((await add()).status).toBe(0);
  breakDisk(mounts, disk);
  const withRoom = await ask();
  const full = await ask();
  const refused = isOnEtcd ? [0, 0] : [1, 5];
  expect({ withoutBlock, withRoom, full }).toEqual({ withoutBlock: refused, withRoom: [0, 0], full: refused });

  repair();
  for (const containerID of added) expect((await call("DEL", { containerID })).status).toBe(0);
  expect([await node.addressesInUse(), (await call("STATUS")).status]).toEqual([0, 0]);
});
