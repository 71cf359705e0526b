/** Many pods at once on a node, on a real API server: when nothing else runs, and beside busy processes. */

import { TestNetns } from "../support/node/netns.ts";
import type { Caller, InstalledNode, Reply } from "./installed-node.ts";
import type { BenchRow } from "./row.ts";
import { round } from "./summary.ts";

const AT_ONCE = 30;
const BUSY_PROCESSES = 8;
/** It would be thirty, and more, if each ADD wrote its block for itself. */
const MAX_WRITES = 10;

/** As a kubelet does it that has just been told of 30 pods. */
export async function benchAtOnce(node: InstalledNode): Promise<BenchRow> {
  const names = Array.from({ length: AT_ONCE }, (_, index) => `at-once-${index}`);
  await node.createPods(names);
  const ours = await allAtOnce((verb, attachment) => node.call(verb, attachment), names);
  const theirs = await allAtOnce((verb, attachment) => node.callPtp(verb, attachment), names);
  const errors = ours.failed.length;
  return {
    what: `${AT_ONCE} pods at once on one node, Kubernetes API`,
    target: "no error, no duplicate",
    measured: `${errors} errors, ${ours.duplicates} duplicates; ${ours.ms.toFixed(0)} ms, ptp + host-local ${theirs.ms.toFixed(0)} ms`,
    met: errors === 0 && ours.duplicates === 0,
    figures: { ms: ours.ms, ptpHostLocalMs: theirs.ms, errors, duplicates: ours.duplicates, firstError: ours.failed[0] ?? "" },
  };
}

/**
 * The same on a node whose processors others want, too: there ADDs wait for each other the longest. How often they write their blocks does not
 * depend on how quick the machine is.
 */
export async function benchBesideBusy(node: InstalledNode): Promise<BenchRow> {
  const names = Array.from({ length: AT_ONCE }, (_, index) => `busy-${index}`);
  await node.createPods(names);
  const before = await node.countBlockWrites();
  let after = before;
  const besideBusy = async (call: Caller): Promise<AtOnce> => {
    using busy = new BusyProcesses(BUSY_PROCESSES);
    return await allAtOnce(call, names, async () => {
      busy[Symbol.dispose]();
      after = await node.countBlockWrites();
    });
  };
  const ours = await besideBusy((verb, attachment) => node.call(verb, attachment));
  const [errors, writes, refused] = [ours.failed.length, after.all - before.all, after.refused - before.refused];
  const theirs = await besideBusy((verb, attachment) => node.callPtp(verb, attachment));
  return {
    what: `${AT_ONCE} pods at once on one node beside ${BUSY_PROCESSES} busy processes, Kubernetes API`,
    target: `no error, no duplicate, ≤ ${MAX_WRITES} writes of blocks`,
    measured:
      `${errors} errors, ${ours.duplicates} duplicates, ${writes} writes; ` +
      `${ours.ms.toFixed(0)} ms, ptp + host-local ${theirs.ms.toFixed(0)} ms`,
    met: errors === 0 && ours.duplicates === 0 && writes <= MAX_WRITES,
    figures: {
      ms: ours.ms,
      ptpHostLocalMs: theirs.ms,
      ratio: round(ours.ms / theirs.ms),
      slowestMs: ours.slowestMs,
      blockWrites: writes,
      refusedBlockWrites: refused,
      errors,
      duplicates: ours.duplicates,
      firstError: ours.failed[0] ?? "",
    },
  };
}

/** Processes that want a processor all the time, until they are disposed of. */
class BusyProcesses implements Disposable {
  readonly #processes: readonly Bun.Subprocess[];

  constructor(count: number) {
    this.#processes = Array.from({ length: count }, () => Bun.spawn(["sh", "-c", "while :; do :; done"], { stdin: "ignore" }));
  }

  [Symbol.dispose](): void {
    for (const one of this.#processes) one.kill("SIGKILL");
  }
}

interface AtOnce {
  /** Until the last ADD is done. */
  readonly ms: number;
  /** How long the slowest ADD took. */
  readonly slowestMs: number;
  readonly duplicates: number;
  /** What those said that failed. */
  readonly failed: readonly string[];
}

/** @param onAdded called between the ADDs and the DELs */
async function allAtOnce(call: Caller, names: readonly string[], onAdded = async (): Promise<void> => undefined): Promise<AtOnce> {
  const pods = names.map((pod) => ({ pod, containerID: pod, sandbox: new TestNetns() }));
  try {
    const attachments = pods.map(({ pod, containerID, sandbox }) => ({ pod, containerID, netns: sandbox.path }));
    const all = (verb: "ADD" | "DEL"): Promise<readonly Reply[]> => Promise.all(attachments.map((attachment) => call(verb, attachment)));
    const started = performance.now();
    const added = await all("ADD");
    const ms = performance.now() - started;
    await onAdded();
    const failed = [...added, ...(await all("DEL"))].filter(({ status }) => status !== 0).map(({ stdout, stderr }) => stdout + stderr);
    const addresses = added
      .filter(({ status }) => status === 0)
      .map(({ stdout }) => (JSON.parse(stdout) as { ips: { address: string }[] }).ips[0]?.address);
    return { ms, slowestMs: Math.max(...added.map((reply) => reply.ms)), duplicates: addresses.length - new Set(addresses).size, failed };
  } finally {
    for (const { sandbox } of pods) sandbox.delete();
  }
}
