import { expect, test } from "bun:test";
import { fakeClock } from "../../test/support/fake-clock.ts";
import type { Datastore, RequestOptions } from "../datastore/datastore.ts";
import { startDeadline } from "../lib/deadline.ts";
import { IP_POOLS } from "./cluster.ts";
import { transact } from "./transact.ts";

/** Its lists lack what is new, unless they must not. */
function laggingDatastore(type: Datastore["type"], asked: boolean[]): Datastore {
  const read = async (_queries: unknown, { mayLag = false }: RequestOptions): Promise<unknown> => {
    asked.push(mayLag);
    return [mayLag ? [] : ["new"]];
  };
  return { type, read } as unknown as Datastore; // nothing else of it is used
}

async function decideOn(datastore: Datastore): Promise<number> {
  const clock = fakeClock();
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 1000), mayLag: true };
  return await transact(ports, [IP_POOLS], (facts) => {
    const count = facts.find(IP_POOLS)?.answer.length ?? 0;
    if (count === 0) throw new Error("no pool");
    return { writes: [], result: count };
  });
}

test("on Kubernetes a decision that fails on lists that may be old is made again on the newest", async () => {
  const asked: boolean[] = [];
  expect(await decideOn(laggingDatastore("kubernetes", asked))).toBe(1);
  expect(asked).toEqual([true, false]);
});

test("a decision that fails on what is the newest anyway fails", async () => {
  const asked: boolean[] = [];
  await expect(decideOn(laggingDatastore("etcdv3", asked))).rejects.toThrow("no pool");
  expect(asked).toEqual([true]);
});
