import { describe, expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { requestFor } from "../../../test/support/ipam/ipam.ts";
import { SOME_WRITE, scriptedDatastore } from "../../../test/support/ipam/scripted-datastore.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { CommitOptions, CommitResult, Datastore, Query, RequestOptions, Revision } from "../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../datastore/outcome-unknown.ts";
import { type DatastoreTraits, ETCD_TRAITS, KUBERNETES_TRAITS } from "../../datastore/traits.ts";
import { startDeadline } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import type { Clock } from "../../lib/ports.ts";
import { IP_POOLS, IP_RESERVATIONS } from "../cluster.ts";
import { type Facts, toFacts } from "../facts.ts";
import type { AddressRequest } from "../request.ts";
import type { NodeTurn, TurnWait } from "./node-turn.ts";
import { type Decision, transact, type Try } from "./transact.ts";

/** Its lists lack what is new, unless they must not. */
function laggingDatastore(traits: DatastoreTraits, asked: boolean[]): Datastore {
  const read = async (_queries: unknown, { mayLag = false }: RequestOptions): Promise<unknown> => {
    asked.push(mayLag);
    return [mayLag ? [] : ["new"]];
  };
  return scriptedDatastore({ traits, read });
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
  expect(await decideOn(laggingDatastore(KUBERNETES_TRAITS, asked))).toBe(1);
  expect(asked).toEqual([true, false]);
});

test("a decision that fails on what is the newest anyway fails", async () => {
  const asked: boolean[] = [];
  await expect(decideOn(laggingDatastore(ETCD_TRAITS, asked))).rejects.toThrow("no pool");
  expect(asked).toEqual([true]);
});

test("a commit that never gets a certain reply fails in time, and says what the last one was", async () => {
  const clock = fakeClock();
  const commit = (): Promise<never> =>
    Promise.reject(new OutcomeUnknown("patch pods/status: the API server answers 500; it may have been done"));
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0.5, deadline: startDeadline(clock, 5_000) };
  const failing = transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: undefined }));
  const failure = failing.catch((thrown: unknown) => thrown);
  for (let second = 0; second < 6; second++) await clock.advance(1_000);
  expect(await failure).toMatchObject({
    kind: "tryAgainLater",
    message: expect.stringMatching(
      /^(?:commit addresses: no certain reply after \d+ tries|wait for the datastore).*; a commit before, whose reply was lost, may/,
    ),
    details: "patch pods/status: the API server answers 500; it may have been done",
  });
});

test("a commit that others win every time is tried again, at once at first, until the time is over", async () => {
  const clock = fakeClock();
  const events: string[] = [];
  const commit = async () => {
    events.push("commit");
    return { committed: false, current: [[]] };
  };
  const sleep: Clock["sleep"] = async (ms, signal) => {
    events.push("pause");
    await clock.sleep(ms, signal);
  };
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock: { ...clock, sleep }, random: () => 0.5, deadline: startDeadline(clock, 5_000) };
  const failing = transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: undefined }));
  const failure = failing.catch((thrown: unknown) => thrown);
  for (let second = 0; second < 6; second++) await clock.advance(1_000);
  expect(await failure).toMatchObject({
    kind: "tryAgainLater",
    message: expect.stringMatching(/^commit addresses: others changed the same blocks after \d+ tries, and the time is over$/),
  });
  const later = Array.from({ length: events.length - 3 }, (_, i) => (i % 2 === 0 ? "pause" : "commit"));
  expect(events).toEqual(["commit", "commit", "commit", ...later]);
});

test.each([
  ["is done", undefined],
  ["fails", new NetplugError("ioFailure", "the disk is full")],
])("what fails beside a commit is thrown once the commit %s", async (_, refusal) => {
  const clock = fakeClock();
  let isCommitted = false;
  const commit = async (): Promise<CommitResult<[]>> => {
    await Promise.resolve();
    isCommitted = true;
    if (refusal !== undefined) throw refusal;
    return { committed: true, revision: "8" as Revision };
  };
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 10_000) };
  const decide = (): Decision<void> => ({ writes: [SOME_WRITE], result: undefined });
  const whileCommitting = (): never => {
    throw new Error("no such interface");
  };
  await expect(transact(ports, [IP_POOLS], decide, { whileCommitting })).rejects.toThrow("no such interface");
  expect(isCommitted).toBe(true);
  if (refusal !== undefined) await expect(transact(ports, [IP_POOLS], decide)).rejects.toBe(refusal);
});

test("who waits for the lock in vain has time left to commit without it", async () => {
  const clock = fakeClock();
  const takeTurn = async ({ maxMs }: TurnWait): Promise<undefined> => void (await clock.advance(maxMs));
  const commit = async (): Promise<CommitResult<[]>> => ({ committed: true, revision: "8" as Revision });
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 10_000), takeTurn };
  expect(await transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: "committed" }))).toBe("committed");
});

