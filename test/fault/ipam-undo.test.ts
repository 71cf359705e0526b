/** A failed ADD of `netplug-ipam`: which addresses it takes back, and what it leaves to a later DEL to release. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { END_OF_PART } from "../../src/cni/attachment-state/node-files.ts";
import type { Host } from "../../src/cni/host.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { afterStep, beforeStep, isCommit, isRead } from "./support/at-step.ts";
import { IPAM_ALONE } from "./support/flows.ts";
import { allocatedIn } from "./support/judge.ts";
import type { FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";
import { type Step, withSteps } from "./support/steps.ts";

const { startNode } = shareEtcd();

/** What is there afterwards: the attachment's addresses, and for each pending release whether something may still arrive of what it is for. */
interface Left {
  readonly allocated: number;
  readonly pending: readonly ("may arrive" | "is there")[];
}

const NOTHING: Left = { allocated: 0, pending: [] };

async function leftOn(node: FaultNode): Promise<Left> {
  const pending = pendingReleasesOf(node).map((name) => {
    const [, until] = readFileSync(join(node.folder, "unreleased", name), "utf8").split(END_OF_PART);
    return until === "0" ? "is there" : "may arrive";
  });
  return { allocated: allocatedIn(await node.changes()), pending };
}

type Change = (real: Host) => Host;

/** Each step that fits fails. */
const failing =
  (fits: (step: Step) => boolean, toFailure: () => Error): Change =>
  (real) =>
    withSteps(real, (step, work) => (fits(step) ? Promise.reject(toFailure()) : work.whole()));

const denied = (): Error => new NetplugError("accessDenied", "test: no");
const unreadable = failing(isRead, denied);
const uncommitted = failing(isCommit, denied);
/** Of its commit nobody knows whether it was carried out, and then nobody answers any more. */
const unanswered: Change = (real) => {
  let isSent = false;
  return withSteps(real, (step, work) => {
    if (isSent && step.group === "datastore") return Promise.reject(denied());
    if (!isCommit(step)) return work.whole();
    isSent = true;
    return Promise.reject(new OutcomeUnknown("test: no answer"));
  });
};

const unheard: Change = (real) => ({
  ...real,
  writeAnswer() {
    throw new Error("test: nobody reads it");
  },
});

/** The reply to its first commit is lost, and its answer nobody reads. */
const unheardAfterLoss: Change = (real) => unheard(afterStep(isCommit, () => Promise.reject(new OutcomeUnknown("test: no answer")))(real));

/** From the answer on, which nobody reads, the datastore is away. */
const unheardAndAway: Change = (real) => {
  let isAway = false;
  return {
    ...withSteps(real, (step, work) => (isAway && step.group === "datastore" ? Promise.reject(denied()) : work.whole())),
    writeAnswer() {
      isAway = true;
      throw new NetplugError("ioFailure", "test: nobody reads it");
    },
  };
};

async function codeOf(node: FaultNode, host: Change = (real) => real): Promise<number> {
  const { json, status } = await node.call("ADD", { host });
  return json?.code ?? status;
}

test.concurrent.each<[what: string, host: Change, code: number, left: Left]>([
  ["that has sent nothing leaves nothing", unreadable, 108, NOTHING],
  ["whose commit may still arrive leaves that to be released", unanswered, 108, { allocated: 0, pending: ["may arrive"] }],
  [
    "whose commit fails leaves to be released what another commit of it may have written",
    uncommitted,
    108,
    { allocated: 0, pending: ["is there"] },
  ],
  ["whose answer nobody reads takes back what it took", unheard, 1, NOTHING],
  ["whose answer nobody reads takes back what it took also when the reply to its commit was lost", unheardAfterLoss, 1, NOTHING],
])("one %s", async (_what, host, code, left) => {
  await using node = await startNode(IPAM_ALONE);
  expect([await codeOf(node, host), await leftOn(node)]).toEqual([code, left]);
});

test.concurrent("one whose answer nobody reads, and that cannot take it back, says so, and leaves it to be released", async () => {
  await using node = await startNode(IPAM_ALONE);
  await node.call("ADD", { host: unheardAndAway });
  const errors = node.log.filter(({ level }) => level === "ERROR").map(({ msg }) => msg);
  expect(errors).toEqual(["test: nobody reads it (left behind: release addresses: test: no)"]);
  expect(await leftOn(node)).toEqual({ allocated: 2, pending: ["is there"] });
});

test.concurrent("one that has found addresses of its attachment takes none of them back", async () => {
  await using node = await startNode(IPAM_ALONE);
  expect(await codeOf(node)).toBe(0);
  expect([await codeOf(node, unheard), await leftOn(node)]).toEqual([1, { allocated: 2, pending: ["is there"] }]);
  expect([await codeOf(node), await leftOn(node)]).toEqual([0, { allocated: 2, pending: [] }]);
  expect([await codeOf(node, unreadable), await leftOn(node)]).toEqual([108, { allocated: 2, pending: [] }]);
});

test.concurrent.each<[what: string, families: readonly number[], isEnded: boolean, left: Left]>([
  ["another family takes back what it took, and nothing of what its attachment had", [6], false, { allocated: 1, pending: [] }],
  ["another family takes back what it took, and all that its attachment had when that has ended meanwhile", [6], true, NOTHING],
  [
    "a second family takes back what it took, and leaves what it found to be released",
    [4, 6],
    false,
    { allocated: 1, pending: ["is there"] },
  ],
  ["a second family takes back what it took and found when its attachment has ended meanwhile", [4, 6], true, NOTHING],
])("one for %s", async (_what, families, isEnded, left) => {
  await using node = await startNode(IPAM_ALONE);
  const config = (asked: readonly number[]): Json => {
    const { ipam } = node.config();
    return { ipam: { ...(ipam as Json), assign_ipv4: `${asked.includes(4)}`, assign_ipv6: `${asked.includes(6)}` } };
  };
  const host: Change = (real) => ({
    ...real,
    writeAnswer(text) {
      if (isEnded) rmSync(join(node.folder, "attached"), { recursive: true });
      unheard(real).writeAnswer(text);
    },
  });
  expect((await node.call("ADD", { config: config([4]) })).status).toBe(0);
  expect((await node.call("ADD", { config: config(families), host })).status).toBe(1);
  expect(await leftOn(node)).toEqual(left);
});

test.concurrent.each<[what: string, earlier: Change, left: Left]>([
  ["has sent", unanswered, { allocated: 0, pending: ["may arrive"] }],
  ["may have written", uncommitted, { allocated: 0, pending: ["is there"] }],
])("one that has sent nothing leaves to be released what an earlier one %s", async (_what, earlier, left) => {
  await using node = await startNode(IPAM_ALONE);
  await codeOf(node, earlier);
  expect([await codeOf(node, unreadable), await leftOn(node)]).toEqual([108, left]);
});

test.concurrent(
  "what one leaves stays where an earlier DEL of its container is under way, which ends only what it has noted itself",
  async () => {
    await using node = await startNode(IPAM_ALONE);
    using earlier = new TestNetns();
    expect((await node.call("ADD", { netns: earlier.path })).status).toBe(0);
    const addAgain = async (): Promise<void> => void (await node.call("ADD", { host: unheardAndAway }));
    expect((await node.call("DEL", { netns: earlier.path, host: beforeStep(isRead, addAgain) })).stdout).toBe("");
    expect(await leftOn(node)).toEqual({ allocated: 2, pending: ["is there"] });
  },
);
