/**
 * For tests: one attachment whose calls run in this process, on the real kernel and a datastore in memory, so that a test can change any
 * part of the host.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PluginName } from "../../../src/cni/call.ts";
import type { Host } from "../../../src/cni/host.ts";
import { linuxFiles } from "../../../src/linux/files.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import type { CniJson } from "../../support/programs/cni.ts";
import { createIpamWorld, type IpamWorld, NETWORK } from "../../support/ipam/ipam.ts";
import { TestNetns } from "../../support/node/netns.ts";
import { callInProcess } from "./in-process-call.ts";

let count = 0;

export class OwnAttachment implements Disposable {
  readonly world: IpamWorld;
  readonly pod = new TestNetns();
  readonly #containerID = `own${process.pid}x${count++}`;
  readonly #folder = mkdtempSync(join(tmpdir(), "npgt-own-"));

  private constructor(world: IpamWorld) {
    this.world = world;
  }

  /** With one pool. */
  static async create(): Promise<OwnAttachment> {
    const attachment = new OwnAttachment(await createIpamWorld());
    await attachment.world.putPool("a", "10.65.0.0/24");
    return attachment;
  }

  /** @param config keys besides those that each network config must have @returns what is printed; undefined: nothing */
  async call(
    verb: "ADD" | "DEL",
    config: Json,
    ifName: string,
    change: Partial<Host>,
    plugin: PluginName = "netplug",
  ): Promise<CniJson | undefined> {
    const folder = this.#folder;
    const folders = { lib_dir: folder, endpoint_status_dir: folder, ipam_lock_file: join(folder, "ipam.lock") };
    const text = { cniVersion: "1.1.0", name: NETWORK, nodename: "n1", ...folders, ...config };
    const env = { CNI_COMMAND: verb, CNI_CONTAINERID: this.#containerID, CNI_NETNS: this.pod.path, CNI_IFNAME: ifName, CNI_PATH: folder };
    const { json } = await callInProcess(plugin, env, text, {
      openDatastore: () => this.world.datastore,
      files: { ...linuxFiles, isExecutableFile: () => true },
      ...change,
    });
    return json;
  }

  [Symbol.dispose](): void {
    // the kernel takes its time with those of a namespace that is gone, and their routes stand in the way of the next test
    for (const name of ["eth0", "net1"]) this.pod.run(["ip", "link", "del", name]);
    this.pod[Symbol.dispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
