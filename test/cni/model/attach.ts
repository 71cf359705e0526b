/** Commands that a runtime gives for one attachment, as the model plays them. */

import { expect } from "bun:test";
import type { CniReply } from "../../support/programs/cni.ts";
import { withoutLength } from "../../support/ip-arithmetic.ts";
import { type Forecast, forecast, type Refusal } from "./forecast.ts";
import { hostSideOf, nameOf } from "./invariants.ts";
import type { BlockView } from "./oracle.ts";
import type { Asked, Sandbox, State } from "./state.ts";
import type { Explained, World } from "./world.ts";

/** Of so many steps, before one: it is a process more. */
const EXPLAINED_EVERY = 3;

/** An ADD: it answers as the model says, and the model learns what was given. */
export async function add(state: State, world: World, asked: Asked): Promise<void> {
  const blocks = await world.blocks();
  const expected = forecast(state, asked, blocks);
  const explained = isExplicable(state, asked) ? await world.explain(asked, hasInterfaces(state, asked.sandbox)) : undefined;
  const reply = await world.call("ADD", asked);
  if (reply === undefined) throw new Error("nobody killed it");
  if (explained !== undefined) expectExplained(asked, explained, reply);
  settleAdd(state, asked, reply, expected, blocks);
  if (reply.status === 0) await check(state, world, asked);
}

/**
 * What a runtime asks for `netplugctl` cannot know, nor what it has no namespace for; and an attachment keeps what it has. Of a pod it speaks as of a
 * new sandbox, which may have what other interfaces of this one have: beside those it is asked without the pod, and cannot know annotations.
 */
function isExplicable(state: State, { sandbox, ifName, demand }: Asked): boolean {
  const isAnnotated = Object.keys(sandbox.pod?.annotations ?? {}).length > 0;
  const isUnknown = demand.explicit !== undefined || (isAnnotated && hasInterfaces(state, sandbox));
  const isThere = state.attachment(sandbox, ifName) !== undefined;
  return state.isReady && sandbox.hasNetns && !sandbox.isStale && !isUnknown && !isThere && state.log.length % EXPLAINED_EVERY === 0;
}

function hasInterfaces(state: State, sandbox: Sandbox): boolean {
  return state.attachmentsOf(sandbox).length > 0;
}

/** What was said beforehand is what comes of it; the ADD names its first obstacle only. */
function expectExplained(asked: Asked, { addresses, refusals }: Explained, { status, json, stdout }: CniReply): void {
  const what = `${nameOf(asked)}: explained ${JSON.stringify({ addresses, refusals })}, got ${stdout}`;
  const given = (json?.ips ?? []).map(({ address }) => address.split("/")[0]);
  const isSame = status === 0 ? refusals.length === 0 && Bun.deepEquals(given, addresses) : refusals.includes(json?.msg ?? "");
  if (!isSame) throw new Error(what);
}

function settleAdd(state: State, asked: Asked, reply: CniReply, expected: Forecast, blocks: readonly BlockView[]): void {
  const { what, given } = noteAdd(state, asked, reply);
  if ("code" in expected) {
    expectRefusal(what, reply, expected);
    return;
  }
  if (reply.status !== 0) throw new Error(`${what}: want a result, got ${reply.stdout}${reply.stderr}; blocks: ${describe(blocks)}`);
  const fault = expected.judge(given);
  if (fault !== undefined) throw new Error(`${what}: ${fault}; blocks: ${describe(blocks)}`);
  state.give(asked, given, reply.json);
}

/** Writes an ADD into the log. @returns what to call it in messages, and the addresses that it gave */
export function noteAdd(
  { log }: State,
  { sandbox, ifName, demand }: Asked,
  { status, stdout, json }: CniReply,
  when = "",
): { readonly what: string; readonly given: readonly string[] } {
  const what = `ADD ${nameOf({ sandbox, ifName })} ${JSON.stringify(sandbox.pod?.annotations ?? {})} ${JSON.stringify(demand)}${when}`;
  const given = (json?.ips ?? []).map(({ address }) => withoutLength(address));
  log.push(`${what}: ${status === 0 ? given.join(", ") : stdout.trim()}`);
  return { what, given };
}

