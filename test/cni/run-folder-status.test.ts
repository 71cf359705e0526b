/** STATUS where the run directory cannot be written: it says what becomes of an ADD. */

import { expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { CniReply } from "../support/programs/cni.ts";
import type { CniVerb, Json } from "../support/programs/cni-call.ts";
import { setReady } from "../support/cli/netplugctl.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { NodeMounts } from "../support/node/node-mounts.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

/** With blocks of two addresses. */
const node = share(
  () => TestNode.start([]),
  (node) => node.createPool("small", { cidr: "10.65.0.0/24", blockSize: 31 }),
);

/** A node whose run directory is on a disk of its own, and which is called as a name that no other test has: a node keeps its blocks. */
class NodeWithDisk implements AsyncDisposable {
  readonly mounts: NodeMounts;
  readonly disk = join(node.folder, "disk");
  readonly #config: Json;
  readonly #plugin: string;
  readonly #pods = new DisposableStack();
  readonly #added: string[] = [];

  private constructor(mounts: NodeMounts, name: string) {
    this.mounts = mounts;
    this.#config = node.config({ nodename: name, ipam_lock_file: join(this.disk, "run", "ipam.lock") });
    this.#plugin = mounts.plugin(node.folder, "netplug");
    mkdirSync(this.disk, { recursive: true });
    this.repair();
  }

  static async start(name: string): Promise<NodeWithDisk> {
    return new NodeWithDisk(await NodeMounts.start(), name);
  }

  /** With nothing on it. */
  repair(): void {
    this.mounts.mount(this.disk, "size=256k,nr_inodes=64");
    mkdirSync(this.mounts.path(join(this.disk, "run")));
  }

  async call(verb: CniVerb, attachment: { readonly containerID?: string; readonly netns?: string } = {}): Promise<CniReply> {
    // The pod is named as to ours, which the script is.
    const args = await node.datastore.prepare(verb, attachment);
    return await node.call(verb, { ...attachment, plugin: this.#plugin, config: this.#config, ...(args !== undefined && { args }) });
  }

  async add(): Promise<CniReply> {
    const containerID = node.newContainerID();
    this.#added.push(containerID);
    return await this.call("ADD", { containerID, netns: this.#pods.use(new TestNetns()).path });
  }

  /** Takes away the last attachment, or all. */
  async del(which: "last" | "all"): Promise<void> {
    for (const containerID of this.#added.splice(which === "last" ? -1 : 0))
      expect((await this.call("DEL", { containerID })).status).toBe(0);
  }

  /** What STATUS and an ADD say after it. */
  async ask(reason: string): Promise<unknown> {
    const { status, json } = await this.call("STATUS");
    if (json !== undefined) {
      const where = `cannot write the list of its blocks, "${this.disk}/run/blocks.json"`;
      expect([json.code, json.msg]).toEqual([50, expect.stringContaining(where)]);
      expect(json.msg).toMatch(new RegExp(`${reason}.*; make room there, mount it writable, or remove what is not a file$`));
    }
    return [status, (await this.add()).json?.code ?? 0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pods[Symbol.dispose]();
    await this.mounts[Symbol.asyncDispose]();
  }
}

/** What STATUS and an ADD say on a node that has no room, and cannot write to its disk; with etcd it need not. */
const REFUSED = isOnEtcd ? [0, 0] : [1, 5];

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
  await using broken = await NodeWithDisk.start(reason.toLowerCase() + what.length);
  const { mounts, disk } = broken;
  breakDisk(mounts, disk);
  const withoutBlock = await broken.ask(reason);
  broken.repair();
  if (!isOnEtcd) expect((await broken.add()).status).toBe(0);
  breakDisk(mounts, disk);
  const withRoom = await broken.ask(reason);
  const full = await broken.ask(reason);
  expect({ withoutBlock, withRoom, full }).toEqual({ withoutBlock: REFUSED, withRoom: [0, 0], full: REFUSED });

  broken.repair();
  await broken.del("all");
  expect([await node.addressesInUse(), (await broken.call("STATUS")).status]).toEqual([0, 0]);
});

test.each<[what: string, forbid: (address: string) => Promise<unknown>, allow: () => Promise<unknown>]>([
  [
    "cools down",
    () => node.ctl(["ipam", "configure", "--ip-cooldown-seconds=1200"]),
    () => node.ctl(["ipam", "configure", "--ip-cooldown-seconds=0"]),
  ],
  [
    "is reserved",
    (address) =>
      node.apply({
        apiVersion: "netplug.io/v3",
        kind: "IPReservation",
        metadata: { name: "one" },
        spec: { reservedCIDRs: [address] },
      }),
    () => node.ctl(["delete", "ipreservation", "one"]),
  ],
])("and an address that %s is no room, on a node that can claim no block", async (what, forbid, allow) => {
  await using broken = await NodeWithDisk.start(what.replace(" ", "-"));
  const replies = [await broken.add(), await broken.add()];
  await broken.del("last");
  await forbid(replies[1]?.json?.ips?.[0]?.address ?? "");
  broken.mounts.remount(broken.disk, "ro");
  expect(await broken.ask("EROFS")).toEqual(REFUSED);
  await allow();
  expect((await broken.call("STATUS")).status).toBe(0);

  broken.repair();
  await broken.del("all");
  expect(await node.addressesInUse()).toBe(0);
});

test("and that the datastore is locked is said first", async () => {
  await using broken = await NodeWithDisk.start("locked");
  broken.mounts.remount(broken.disk, "ro");
  await setReady(node.datastore.env, false);
  const { json } = await broken.call("STATUS");
  await setReady(node.datastore.env, true);
  expect([json?.code, json?.msg]).toEqual([50, expect.stringContaining("it is locked")]);
});
