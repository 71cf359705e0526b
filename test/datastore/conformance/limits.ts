/** What no datastore takes, and that none loses anything of what is long or many. */

import { expect, test } from "bun:test";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { NetplugError } from "../../../src/lib/errors.ts";
import { makeBlock } from "../blocks.ts";
import { makePool, poolRef } from "../resources.ts";
import { ask, commit, readBlock } from "../steps.ts";

export function describeLimits(datastore: Datastore): void {
  test("two writes of one commit may not change the same thing", async () => {
    const twice = [
      { op: "create", resource: makePool("a") },
      { op: "delete", ref: poolRef("a") },
    ] as const;
    await expect(datastore.commit(twice)).rejects.toThrow("two of them change the same resource or block");
  });

  test("a block does not become another block", async () => {
    const block = makeBlock("10.65.0.0/30", "n1");
    await commit(datastore, { op: "create-block", block });
    const previous = await readBlock(datastore, block);
    await expect(datastore.commit([{ op: "update-block", block: makeBlock("10.65.0.4/30", "n1"), previous }])).rejects.toThrow(
      "update block",
    );
  });

  test("a signal that aborts ends a request with the reason it gives", async () => {
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 5 s");
    await expect(datastore.read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(datastore.read([{ type: "list", kind: "IPPool" }], { signal: AbortSignal.abort() })).rejects.toMatchObject({
      kind: "tryAgainLater",
    });
  });

  test("a signal that has aborted keeps a commit from being done", async () => {
    const reason = new NetplugError("tryAgainLater", "wait for etcd: not done within 5 s");
    const writes = [{ op: "create", resource: makePool("a") }] as const;
    await expect(datastore.commit(writes, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await ask(datastore, { type: "list", kind: "IPPool" })).toEqual([]);
  });

  test("any number of queries is answered from one read, in order", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `p${index}`);
    await commit(datastore, { op: "create", resource: makePool("p299") });
    const answers = await datastore.read(names.map((name) => ({ type: "get", ref: poolRef(name) }) as const));
    expect(answers.map((stored) => stored?.value.metadata.name)).toEqual([...names.slice(0, -1).map(() => undefined), "p299"]);
    expect(await datastore.read([])).toEqual([]);
  });

  // as many as etcd takes in one transaction, and one more
  test.each([128, 129])("a conflict answers %i queries, in order", async (count) => {
    await commit(datastore, { op: "create", resource: makePool("p0") });
    const readOnConflict = Array.from({ length: count }, (_, index) => ({ type: "get", ref: poolRef(`p${count - 1 - index}`) }) as const);
    const { committed, ...conflict } = await datastore.commit([{ op: "create", resource: makePool("p0") }], { readOnConflict });
    expect(committed).toBe(false);
    const names = ("current" in conflict ? conflict.current : []).map((stored) => stored?.value.metadata.name);
    expect(names).toEqual([...readOnConflict.slice(1).map(() => undefined), "p0"]);
  });

  test("a list of any length is complete", async () => {
    const names = Array.from({ length: 2_345 }, (_, index) => `p${String(index).padStart(4, "0")}`);
    // not too many at once: where each is a request of its own, all of them have to be done in five seconds
    for (let start = 0; start < names.length; start += 35) {
      await commit(datastore, ...names.slice(start, start + 35).map((name) => ({ op: "create", resource: makePool(name) }) as const));
    }
    const [pools, conflict] = await Promise.all([
      ask(datastore, { type: "list", kind: "IPPool" }),
      datastore.commit([{ op: "create", resource: makePool("p0000") }], { readOnConflict: [{ type: "list", kind: "IPPool" }] }),
    ]);
    expect(pools.map(({ value }) => value.metadata.name)).toEqual(names);
    expect(conflict.committed ? [] : conflict.current[0].map(({ value }) => value.metadata.name)).toEqual(names);
  });
}