test("who has waited for the turn, for as long as one can last, has it until the commit is done", async () => {
  const clock = fakeClock();
  const waits: (readonly number[])[] = [];
  const events: string[] = [];
  const turn: NodeTurn = { [Symbol.dispose]: () => void events.push("over") };
  const takeTurn = async ({ stallMs, maxMs }: TurnWait): Promise<NodeTurn | undefined> =>
    waits.push([stallMs, maxMs]) === 1 ? undefined : turn;
  const commit = async (): Promise<CommitResult<[]>> => {
    events.push("commit");
    return { committed: true, revision: "8" as Revision };
  };
  const datastore = scriptedDatastore({ commit });
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 60_000), takeTurn };
  await transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: undefined }));
  expect(waits).toEqual([
    [0, 0],
    [10_000, 30_000],
  ]);
  expect(events).toEqual(["commit", "over"]);
});

/** What a query asks for. */
const nameOf = (query: Query): string => (query.type === "get" ? query.ref.kind : query.type === "list" ? query.kind : query.type);

describe("others in the queue", () => {
  const BLOCKS: Query = { type: "blocks-of-node", node: "n1" };
  const [first, second] = [requestFor("c1", "n1"), requestFor("c2", "n1")];

  interface Play {
    readonly traits?: typeof KUBERNETES_TRAITS;
    /** How the commits end, one after the other. */
    readonly commits: readonly ("done" | "conflict" | "unknown")[];
  }

  /** A turn with two in the queue, of whom a decision serves the first. @returns what happened, in order */
  async function play({ traits = KUBERNETES_TRAITS, commits }: Play): Promise<readonly string[]> {
    const clock = fakeClock();
    const events: string[] = [];
    const endings = commits.values();
    const commit = async (_: unknown, { onBlocksWritten }: CommitOptions<[]>): Promise<CommitResult<[]>> => {
      const ending = endings.next().value ?? "done";
      events.push(`commit: ${ending}`);
      if (ending === "unknown") throw new OutcomeUnknown("no reply");
      if (ending === "conflict") return { committed: false, current: [] };
      if (!traits.commitsAtOnce) onBlocksWritten?.();
      return { committed: true, revision: "8" as Revision };
    };
    const queue = {
      requests: () => (events.push("asked"), [first, second]),
      tellServed: (served: readonly AddressRequest[]) => void events.push(`told ${served.map(({ owner }) => owner.containerID).join()}`),
    };
    const turn: NodeTurn = { queue, [Symbol.dispose]: () => void events.push("turn ends") };
    const datastore = scriptedDatastore({ traits, commit });
    const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 60_000), takeTurn: async () => turn };
    const decide = (_: Facts, { queued }: Try): Decision<void> => ({
      writes: [SOME_WRITE],
      result: undefined,
      served: queued().slice(0, 1),
    });
    const done = transact(ports, [IP_POOLS], decide);
    while ((await Promise.race([done.then(() => "done"), Bun.sleep(1)])) !== "done") await clock.advance(100);
    return events;
  }

  test.each<[string, Play, readonly string[]]>([
    ["before the turn ends", { commits: ["done"] }, ["asked", "commit: done", "told c1", "turn ends"]],
    ["also where all is committed at once", { traits: ETCD_TRAITS, commits: ["done"] }, ["asked", "commit: done", "told c1", "turn ends"]],
    [
      "not before the commit that is done; for each try those who live then are asked",
      { commits: ["conflict", "unknown", "done"] },
      ["asked", "commit: conflict", "asked", "commit: unknown", "asked", "commit: done", "told c1", "turn ends"],
    ],
  ])("are told once that they have what they want, %s", async (_, plan, events) => expect(await play(plan)).toEqual([...events]));

  /** A call to which others give what it asks for; facts were read before. @returns what was asked for, and read again */
  async function beServed(turns: readonly (NodeTurn | undefined)[]): Promise<{ readonly asked: number; readonly read: readonly string[] }> {
    const clock = fakeClock();
    const read: string[] = [];
    let asked = 0;
    const coming = turns.values();
    const takeTurn = async ({ stallMs, request }: TurnWait): Promise<NodeTurn | undefined> => {
      if (stallMs > 0 && request?.() !== undefined) await clock.advance(20);
      return coming.next().value;
    };
    const readAll = async (queries: readonly Query[]): Promise<unknown> => (read.push(...queries.map(nameOf)), queries.map(() => []));
    const datastore = scriptedDatastore({ read: readAll });
    const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 60_000), takeTurn };
    const facts = toFacts([BLOCKS], [[]]);
    const queueRequest = (): AddressRequest => (asked++, first);
    await transact(ports, [BLOCKS], () => ({ writes: [], result: undefined }), { facts, queueRequest });
    return { asked, read };
  }

  const ownTurn = (isReadOutdated: boolean): NodeTurn => ({ isReadOutdated, [Symbol.dispose]: () => undefined });

  test("are asked only by who must wait; who has got it looks at the blocks again, without a turn", async () => {
    expect(await beServed([ownTurn(false)])).toEqual({ asked: 0, read: [] });
    expect(await beServed([undefined, undefined])).toEqual({ asked: 1, read: ["blocks-of-node"] });
  });

  test("may have served a request of an ADD that was killed: who reads before its turn looks again", async () =>
    expect(await beServed([ownTurn(true)])).toEqual({ asked: 0, read: ["blocks-of-node"] }));
});