/** Code and message are those of the contract: what, where, and what to do. */
export function expectRefusal(what: string, { status, json, stdout, stderr }: CniReply, { code, names }: Refusal): void {
  const { msg = "" } = json ?? {};
  const missing = names.filter((name) => !msg.includes(name));
  if (status !== 1 || json?.code !== code) throw new Error(`${what}: want code ${code} with ${names.join(", ")}, got ${stdout}${stderr}`);
  if (missing.length > 0) throw new Error(`${what}: the message does not name ${missing.join(", ")}: ${msg}`);
  if (/\.$|undefined|NaN|\[object/.test(msg)) throw new Error(`${what}: what a message: ${msg}`);
}

/** A CHECK, which says nothing of what is as it was. */
export async function check(state: State, world: World, { sandbox, ifName, demand }: Asked): Promise<void> {
  const attachment = state.attachment(sandbox, ifName);
  if (attachment === undefined) return;
  const reply = await world.call("CHECK", { sandbox, ifName, demand }, { prevResult: attachment.result });
  if (reply?.status !== 0) throw new Error(`CHECK ${nameOf(attachment)}: ${reply?.stdout}${reply?.stderr}`);
  expect(reply.stdout).toBe("");
}

export interface DelOptions {
  readonly hasPrevResult: boolean;
  readonly hasNetns: boolean;
}

/** A DEL: it always succeeds, and nothing is left. */
export async function del(state: State, world: World, asked: Asked, { hasPrevResult, hasNetns }: DelOptions): Promise<void> {
  const attachment = state.attachment(asked.sandbox, asked.ifName);
  const prevResult = hasPrevResult ? attachment?.result : undefined;
  const reply = await world.call("DEL", asked, { prevResult, ...(hasNetns ? {} : { netns: undefined }) });
  state.log.push(`DEL ${nameOf(asked)}${attachment === undefined ? ", which is not there" : ""}: ${reply?.stdout}`);
  if (reply?.status !== 0 || reply.stdout !== "")
    throw new Error(`DEL ${nameOf(asked)}: want success, got ${reply?.stdout}${reply?.stderr}`);
  state.forget(asked);
}

/** An ADD or DEL whose process is killed at some moment. */
export async function killed(state: State, world: World, verb: "ADD" | "DEL", asked: Asked, killAfterMs: number): Promise<void> {
  await world.call(verb, asked, { killAfterMs });
  await world.settle();
  state.log.push(`${verb} ${nameOf(asked)}, killed after ${killAfterMs} ms`);
  state.doubt(verb, asked);
}

/** The namespace goes, as with a sandbox that was lost. */
export function removeNetns(state: State, sandbox: Sandbox): void {
  if (!sandbox.hasNetns) return;
  for (const attachment of state.attachmentsOf(sandbox)) state.ending.add(hostSideOf(attachment));
  sandbox.hasNetns = false;
  sandbox.netns.delete();
  state.log.push(`the namespace of container ${sandbox.id.slice(0, 8)} (slot ${sandbox.slot}) is removed`);
}

/** A sandbox of which nothing is left ends, and its pod. */
export async function end(state: State, world: World, sandbox: Sandbox): Promise<void> {
  if (state.attachmentsOf(sandbox).length > 0) return;
  removeNetns(state, sandbox);
  if (state.stale.delete(sandbox)) return;
  state.sandboxes.delete(sandbox.slot);
  if (sandbox.pod !== undefined) await world.deletePod(sandbox.pod.name);
}

function describe(blocks: readonly BlockView[]): string {
  return blocks
    .map(
      ({ cidr, node, allocated }) =>
        `${cidr} of ${node} [${[...allocated].map(([address, { containerID, ifName }]) => `${address} ${containerID.slice(0, 8)} ${ifName}`).join(", ")}]`,
    )
    .join("; ");
}
