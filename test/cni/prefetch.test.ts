/** How many rounds of requests an ADD makes, block after block. */

import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

/** On Kubernetes reads, block, pod status; on etcd a read and a transaction. */
const ROUNDS = isOnEtcd ? 2 : 3;
const BLOCK_ADDRESSES = 4;

const node = share(
  () => TestNode.start([]),
  (node) => node.createPool("small", { cidr: "10.65.0.0/26", blockSize: 30 }),
);

const note = (config: Json = node.config()): string => join(node.folder, `next-add.${String(config["name"])}.json`);

/** Attachments that end with the test. */
class Attachments implements AsyncDisposable {
  readonly containerIDs: string[] = [];
  readonly #config: Json;
  readonly #pods = new DisposableStack();

  constructor(config: Json = node.config()) {
    this.#config = config;
  }

  /** @returns the ADD's rounds of requests, as the ledger has counted them */
  async add(config: Json = this.#config, plugin = "netplug"): Promise<unknown> {
    const containerID = node.newContainerID();
    await node.add(this.#pods.use(new TestNetns()), { containerID, config, plugin });
    this.containerIDs.push(containerID);
    return node.logLines().findLast((line) => line["msg"] === "ledger" && line["containerID"] === containerID)?.["roundTrips"];
  }

  /** Adds until the node's blocks are used up. */
  async fill(): Promise<void> {
    const left = note(this.#config);
    for (let i = 0; i < 16 * BLOCK_ADDRESSES && !existsSync(left); i++) await this.add();
    expect(existsSync(left)).toBe(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const containerID of this.containerIDs) await node.del({ containerID, config: this.#config });
    this.#pods.dispose();
  }
}

test("only a node's first ADD looks for a block in a round of its own", async () => {
  await using attachments = new Attachments();
  const rounds: unknown[] = [];
  const notes: boolean[] = [];
  for (let i = 0; i < 3 * BLOCK_ADDRESSES + 1; i++) {
    rounds.push(await attachments.add());
    notes.push(existsSync(note()));
  }
  expect(rounds).toEqual([ROUNDS + 1, ...Array.from({ length: 3 * BLOCK_ADDRESSES }, () => ROUNDS)]);
  // After the last address of each block.
  expect(notes).toEqual(notes.map((_, i) => i % BLOCK_ADDRESSES === BLOCK_ADDRESSES - 1));
  expect(await node.addressesInUse()).toBe(3 * BLOCK_ADDRESSES + 1);
});

test("an attachment to which another IPAM plugin gives addresses leaves the note to others", async () => {
  await using attachments = new Attachments();
  await attachments.fill();
  const foreign = { type: "host-local", dataDir: join(node.folder, "host-local"), ranges: [[{ subnet: "10.88.0.0/24" }]] };
  const config = { ...node.config(), name: "foreign", ipam: foreign };
  await attachments.add(config);
  await node.del({ containerID: attachments.containerIDs.pop() ?? "", config });
  expect(existsSync(note())).toBe(true);
  expect(await attachments.add()).toBe(ROUNDS);
});

test("networks of different pools do not take each other's", async () => {
  await node.createPool("other", { cidr: "10.67.0.0/26", blockSize: 30, assignmentMode: "Manual" });
  const config = node.config({ name: "other", ipam: { ipv4_pools: ["other"] } });
  await using attachments = new Attachments();
  await using others = new Attachments(config);
  const turns = [
    [attachments, others],
    [others, attachments],
  ] as const;
  for (const [full, other] of turns) {
    await full.fill();
    await other.add();
    expect(await full.add()).toBe(ROUNDS);
  }
});

test("`netplug-ipam` uses it, too", async () => {
  await using attachments = new Attachments();
  await attachments.fill();
  // Where no record is written, there is no round for it: reads, block.
  expect(await attachments.add(node.config(), "netplug-ipam")).toBe(2);
});

test("an ADD that waits for readiness gates asks after them, in a round of its own", async () => {
  using gate = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ready") });
  await using attachments = new Attachments();
  await attachments.fill();
  expect(await attachments.add(node.config({ readiness_gates: [`http://127.0.0.1:${gate.port}/`] }))).toBe(ROUNDS + 1);
});

test("a DEL takes the note away, and one that cannot be read costs a round", async () => {
  await using attachments = new Attachments();
  await attachments.fill();
  const containerID = attachments.containerIDs.pop() ?? "";
  await node.del({ containerID });
  expect(existsSync(note())).toBe(false);
  expect(await attachments.add()).toBe(ROUNDS);

  expect(existsSync(note())).toBe(true);
  writeFileSync(note(), '[{"within":');
  expect(await attachments.add()).toBe(ROUNDS + 1);
  expect(existsSync(note())).toBe(false);
});