describe("what a request leaves for the next one", () => {
  const POOL: Query = { type: "get", ref: { kind: "IPPool", name: "blue" } };

  test("is there before the next one has its turn, on Kubernetes too, where the turn ends before the commit", async () => {
    const clock = fakeClock();
    const events: string[] = [];
    const commit = async (_: unknown, { onBlocksWritten }: CommitOptions<[]>): Promise<CommitResult<[]>> => {
      onBlocksWritten?.();
      events.push("recorded");
      return { committed: true, revision: "8" as Revision };
    };
    const datastore = scriptedDatastore({ commit });
    const turn = { [Symbol.dispose]: () => void events.push("turn ends") };
    const savePrefetch = (queries: readonly Query[]): void => void events.push(`left ${queries.length}`);
    const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 10_000), takeTurn: async () => turn, savePrefetch };
    await transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: undefined, prefetch: [POOL] }));
    expect(events.slice(0, 3)).toEqual(["left 1", "turn ends", "recorded"]);
  });

  test("is known after a lost commit, as new as the rest", async () => {
    const clock = fakeClock();
    let lost = 0;
    const commit = async (_: unknown, { readOnConflict = [] }: CommitOptions<readonly Query[]>) =>
      lost++ === 0
        ? { committed: false, current: readOnConflict.map(({ type }) => `new ${type}`) }
        : { committed: true, revision: "8" as Revision };
    const read = async (queries: readonly Query[]) => queries.map(({ type }) => `old ${type}`);
    const datastore = scriptedDatastore({ read, commit });
    const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 10_000) };
    const found: unknown[] = [];
    const decide = (facts: Facts): Decision<undefined> => {
      found.push([facts.find(IP_POOLS)?.answer, facts.find(POOL)?.answer]);
      return { writes: [SOME_WRITE], result: undefined };
    };
    await transact(ports, [IP_POOLS], decide, { loadPrefetch: () => [POOL] });
    expect(found).toEqual([
      ["old list", "old get"],
      ["new list", "new get"],
    ]);
  });
});

