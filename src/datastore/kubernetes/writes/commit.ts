/** Carries out a commit: conditions, the node's hint of its blocks, then the steps phase by phase. */

import type { Block } from "../../../api/ipam-block.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { NetplugError } from "../../../lib/errors.ts";
import type { Prefix } from "../../../lib/ip/prefix.ts";
import type { CommitOptions, RequestOptions, Revision, Write, WriteOf } from "../../datastore.ts";
import { OutcomeUnknown } from "../../outcome-unknown.ts";
import { Batch } from "../reads/batch.ts";
import { ResourceReads } from "../reads/resources.ts";
import type { BlockHints } from "../state/block-hints.ts";
import type { LostClaims } from "../state/lost-claims.ts";
import type { SeenRevisions } from "../state/seen-revisions.ts";
import { PHASES, type Step, type StepOutcome, toSteps } from "./steps.ts";

/** What a commit works with. */
export interface CommitPorts {
  readonly client: KubeClient;
  readonly seen: SeenRevisions;
  readonly lostClaims: LostClaims;
  readonly hints: BlockHints | undefined;
  /** UID of the cluster's information. */
  readonly readCluster: () => Promise<string>;
  /** Called for every round of requests. */
  readonly onRound: () => void;
}

/** How long a commit may take, and what its caller does meanwhile. */
type CarryOutOptions = Omit<CommitOptions<readonly []>, "readOnConflict">;

type Condition = WriteOf<"expect">;

/**
 * @returns the revision of the last write; undefined when a condition does not hold. Earlier steps may have been done then, which the order
 *   of the phases makes safe
 */
export async function carryOut(writes: readonly Write[], ports: CommitPorts, options: CarryOutOptions): Promise<Revision | undefined> {
  const steps = toSteps(writes);
  const unsure = findUnsure(writes, ports.seen);
  if (unsure === "unmet") return undefined;
  const found = unsure.length > 0 ? await readAndRemember(unsure, ports, options) : [];
  if (unsure.some(({ revision }, i) => found[i] !== revision)) return undefined;
  const { hints } = ports;
  const claimed = hints === undefined ? [] : claimsOf(writes, hints.node);
  const run = (): Promise<Revision | undefined> => runAll(steps, ports, options);
  return hints === undefined || claimed.length === 0 ? await run() : await runHinted(claimed, hints, ports, run);
}

/** Runs steps that claim blocks: the node's hint names these before, and still does after, whatever became of the steps. */
async function runHinted<T>(claimed: readonly Prefix[], hints: BlockHints, ports: CommitPorts, run: () => Promise<T>): Promise<T> {
  const claim = await hints.add(await ports.readCluster(), claimed);
  let fault: NetplugError | undefined;
  let outcome: T;
  try {
    outcome = await run();
  } finally {
    fault = await hints.confirm(claim);
  }
  if (fault !== undefined) throw fault;
  return outcome;
}

/** Phase by phase. */
async function runAll(steps: readonly Step[], ports: CommitPorts, options: CarryOutOptions): Promise<Revision | undefined> {
  let revision = "" as Revision;
  for (const phase of PHASES) {
    const ofPhase = steps.filter((step) => step.phase === phase);
    if (ofPhase.length === 0) continue;
    ports.onRound();
    const running = ofPhase.map((step) => runAndRemember(step, ports, options));
    const work = phase === "record-endpoints" ? tryCall(options.onBlocksWritten) : undefined;
    const outcomes = await settleAll(running);
    if (work !== undefined) throw work.thrown as Error;
    for (const outcome of outcomes) {
      if (outcome === undefined) return undefined;
      revision = outcome;
    }
  }
  return revision;
}

/** @returns the conditions that must be looked at; `unmet` when what was seen a moment ago contradicts one */
function findUnsure(writes: readonly Write[], seen: SeenRevisions): readonly Condition[] | "unmet" {
  const unsure: Condition[] = [];
  for (const write of writes) {
    if (write.op !== "expect") continue;
    const known = seen.find(write.ref);
    if (known === undefined) unsure.push(write);
    else if (known.revision !== write.revision) return "unmet";
  }
  return unsure;
}

/** @returns the revision of what each condition names, by position; undefined for what does not exist */
async function readAndRemember(
  conditions: readonly Condition[],
  { client, seen, onRound }: CommitPorts,
  { signal }: RequestOptions,
): Promise<readonly (Revision | undefined)[]> {
  onRound();
  const batch = new Batch(client, signal);
  const resources = new ResourceReads(batch);
  const stored = await Promise.all(conditions.map(({ ref }) => resources.get(ref)));
  batch.requireServed();
  const revisions = stored.map((one) => one?.revision);
  for (const [i, { ref }] of conditions.entries()) seen.note(ref, revisions[i]);
  return revisions;
}

async function runAndRemember(step: Step, { client, seen, lostClaims }: CommitPorts, { signal }: RequestOptions): Promise<StepOutcome> {
  const outcome = await step.run(client, { signal });
  if (step.claims !== undefined && outcome === undefined) lostClaims.add(step.claims);
  if (step.ref !== undefined && outcome !== undefined) seen.note(step.ref, outcome === "" ? undefined : outcome);
  return outcome;
}

/** Waits for all steps, so that no request is still running when the caller gets a failure. Throws a failure with unknown outcome first. */
async function settleAll(running: readonly Promise<StepOutcome>[]): Promise<readonly StepOutcome[]> {
  const settled = await Promise.allSettled(running);
  const failures = settled.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  const failure = failures.find((thrown) => thrown instanceof OutcomeUnknown) ?? failures[0];
  if (failure !== undefined) throw failure as Error;
  return settled.map((result) => (result.status === "fulfilled" ? result.value : undefined));
}

function tryCall(work: (() => void) | undefined): { readonly thrown: unknown } | undefined {
  try {
    work?.();
    return undefined;
  } catch (thrown) {
    return { thrown };
  }
}

/** Blocks in which the node has something after the commit, and had nothing before. */
function claimsOf(writes: readonly Write[], node: string): readonly Prefix[] {
  const has = (block: Block): boolean => block.node === node || block.allocations.some(({ owner }) => owner.node === node);
  return writes.flatMap((write): readonly Prefix[] => {
    if (write.op !== "create-block" && write.op !== "update-block") return [];
    const isNew = has(write.block) && (write.op === "create-block" || !has(write.previous.value));
    return isNew ? [write.block.cidr] : [];
  });
}
