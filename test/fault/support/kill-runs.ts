/** Runs in which the process is killed at a step. */

import type { CniReply } from "../../support/programs/cni.ts";
import { eachStep, type Report } from "./enumerate.ts";
import type { Moment } from "./faults.ts";
import { allocatedIn, findIncompleteness } from "./judge.ts";
import type { FaultNode } from "./node.ts";

/** What the runtime calls next. */
export type Recovery = "DEL" | "GC" | "ADD";

/**
 * What is killed before a step leaves what it leaves when it is killed after the step before: both are played once, for DEL, and the
 * other ways on from there start from the second only.
 */
const MOMENTS: Readonly<Record<Recovery, readonly Moment[]>> = {
  DEL: ["before", "after", "half"],
  GC: ["after", "half"],
  ADD: ["after", "half"],
};

/** The process is killed at each step of a call; the next call of the runtime must leave nothing, or a whole attachment. */
export function killAtEachStep(
  node: FaultNode,
  victim: string,
  verb: "ADD" | "DEL",
  recovery: Recovery,
  moments: readonly Moment[] = MOMENTS[recovery],
): Promise<Report> {
  return eachStep({ moments }, async (at, moment) => {
    await node.programPolicy();
    const faults: string[] = [];
    if (verb === "DEL") faults.push(...(await expectSuccess("the ADD before it", node.callMain("ADD"))));
    const { killedAt, hasHalf, reply } = await node.callVictim(victim, verb, at, moment);
    if (killedAt === undefined && reply.status !== 0) faults.push(`nothing was killed, but it failed: ${reply.stdout}`);
    // A second ADD of what is there already is no recovery, and other main plugins refuse it.
    faults.push(...(await recover(node, killedAt === undefined && recovery === "ADD" ? "DEL" : recovery)));
    return { step: killedAt, hasHalf, faults };
  });
}

async function recover(node: FaultNode, recovery: Recovery): Promise<readonly string[]> {
  const faults: string[] = [];
  if (recovery === "GC") {
    faults.push(...(await expectSuccess("the next GC", node.call("GC"))));
    const changes = (await node.changes()).filter((change) => !isBeyondGc(node, change));
    if (changes.length > 0) faults.push(`the next GC did not take away: ${changes.join("; ")}`);
  }
  if (recovery === "ADD") {
    const reply = await node.callMain("ADD");
    const changes = await node.changes();
    if (reply.status !== 0) faults.push(`the next ADD failed: ${reply.stdout}`);
    else faults.push(...findIncompleteness(node.flow, reply, changes));
    if (allocatedIn(changes) > 2) faults.push(`addresses were given twice: ${changes.join("; ")}`);
  }
  faults.push(...(await expectSuccess("the next DEL", node.callMain("DEL"))));
  const changes = await node.changes();
  if (changes.length > 0) faults.push(`the next DEL did not take away: ${changes.join("; ")}`);
  return faults;
}

/**
 * What only a DEL can find: addresses of a `host-local` too old for GC that were given before anything of ours named the attachment, and
 * interfaces of another main plugin.
 */
function isBeyondGc({ flow }: FaultNode, change: string): boolean {
  return (
    (!flow.hasOwnIpam && change.startsWith("left: host-local: ")) || (flow.plugin === "netplug-ipam" && change.startsWith("left: pod: "))
  );
}

async function expectSuccess(what: string, call: Promise<CniReply>): Promise<readonly string[]> {
  const { status, stdout, stderr } = await call;
  return status === 0 ? [] : [`${what} failed: ${stdout}${stderr}`];
}