describe("after it waited for the lock", () => {
  const QUERIES = [
    CLUSTER_INFORMATION,
    IP_POOLS,
    IP_RESERVATIONS,
    { type: "get", ref: { kind: "Node", name: "n1" } },
    { type: "get", ref: { kind: "WorkloadEndpoint", namespace: "default", name: "n1-k8s-a-eth0" } },
    { type: "blocks-of-node", node: "n1" },
  ] as const satisfies readonly Query[];
  const ALL = QUERIES.map(nameOf);

  interface Circumstances {
    /** What the record of the attachment shows. */
    readonly ipNetworks?: readonly string[];
    /** Of the decision. */
    readonly check?: (found: Facts) => void;
    /** What an earlier request has left. */
    readonly loadPrefetch?: readonly Query[];
  }

  /** @returns the kinds of queries that were asked for again */
  async function askedAgain(
    type: "kubernetes" | "etcdv3",
    waitedMs: number,
    { ipNetworks, check, loadPrefetch }: Circumstances = {},
  ): Promise<readonly string[]> {
    const clock = fakeClock();
    const asked: string[] = [];
    const read = async (queries: readonly Query[], { mayLag = false }: RequestOptions): Promise<unknown> => {
      asked.push(...queries.map((query) => (mayLag ? nameOf(query) : `newest ${nameOf(query)}`)));
      return queries.map(() => (mayLag ? [] : [{}]));
    };
    const takeTurn = async (wait: TurnWait): Promise<NodeTurn | undefined> => {
      if (wait.stallMs === 0 && waitedMs > 0) return undefined;
      await clock.advance(waitedMs);
      return { [Symbol.dispose]: () => undefined };
    };
    const datastore = scriptedDatastore({ traits: type === "kubernetes" ? KUBERNETES_TRAITS : ETCD_TRAITS, read });
    const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 60_000), mayLag: true, takeTurn };
    const record = ipNetworks && { value: { kind: "WorkloadEndpoint", spec: { ipNetworks } }, revision: "7" };
    const facts = toFacts(QUERIES, [undefined, [], [], undefined, record, []]);
    const decide = (found: Facts): Decision<readonly unknown[]> => {
      check?.(found);
      return { writes: [], result: QUERIES.map((query) => found.find(query)) };
    };
    const known = await transact(ports, QUERIES, decide, { facts, loadPrefetch: loadPrefetch && (() => loadPrefetch) });
    expect(known.every((answer) => answer !== undefined)).toBe(true);
    return asked;
  }

  test.each<["kubernetes" | "etcdv3", number, readonly string[]]>([
    ["kubernetes", 0, []],
    ["kubernetes", 500, ["blocks-of-node"]],
    ["kubernetes", 4_000, ["ClusterInformation", "IPPool", "blocks-of-node"]],
    ["kubernetes", 10_000, ALL],
    ["etcdv3", 0, []],
    ["etcdv3", 400, ALL],
  ])("on %s, by %i ms, it asks again for %j", async (type, waitedMs, again) =>
    expect(await askedAgain(type, waitedMs)).toEqual([...again]),
  );

  test.each([
    [["10.65.0.7/32"], ["WorkloadEndpoint", "blocks-of-node"]],
    [[], ["blocks-of-node"]],
  ])(
    "on Kubernetes, with a record that shows %j, which a DEL may have taken out meanwhile, it asks again for %j",
    async (ipNetworks, again) => expect(await askedAgain("kubernetes", 20, { ipNetworks })).toEqual(again),
  );

  test("what an earlier request left is asked for again with the blocks, the pool too: slots and block size must not be older than they", async () => {
    const pool: Query = { type: "get", ref: { kind: "IPPool", name: "blue" } };
    const slots: Query = { type: "claimed-blocks", within: parsePrefix("10.65.0.0/20"), limit: 128 };
    expect(await askedAgain("kubernetes", 20, { loadPrefetch: [slots, pool] })).toEqual(["blocks-of-node", "claimed-blocks", "IPPool"]);
    expect(await askedAgain("etcdv3", 20, { loadPrefetch: [slots] })).toEqual([...ALL, "claimed-blocks"]);
    expect(await askedAgain("kubernetes", 0, { loadPrefetch: [slots] })).toEqual([]);
  });

  test("on Kubernetes, a failure on what it did not ask for again is not the end: it asks for all, at its newest", async () => {
    const check = (found: Facts): void => {
      if (found.find(IP_RESERVATIONS)?.answer.length === 0) throw new NetplugError("noAddressLeft", "all addresses are reserved");
    };
    const asked = await askedAgain("kubernetes", 4_000, { check });
    expect(asked).toEqual(["ClusterInformation", "IPPool", "blocks-of-node", ...ALL.map((name) => `newest ${name}`)]);
  });
});

test("a process that has given up its turn, and must try again, serves no queued request", async () => {
  const clock = fakeClock();
  const events: string[] = [];
  const commit = async (_: unknown, { onBlocksWritten }: CommitOptions<[]>): Promise<CommitResult<[]>> => {
    const isFirst = !events.includes("turn ends");
    onBlocksWritten?.();
    return isFirst ? { committed: false, current: [] } : { committed: true, revision: "8" as Revision };
  };
  const queue = { requests: () => (events.push("asked"), []), tellServed: () => void events.push("told") };
  const turn: NodeTurn = { queue, [Symbol.dispose]: () => void events.push("turn ends") };
  const datastore = scriptedDatastore({ commit });
  const savePrefetch = (): void => void events.push("left");
  const ports = { datastore, clock, random: () => 0, deadline: startDeadline(clock, 10_000), takeTurn: async () => turn, savePrefetch };
  await transact(ports, [IP_POOLS], (_, { queued }) => ({ writes: [SOME_WRITE], result: undefined, served: queued() }));
  expect(events).toEqual(["asked", "left", "told", "turn ends"]);
});

test("who got its addresses from another's commit leaves what that one left for the next request", async () => {
  const clock = fakeClock();
  const left: (readonly Query[])[] = [];
  const commit = async (): Promise<CommitResult<[]>> => ({ committed: true, revision: "8" as Revision });
  const datastore = scriptedDatastore({ commit });
  const savePrefetch = (queries: readonly Query[]): void => void left.push(queries);
  const ports = {
    datastore,
    clock,
    random: () => 0,
    deadline: startDeadline(clock, 10_000),
    takeTurn: async () => undefined,
    savePrefetch,
  };
  await transact(ports, [IP_POOLS], () => ({ writes: [SOME_WRITE], result: undefined }));
  expect(left).toEqual([]);
});
