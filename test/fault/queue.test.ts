/**
 * An ADD that waits in the queue, has asked the one whose turn it is for its addresses, and never gets to use them. Whatever its DEL sees, nothing
 * of it may stay.
 */

import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../src/cni/host.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { quote } from "../../src/lib/quote.ts";
import { takeLock } from "../../src/linux/flock.ts";
import { standStill } from "../support/programs/stand-still.ts";
import { eventually } from "../support/time/eventually.ts";
import { TestNetns } from "../support/node/netns.ts";
import { beforeStep, isCommit } from "./support/at-step.ts";
import { type Flow, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import type { FaultNode } from "./support/node.ts";
import { ANOTHER } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

const FLOW: Flow = { ...NETPLUG, waits: false };
const CONFIG = { ...WITHOUT_WAIT, readiness_gates: [] };

/** An ADD of the node's pod that stands in the queue, stopped, while the lock is free. */
async function stopInQueue(node: FaultNode): Promise<{ readonly kill: () => Promise<void> }> {
  const path = join(node.folder, "ipam.lock");
  using lock = await takeLock(path, { waitMs: 1_000, clock: systemClock });
  expect(lock).toBeDefined();
  // Who is killed leaves no report.
  const ended = node.callVictim(victim.program, "ADD", 0, "before", { config: CONFIG }).catch(() => undefined);
  const requests = (): readonly string[] => (existsSync(`${path}.requests`) ? readdirSync(`${path}.requests`) : []);
  await eventually(() => expect(requests()).toHaveLength(1));
  const pid = Number(requests()[0]?.split("-")[1]);
  await standStill(pid);
  return {
    async kill() {
      process.kill(pid, "SIGKILL");
      await ended;
    },
  };
}

/** The ADD of another pod, whose turn it is at once; then its DEL, and one more DEL, which releases what others left. */
async function addAndDelAnother(node: FaultNode, options: Partial<Parameters<FaultNode["call"]>[1]> = {}): Promise<void> {
  using other = new TestNetns();
  const another = { containerID: "other", netns: other.path, config: CONFIG, ...options };
  expect((await node.call("ADD", another)).status).toBe(0);
  expect((await node.call("DEL", { ...another, host: (real) => real })).stdout).toBe("");
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
}

test("an ADD that is killed in the queue, and whose DEL does not wait for the one that works for it, leaves nothing", async () => {
  await using node = await startNode(FLOW);
  const waiting = await stopInQueue(node);
  const endIt = async (): Promise<void> => {
    await waiting.kill();
    expect((await node.call("DEL", { config: CONFIG })).stdout).toBe("");
  };
  await addAndDelAnother(node, { host: beforeStep(isCommit, endIt) });
  expect(await node.verify()).toEqual([]);
});

/** A node that takes no note of what is to be released. */
function withoutNotes(real: Host): Host {
  const writeAtomically: Host["files"]["writeAtomically"] = (path, ...rest) => {
    if (path.includes("/unreleased/")) throw new NetplugError("ioFailure", `create ${quote(path)}: ENOSPC`);
    real.files.writeAtomically(path, ...rest);
  };
  return { ...real, files: { ...real.files, writeAtomically } };
}

test.each<[whose: string, network: (node: FaultNode) => object]>([
  ["", () => ({})],
  [
    " for another network, on another datastore",
    ({ etcd }) => ({ name: "other-net", etcd_endpoints: `${etcd.endpoint},${etcd.endpoint}` }),
  ],
])(
  "the same, where the one that works for it ends before it can say so: whoever next reads what others want does%s",
  async (_, network) => {
    await using node = await startNode(FLOW);
    const waiting = await stopInQueue(node);
    const endIt = async (): Promise<void> => {
      await waiting.kill();
      expect((await node.call("DEL", { config: CONFIG })).stdout).toBe("");
    };
    await addAndDelAnother(node, { host: (real) => beforeStep(isCommit, endIt)(withoutNotes(real)) });
    await addAndDelAnother(node, { config: { ...CONFIG, ...network(node) } });
    expect(await node.verify()).toEqual([]);
  },
);

test("an ADD that stands in the queue while its DEL comes is given nothing", async () => {
  await using node = await startNode(FLOW);
  const waiting = await stopInQueue(node);
  expect((await node.call("DEL", { netns: "/run/netns/npgt-never", config: CONFIG })).stdout).toBe("");
  await addAndDelAnother(node);
  await waiting.kill();
  expect(await node.verify()).toEqual([]);
});
