/** `netplug` on a real API server: one by one against `ptp` with `host-local`, many pods at once, and among 10 000 blocks. */

import { existsSync, rmSync } from "node:fs";
import type { LedgerEntry } from "../../src/lib/log/ledger-entry.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { benchAtOnce, benchBesideBusy } from "./at-once.ts";
import { InstalledNode } from "./installed-node.ts";
import type { Caller, Reply } from "./installed-node.ts";
import { phasesOf, readLedgerFile, roundTripsOf } from "./ledger.ts";
import type { BenchRow } from "./row.ts";
import { interleave, round, summarize, toText } from "./summary.ts";

const WARM_UPS = 5;
const BLOCKS = 10_000;

/** Two API servers: one with the node's own block, one with ten thousand of others besides. */
export async function benchKubernetes(rounds: number): Promise<readonly BenchRow[]> {
  await using few = await InstalledNode.start();
  const rows = [...(await benchOneByOne(few, rounds)), await benchAtOnce(few), await benchBesideBusy(few)];
  await using many = await InstalledNode.start();
  await many.createBlocks(BLOCKS);
  return [...rows, ...(await benchAmongBlocks(few, many, rounds))];
}

/** @throws Error when the plugin refuses: a benchmark of failures says nothing */
function mustWork(reply: Reply): Reply {
  if (reply.status !== 0) throw new Error(reply.stdout + reply.stderr);
  return reply;
}

/** A program that only asks gives none. */
function resultOf({ stdout }: Reply): Json {
  return stdout === "" ? {} : (JSON.parse(stdout) as Json);
}

interface Times {
  readonly add: number;
  readonly del: number;
}

/** What is left of an ADD that only asks. */
const NOTHING: Reply = { ms: 0, status: 0, stdout: "", stderr: "" };

async function addAndDelete(call: Caller, name: string): Promise<Times> {
  using netns = new TestNetns();
  const attachment = { containerID: name, netns: netns.path, pod: name };
  const added = mustWork(await call("ADD", attachment));
  return { add: added.ms, del: mustWork(await call("DEL", { ...attachment, result: resultOf(added) })).ms };
}

/** Each candidate has pods of its own, so that none is recreated. */
async function inTurns<Name extends string>(
  candidates: Readonly<Record<Name, { readonly node: InstalledNode; readonly call: Caller; readonly before?: () => void }>>,
  rounds: number,
): Promise<Readonly<Record<Name, { readonly add: readonly number[]; readonly del: readonly number[] }>>> {
  const names = Object.keys(candidates) as Name[];
  const deletions = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  const run = crypto.randomUUID().slice(0, 8);
  const podOf = (name: Name, turn: number): string => `${name}-${run}-${turn}`;
  for (const name of names) {
    const turns = Array.from({ length: rounds + WARM_UPS }, (_, turn) => podOf(name, turn));
    await candidates[name].node.createPods(turns);
  }
  const measure = async (name: Name, turn: number): Promise<number> => {
    const { call, before } = candidates[name];
    before?.();
    const { add, del } = await addAndDelete(call, podOf(name, turn));
    if (turn >= WARM_UPS) deletions[name].push(del);
    return add;
  };
  const additions = await interleave(
    names.map((name) => ({ name, measure: (turn: number) => measure(name, turn) })),
    rounds,
    WARM_UPS,
  );
  return Object.fromEntries(names.map((name) => [name, { add: additions[name], del: deletions[name] }])) as unknown as Record<
    Name,
    { readonly add: readonly number[]; readonly del: readonly number[] }
  >;
}

async function benchOneByOne(node: InstalledNode, rounds: number): Promise<readonly BenchRow[]> {
  const times = await inTurns(
    {
      netplug: { node, call: (verb, attachment) => node.call(verb, attachment) },
      ptp: { node, call: (verb, attachment) => node.callPtp(verb, attachment) },
      requests: { node, call: async (verb, { pod }) => (verb === "ADD" ? await node.callRequestsAlone(pod) : NOTHING) },
    },
    rounds,
  );
  const entries = readLedgerFile(node.logFile);
  return [
    ratioRow(
      "ADD, netplug-ipam on the Kubernetes API, against ptp + host-local",
      times.netplug.add,
      times.ptp.add,
      2.5,
      phasesOf(entries, "ADD"),
    ),
    ratioRow("only the requests of such an ADD, from a program that does nothing else", times.requests.add, times.ptp.add, undefined, {}),
    ratioRow(
      "DEL, netplug-ipam on the Kubernetes API, against ptp + host-local",
      times.netplug.del,
      times.ptp.del,
      undefined,
      phasesOf(entries, "DEL"),
    ),
    roundTripRow(entries, rounds),
  ];
}

function ratioRow(
  what: string,
  times: readonly number[],
  theirs: readonly number[],
  limit: number | undefined,
  more: Readonly<Record<string, number>>,
): BenchRow {
  const [measured, ptpHostLocal] = [summarize(times), summarize(theirs)];
  const ratio = round(measured.p50 / ptpHostLocal.p50);
  return {
    what,
    target: limit === undefined ? "reported" : `≤ ${limit.toFixed(1)} × its p50`,
    measured: `${ratio} × (${toText(measured)} against ${toText(ptpHostLocal)})`,
    met: limit === undefined ? undefined : ratio <= limit,
    figures: { measured, ptpHostLocal, ratio, ...more },
  };
}

function roundTripRow(entries: readonly LedgerEntry[], rounds: number): BenchRow {
  const trips = roundTripsOf(entries, rounds);
  return {
    what: "rounds of requests of an ADD on a node that owns a block with space",
    target: "≤ 3 sequential: reads, block, pod status",
    measured: `${trips.p50} (at most ${trips.max})`,
    met: trips.max <= 3,
    figures: { roundTrips: trips },
  };
}

async function benchAmongBlocks(few: InstalledNode, many: InstalledNode, rounds: number): Promise<readonly BenchRow[]> {
  // a pod of its own for each call, and a block that is claimed already
  const first = `claim-${crypto.randomUUID().slice(0, 8)}`;
  await many.createPods([first]);
  await addAndDelete((verb, attachment) => many.call(verb, attachment), first);
  if (!existsSync(many.hintFile)) throw new Error(`the plugin left no note of its blocks at ${many.hintFile}`);

  const call =
    (node: InstalledNode): Caller =>
    (verb, attachment) =>
      node.call(verb, attachment);
  const times = await inTurns(
    {
      one: { node: few, call: call(few) },
      many: { node: many, call: call(many) },
      "many-without-note": { node: many, call: call(many), before: () => rmSync(many.hintFile, { force: true }) },
    },
    rounds,
  );
  const one = summarize(times.one.add);
  const row = (what: string, values: readonly number[], limit: number | undefined): BenchRow => {
    const summary = summarize(values);
    const ratio = round(summary.p50 / one.p50);
    return {
      what,
      target: limit === undefined ? "reported" : `≤ ${limit} × its p50 with one block`,
      measured: `${ratio} × (${toText(summary)} against ${toText(one)})`,
      met: limit === undefined ? undefined : ratio <= limit,
      figures: { [`${BLOCKS} blocks`]: summary, "one block": one, ratio },
    };
  };
  return [
    row("ADD with 10 000 blocks present", times.many.add, 1.2),
    row("DEL with 10 000 blocks present, against an ADD", times.many.del, undefined),
    row("ADD with 10 000 blocks present, the node's note of its blocks lost", times["many-without-note"].add, undefined),
  ];
}
