/** For tests: a node with very many attachments of which only the datastore knows, and calls in this process that take them away. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { joinEndpointName } from "../../../src/api/endpoint-names.ts";
import type { Block } from "../../../src/api/ipam-block.ts";
import type { Host } from "../../../src/cni/host.ts";
import { linuxKernel } from "../../../src/cni/link/kernel.ts";
import { realHost } from "../../../src/cni/real-host.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { toAddressText } from "../../../src/lib/ip/address.ts";
import { addressAt, type Prefix, sizeOf } from "../../../src/lib/ip/prefix.ts";
import { openNetns } from "../../../src/linux/netns.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { TestNetns } from "../../support/node/netns.ts";
import { callInProcess } from "./in-process-call.ts";

/** The node of all of them, and their network. */
export const NODE = "n1";
export const NETWORK = "test-net";

/** A note of a pending release for which nothing must be gone first: no namespace, and no ADD is under way. */
const NOTHING_FIRST = "\n0\n";

/** One attachment: of a pod with one address. */
export interface StaleAttachment {
  readonly pod: string;
  readonly containerID: string;
  readonly address: string;
  /** Name of its record. */
  readonly endpoint: string;
}

/** Full blocks, and who has their addresses. @param uids of the pods, where somebody knows them, in the order of their addresses */
export function fillBlocks(
  cidrs: readonly Prefix[],
  uids: ReadonlyMap<string, string> = new Map(),
): { readonly blocks: readonly Block[]; readonly attachments: readonly StaleAttachment[] } {
  const attachments: StaleAttachment[] = [];
  const blocks = cidrs.map((cidr): Block => {
    const allocations = Array.from({ length: Number(sizeOf(cidr)) }, (_, ordinal) => {
      const pod = `web-${attachments.length}`;
      const endpoint = joinEndpointName(NODE, "k8s", pod, "eth0");
      const containerID = `c${attachments.length}`;
      attachments.push({ pod, containerID, address: toAddressText(addressAt(cidr, ordinal)), endpoint });
      const podUID = uids.get(pod);
      const owner = { network: NETWORK, containerID, ifName: "eth0", node: NODE, pod, namespace: "default", endpoint };
      return { ordinal, owner: { ...owner, ...(podUID !== undefined && { podUID }) }, since: 1000 };
    });
    return { cidr, node: NODE, allocations, free: [], releasedAt: new Map(), emptySince: undefined };
  });
  return { blocks, attachments };
}

/** Containers that have addresses, by what is stored. */
export async function ownersIn(datastore: Datastore): Promise<readonly string[]> {
  const [blocks] = await datastore.read([{ type: "all-blocks" }]);
  return blocks.flatMap(({ value }) => value.allocations.map(({ owner }) => owner.containerID));
}

export interface Reply {
  /** 0: it succeeded. */
  readonly code: number;
  readonly message: string;
}

/** Makes calls in a namespace that has no interfaces, with all files in a temp folder. */
export class EmptyNode implements Disposable {
  readonly #config: Json;
  readonly #place = new TestNetns();
  readonly #folder = mkdtempSync(join(tmpdir(), "npgt-many-"));

  /** @param config of the datastore */
  constructor(config: Json) {
    this.#config = config;
  }

  async call(verb: "GC" | "DEL", more: Json = {}, change: Partial<Host> = {}): Promise<Reply> {
    const netns = openNetns(this.#place.path);
    if (netns === undefined) throw new Error("the test's namespace is gone");
    using place = netns;
    const folder = this.#folder;
    const files = { lib_dir: folder, endpoint_status_dir: folder, ipam_lock_file: join(folder, "ipam.lock") };
    const base = { cniVersion: "1.1.0", name: NETWORK, type: "netplug", nodename: NODE, ipam: { type: "netplug-ipam" } };
    const config = { ...base, ...files, "cni.dev/valid-attachments": [], ...this.#config, ...more };
    const subject = verb === "GC" ? {} : { CNI_CONTAINERID: "another", CNI_IFNAME: "eth0", CNI_NETNS: join(folder, "gone") };
    const { json } = await callInProcess("netplug", { CNI_COMMAND: verb, CNI_PATH: folder, ...subject }, config, {
      kernel: { ...linuxKernel, openRouteSocket: (other) => linuxKernel.openRouteSocket(other ?? place) },
      ...change,
    });
    if (json === undefined) return { code: 0, message: "" };
    const { code = 0, msg = "", details = "" } = json;
    return { code, message: `${msg}; ${details}` };
  }

  /** Notes attachments as DELs do that could not release their addresses. */
  note(attachments: readonly StaleAttachment[]): void {
    mkdirSync(this.#notes, { recursive: true });
    for (const { containerID } of attachments) writeFileSync(join(this.#notes, `${NETWORK}@${containerID}@eth0`), NOTHING_FIRST);
  }

  /** Takes hold of an attachment, as an ADD does that begins now. */
  hold({ containerID }: StaleAttachment): void {
    const folder = join(this.#folder, "attached");
    mkdirSync(folder, { recursive: true });
    const { processId, callerId, sinceBoot } = realHost();
    const parts = ["/run/netns/another", "", "netplug", sinceBoot(), processId, callerId];
    writeFileSync(join(folder, `${NETWORK}@${containerID}@eth0`), parts.join("\n"));
  }

  /** How many are still noted. */
  countNotes(): number {
    return readdirSync(this.#notes).length;
  }

  get #notes(): string {
    return join(this.#folder, "unreleased");
  }

  [Symbol.dispose](): void {
    this.#place[Symbol.dispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
