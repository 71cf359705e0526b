/** Two GCs of a node at once: that of a runtime which is started again, while the one before still runs. */

import { describe, expect, test } from "bun:test";
import { TestNetns } from "../support/node/netns.ts";
import { holdsOf, pendingReleasesOf } from "../support/node/pending-releases.ts";
import { eventually } from "../support/time/eventually.ts";
import { beforeStep } from "./support/at-step.ts";
import { eachStep } from "./support/enumerate.ts";
import { IPAM_ALONE, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { hasLink } from "./support/judge.ts";
import type { FaultNode } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";
import type { Step } from "./support/steps.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** By then the first one has noted what it is to release, and ended the holds. A second one that begins later waits for the first one's turn. */
const isTurn = ({ name }: Step): boolean => name.startsWith("takeTurn");

/** A GC that comes to its end, and stands still before its turn until another call has ended. */
async function collectBeside<T>(node: FaultNode, other: () => Promise<T>): Promise<T | undefined> {
  let answer: T | undefined;
  const host = beforeStep(isTurn, async () => {
    answer = await other();
  });
  expect((await node.call("GC", { host })).stdout).toBe("");
  return answer;
}

describe.each([NETPLUG, IPAM_ALONE])("$name", (flow) => {
  test.concurrent.each([
    ["succeeds", {}, ""],
    ["cannot reach its datastore", { etcd_endpoints: "http://127.0.0.1:1" }, expect.stringContaining('"code": 11')],
  ])("one that %s beside the other leaves nothing to release", async (_how, config, stdout) => {
    await using node = await startNode({ ...flow, waits: false });
    expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
    expect((await collectBeside(node, () => node.call("GC", { config })))?.stdout).toEqual(stdout);
    // that of the container which runs
    expect([await node.verify(), pendingReleasesOf(node), holdsOf(node).length]).toEqual([[], [], 1]);
  });

  test.concurrent("one that is killed beside the other, at whatever step, leaves nothing to release", async () => {
    await using node = await startNode({ ...flow, waits: false });
    const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
      using pod = new TestNetns();
      expect((await node.call("ADD", { netns: pod.path, config: WITHOUT_WAIT })).status).toBe(0);
      const killed = await collectBeside(node, () => node.callVictim(victim.program, "GC", at, moment));
      pod.delete();
      await eventually(async () => expect(hasLink(await node.changes())).toBe(false));
      const left = [...(await node.changes()), ...pendingReleasesOf(node)];
      return { step: killed?.killedAt, hasHalf: killed?.hasHalf === true, faults: left };
    });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect([await node.verify(), holdsOf(node).length]).toEqual([[], 1]);
  });
});
