/** One attachment after the other, and a hundred at once, by `netplug` on etcd and by `ptp` with `host-local`. */

import type { LedgerEntry } from "../../src/lib/log/ledger-entry.ts";
import { pluginPath } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import type { TestNode } from "../support/node/test-node.ts";
import { phasesOf, readLedgerFile, roundTripsOf } from "./ledger.ts";
import { environmentOf, ptpConfig, type Verb } from "./plugin-call.ts";
import type { BenchRow } from "./row.ts";
import { interleave, round, summarize, toText } from "./summary.ts";
import { mustRunProgram } from "../support/programs/programs.ts";

const PLUGINS = ["netplug", "ptp"] as const;
type Plugin = (typeof PLUGINS)[number];

const BURST = 100;
const IN_FLIGHT = 16;
const BURST_REPEATS = 5;

interface Call {
  readonly ms: number;
  readonly stdout: string;
  readonly peakBytes: number;
}

/** Config of each plugin, as an installation has it: `netplug` writes its log file. */
function configOf(plugin: Plugin, node: TestNode): Json {
  return plugin === "netplug" ? node.config({ log_level: "INFO" }) : ptpConfig(node.folder);
}

/** @throws Error when the plugin refuses: a benchmark of failures says nothing */
function call(plugin: Plugin, verb: Verb, containerID: string, netns: string, config: string): Call {
  const started = performance.now();
  const child = Bun.spawnSync([pluginPath(plugin)], { env: environmentOf(verb, containerID, netns), stdin: Buffer.from(config) });
  const ms = performance.now() - started;
  if (!child.success) throw new Error(`${plugin} ${verb}: ${child.stdout.toString()}${child.stderr.toString()}`);
  return { ms, stdout: child.stdout.toString(), peakBytes: child.resourceUsage.maxRSS };
}

/** ADD and DEL one at a time, in turns. */
export async function benchOneByOne(node: TestNode, rounds: number): Promise<readonly BenchRow[]> {
  const deletions: Record<Plugin, number[]> = { netplug: [], ptp: [] };
  const peaks: number[] = [];
  const warmUps = 5;
  const additions = await interleave(
    PLUGINS.map((plugin) => ({
      name: plugin,
      measure: (turn: number) => {
        using pod = new TestNetns();
        const config = configOf(plugin, node);
        const containerID = `bench-${plugin}-${turn}`;
        const added = call(plugin, "ADD", containerID, pod.path, JSON.stringify(config));
        // as every runtime tells it that follows CNI 0.4.0 or newer
        const prevResult = JSON.parse(added.stdout) as Json;
        const deleted = call(plugin, "DEL", containerID, pod.path, JSON.stringify({ ...config, prevResult }));
        if (turn >= warmUps) deletions[plugin].push(deleted.ms);
        if (plugin === "netplug") peaks.push(added.peakBytes);
        return added.ms;
      },
    })),
    rounds,
    warmUps,
  );
  const entries = readLedgerFile(node.logFile);
  return [
    ratioRow("ADD, netplug-ipam on etcd, against ptp + host-local", additions, 1.3, phasesOf(entries, "ADD")),
    ratioRow("DEL, netplug-ipam on etcd, against ptp + host-local", deletions, 1.0, phasesOf(entries, "DEL")),
    roundTripRow(entries, rounds),
    memoryRow(peaks),
  ];
}

function ratioRow(
  what: string,
  values: Readonly<Record<Plugin, readonly number[]>>,
  limit: number,
  phases: Readonly<Record<string, number>>,
): BenchRow {
  const [ours, theirs] = [summarize(values.netplug), summarize(values.ptp)];
  const ratio = round(ours.p50 / theirs.p50);
  return {
    what,
    target: `≤ ${limit.toFixed(1)} × its p50`,
    measured: `${ratio} × (${toText(ours)} against ${toText(theirs)})`,
    met: ratio <= limit,
    figures: { netplug: ours, ptpHostLocal: theirs, ratio, ...phases },
  };
}

function roundTripRow(entries: readonly LedgerEntry[], rounds: number): BenchRow {
  const summary = roundTripsOf(entries, rounds);
  return {
    what: "datastore round trips of an ADD on a node that owns a block with space",
    target: "≤ 2 sequential",
    measured: `${summary.p50} (at most ${summary.max})`,
    met: summary.p99 <= 2,
    figures: { roundTrips: summary },
  };
}

function memoryRow(peaks: readonly number[]): BenchRow {
  const summary = summarize(peaks.map((bytes) => bytes / 1024 / 1024));
  return {
    what: "peak memory of one ADD",
    target: "≤ 80 MiB",
    measured: toText(summary, "MiB"),
    met: summary.p99 <= 80,
    figures: { mebibytes: summary },
  };
}

/** A hundred ADDs with 16 in flight. */
export async function benchBurst(node: TestNode): Promise<readonly BenchRow[]> {
  const duplicates: string[] = [];
  const times = await interleave(
    PLUGINS.map((plugin) => ({ name: plugin, measure: async (turn: number) => await burst(plugin, node, turn, duplicates) })),
    BURST_REPEATS,
    1,
  );
  const [ours, theirs] = [summarize(times.netplug), summarize(times.ptp)];
  const ratio = round(ours.p50 / theirs.p50);
  return [
    {
      what: `${BURST} ADDs at once on one node, ${IN_FLIGHT} in flight`,
      target: "≤ 1.5 × the time of ptp + host-local; no error; no duplicate",
      measured: `${ratio} × (${ours.p50.toFixed(0)} ms against ${theirs.p50.toFixed(0)} ms), ${duplicates.length} duplicates`,
      met: ratio <= 1.5 && duplicates.length === 0,
      figures: { netplug: ours, ptpHostLocal: theirs, ratio, duplicates: duplicates.length },
    },
  ];
}

/** @returns milliseconds of the ADDs; the DELs that follow are not counted */
async function burst(plugin: Plugin, node: TestNode, turn: number, duplicates: string[]): Promise<number> {
  const config = JSON.stringify(configOf(plugin, node));
  const pods = Array.from({ length: BURST }, () => new TestNetns());
  try {
    const started = performance.now();
    const outputs = await inFlight(
      pods,
      async (pod, index) => await callAsync(plugin, "ADD", `burst-${plugin}-${turn}-${index}`, pod.path, config),
    );
    const ms = performance.now() - started;
    const addresses = outputs.map(
      (text) => (JSON.parse(text) as { readonly ips: readonly { readonly address: string }[] }).ips[0]?.address ?? "none",
    );
    for (const address of new Set(addresses)) {
      if (addresses.filter((one) => one === address).length > 1) duplicates.push(address);
    }
    await inFlight(pods, async (pod, index) => await callAsync(plugin, "DEL", `burst-${plugin}-${turn}-${index}`, pod.path, config));
    return ms;
  } finally {
    for (const pod of pods) pod.delete();
  }
}

async function callAsync(plugin: Plugin, verb: Verb, containerID: string, netns: string, config: string): Promise<string> {
  return await mustRunProgram([pluginPath(plugin)], { env: environmentOf(verb, containerID, netns), stdin: config });
}

async function inFlight<T, R>(items: readonly T[], work: (item: T, index: number) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index];
      if (item !== undefined) results[index] = await work(item, index);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return results;
}
