/** How many rounds of requests an ADD makes, block after block. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestNetns } from "../support/netns.ts";
import { isOnEtcd } from "../support/node-datastore.ts";
import { TestNode } from "../support/test-node.ts";

/** On Kubernetes reads, block, pod status; on etcd a read and a transaction. */
const ROUNDS = isOnEtcd ? 2 : 3;
const BLOCK_ADDRESSES = 4;

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start([]);
  await node.createPool("small", { cidr: "10.65.0.0/26", blockSize: 30 });
});
afterAll(async () => await node?.[Symbol.asyncDispose]());

const note = (): string => join(node.folder, "next-add.json");

/** Attachments that end with the test. */
class Attachments implements AsyncDisposable {
  readonly containerIDs: string[] = [];
  readonly #pods = new DisposableStack();

  /** @returns the ADD's rounds of requests, as the ledger has counted them */
  async add(): Promise<unknown> {
    const containerID = node.newContainerID();
    await node.add(this.#pods.use(new TestNetns()), { containerID });
    this.containerIDs.push(containerID);
    return node.logLines().findLast((line) => line["msg"] === "ledger" && line["containerID"] === containerID)?.["roundTrips"];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const containerID of this.containerIDs) await node.del({ containerID });
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

test("a DEL takes the note away, and one that cannot be read costs a round", async () => {
  await using attachments = new Attachments();
  for (let i = 0; i < 4 * BLOCK_ADDRESSES && !existsSync(note()); i++) await attachments.add();
  expect(existsSync(note())).toBe(true);
  const containerID = attachments.containerIDs.pop() ?? "";
  await node.del({ containerID });
  expect(existsSync(note())).toBe(false);
  expect(await attachments.add()).toBe(ROUNDS);

  expect(existsSync(note())).toBe(true);
  writeFileSync(note(), '[{"within":');
  expect(await attachments.add()).toBe(ROUNDS + 1);
  expect(existsSync(note())).toBe(false);
});
