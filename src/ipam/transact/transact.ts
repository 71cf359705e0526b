/**
 * The loop that carries out a pure decision: read, decide, commit if nothing changed, else again.
 *
 * ```
 *   queries ──read──▶ facts ──decide──▶ writes ──commit──▶ done
 *      ▲                │ wanted           │ conflict: the facts come with the refusal
 *      └────────────────┴──────────────────┘ outcome unknown: read again, and find out whether it was done
 * ```
 *
 * A decision must recognise its own work: after a lost reply it is asked again, and has to want no further write then.
 */

import type { CommitOptions, Query, Write } from "../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../datastore/outcome-unknown.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Random } from "../../lib/ports.ts";
import { collectWanted, type Facts, toFacts, withoutRepeats } from "../facts.ts";
import type { AddressRequest } from "../request.ts";
import type { LostCommit } from "./after-loss.ts";
import { type OwnTurn, type TurnPorts, type TurnWait, waitForTurn } from "./node-turn.ts";

/** What the loop needs of the world. */
export interface TransactPorts extends TurnPorts {
  readonly random: Random;
  /** Whether a decision may be made on lists that are a moment old; one that fails on them is made again on the newest. @default false */
  readonly mayLag?: boolean;
  /** Called after each commit, in the node's turn: gets the queries that the node's next request should send with its first ones. */
  readonly savePrefetch?: ((queries: readonly Query[]) => void) | undefined;
}

/** One try of a decision. */
export interface Try {
  /** Seconds since 1970. */
  readonly now: number;
  /** 0 at first; a random number after a lost race, so that the losers look elsewhere. */
  readonly salt: bigint;
  /** Requests in the queue, which the same writes may serve. */
  readonly queued: () => readonly AddressRequest[];
}

/** What a decision comes to. */
export interface Decision<T> {
  readonly writes: readonly Write[];
  readonly result: T;
  /** For {@link TransactPorts.savePrefetch}. @default none */
  readonly prefetch?: readonly Query[];
  /** Those of {@link Try.queued} that the writes serve. @default none */
  readonly served?: readonly AddressRequest[];
}

/** Throws `FactsWanted` when it must know more first. */
type Decide<T> = (facts: Facts, attempt: Try) => Decision<T>;

/** What a caller knows already, what others may do for it, and what it does around each commit. */
export interface TransactOptions<T> {
  readonly facts?: Facts | undefined;
  /**
   * Queries that the node's last request saved for this one, read in addition. Called once it is our turn; may include queries that are
   * already answered.
   */
  readonly loadPrefetch?: (() => readonly Query[]) | undefined;
  /**
   * Called when we have to wait for our turn: the request that others may serve in their commits. Our decision then finds it served. If the
   * operation fails, the caller must release what they allocated.
   */
  readonly queueRequest?: TurnWait["request"];
  /** Called before every commit. When it throws, nothing is committed, and the operation ends. */
  readonly beforeCommit?: (() => void) | undefined;
  /** Called after a commit that is known to be applied, or refused. One whose reply was lost may still arrive, an earlier one too. */
  readonly onOutcome?: (isApplied: boolean) => void;
  /**
   * Work to do while the datastore waits for its disk; called for every try, with the result that the commit will have if it succeeds. What
   * it throws is thrown after the commit has ended.
   */
  readonly whileCommitting?: (result: T) => void;
  /**
   * Like `whileCommitting`, but called after the addresses are written, while the records are. Not called where the datastore writes both at once.
   */
  readonly whileRecording?: (result: T) => void;
}

/** Commits lost in a row that are tried again at once: the process that won is done, and the refusal brought its state. */
const IMMEDIATE_TRIES = 2;

/** How often a decision may repeat queries that were answered: two repeats can happen while a block moves from node to node. */
const REPEATS = 3;

/**
 * Decides and commits, again after each conflict, until a commit succeeds.
 *
 * @param certain queries that the decision always needs: read in the first round trip, and on etcd again with each further query, so that
 *   all answers are of one snapshot
 * @param options answers to `certain` that the caller has already, and what it does around each commit
 * @throws {NetplugError} what `decide` throws; tryAgainLater when the deadline passes or the datastore is away; ioFailure when
 *   what is stored contradicts itself, so that no decision comes about
 */
export async function transact<T>(
  ports: TransactPorts,
  certain: readonly Query[],
  decide: Decide<T>,
  options: TransactOptions<T> = {},
): Promise<T> {
  using turn = await waitForTurn(ports, options.queueRequest);
  let reading = await readBegin(ports, certain, turn, options);
  let salt = 0n;
  for (let losses = 0; ;) {
    const { decision, basis } = await decideOn(reading, decide, salt, turn);
    if (decision.writes.length === 0) return decision.result;
    const lost = await commitDecision(basis, decision, options, turn);
    if (lost === undefined) return decision.result;
    losses++;
    // After a lost reply the same slots, and so the same blocks: of both commits only one can be applied, whenever it arrives.
    if (!(lost instanceof OutcomeUnknown)) salt = BigInt(Math.floor(ports.random() * 2 ** 48));
    reading = { ...basis, facts: await factsAfterLoss(basis, lost, losses) };
  }
}

/** What a decision is made on. */
interface Reading {
  /** {@link TransactPorts.mayLag} as it holds by now. */
  readonly ports: TransactPorts;
  /** What every try begins with. */
  readonly queries: readonly Query[];
  readonly facts: Facts;
}

/** What is there before the first decision, once it is our turn. */
async function readBegin(
  ports: TransactPorts,
  certain: readonly Query[],
  turn: OwnTurn,
  { facts, loadPrefetch }: Pick<TransactOptions<unknown>, "facts" | "loadPrefetch">,
): Promise<Reading> {
  const likely = loadPrefetch?.() ?? [];
  const queries = likely.length === 0 ? certain : withoutRepeats([...certain, ...likely]);
  if (facts === undefined) return { ports, queries, facts: await readFacts(ports, queries) };
  if (!turn.isReadOutdated) return { ports, queries, facts };
  const outdated = (await import("./outdated.ts")).outdatedBy(turn, ports, queries, facts);
  return { ports, queries, facts: outdated.length === 0 ? facts : await readFacts(ports, outdated, facts) };
}

/**
 * Reads what the decision wants, until it is made. A decision that fails on lists that may be old is made again on the newest, and so are
 * all later ones.
 *
 * @param salt the same for all decisions of a try: with a new one, a decision would search in slots that were not read
 */
async function decideOn<T>(
  { ports, queries, facts }: Reading,
  decide: Decide<T>,
  salt: bigint,
  turn: OwnTurn,
): Promise<{ readonly decision: Decision<T>; readonly basis: Reading }> {
  let queued: readonly AddressRequest[] | undefined;
  const attempt = { salt, queued: () => (queued ??= turn.queue?.requests() ?? []) };
  let asking = ports;
  let known = facts;
  for (let repeats = 0; ;) {
    const earlier = known;
    let outcome: ReturnType<typeof collectWanted<Decision<T>>>;
    try {
      outcome = collectWanted(() => decide(earlier, { now: Math.floor(ports.clock.now() / 1000), ...attempt }));
    } catch (thrown) {
      if (asking.mayLag !== true || !asking.datastore.traits.listsMayLag) throw thrown;
      asking = { ...ports, mayLag: false };
      known = await readFacts(asking, queries);
      continue;
    }
    if ("decided" in outcome) return { decision: outcome.decided, basis: { ports: asking, queries, facts: known } };
    const { wanted } = outcome;
    repeats = wanted.every((query) => earlier.find(query) !== undefined) ? repeats + 1 : 0;
    if (repeats > REPEATS) throw (await import("./contradiction.ts")).contradiction(wanted);
    // All is read again, so that all answers are of one snapshot; where no two answers are of one anyway, nothing is.
    const repeated = asking.datastore.traits.readsOneSnapshot ? queries : [];
    known = await readFacts(asking, [...repeated, ...wanted], known);
  }
}

/** Commits what was decided; where blocks are written before records, our turn ends with the blocks. @returns undefined when it was applied */
async function commitDecision<T>(
  { ports, queries }: Reading,
  { writes, result, prefetch = [], served = [] }: Decision<T>,
  { beforeCommit, onOutcome, whileCommitting, whileRecording }: TransactOptions<T>,
  turn: OwnTurn,
): Promise<LostCommit | undefined> {
  beforeCommit?.();
  const tellServed = (): void => {
    if (turn.isOver) return;
    ports.savePrefetch?.(prefetch);
    turn.queue?.tellServed(served);
  };
  const onBlocksWritten = (): void => {
    tellServed();
    turn[Symbol.dispose]();
    whileRecording?.(result);
  };
  const meanwhile = (): void => whileCommitting?.(result);
  const lost = await tryCommit(ports, writes, { readOnConflict: queries, onBlocksWritten }, { meanwhile, onOutcome });
  if (lost === undefined) tellServed();
  return lost;
}

/** What the next try is decided on: at first the answers that came with the refusal. */
async function factsAfterLoss({ ports, queries }: Reading, lost: LostCommit, losses: number): Promise<Facts> {
  if (!(lost instanceof OutcomeUnknown) && losses <= IMMEDIATE_TRIES) return toFacts(queries, lost.current);
  const { readAfterPause } = await import("./after-loss.ts");
  const pauses = Math.max(1, losses - IMMEDIATE_TRIES);
  return await readAfterPause(ports, lost, { losses, pauses }, async () => await readFacts(ports, queries));
}

/** Answers to queries, in one round trip. */
export async function readFacts(
  { datastore, deadline, mayLag = false }: TransactPorts,
  queries: readonly Query[],
  earlier?: Facts,
): Promise<Facts> {
  const answers = await deadline.wait("the datastore", (signal) => datastore.read(queries, { signal, mayLag }));
  return toFacts(queries, answers, earlier);
}

/** @returns undefined when it was applied, OutcomeUnknown when nobody knows whether it was */
async function tryCommit(
  { datastore, deadline, mayLag = false }: TransactPorts,
  writes: readonly Write[],
  options: CommitOptions<readonly Query[]>,
  { meanwhile, onOutcome }: { readonly meanwhile: () => void; readonly onOutcome: TransactOptions<unknown>["onOutcome"] },
): Promise<LostCommit | undefined> {
  const [commit, work] = await Promise.allSettled([
    deadline.wait("the datastore", (signal) => datastore.commit(writes, { ...options, signal, mayLag })),
    (async () => meanwhile())(),
  ]);
  if (commit.status === "fulfilled") onOutcome?.(commit.value.committed);
  else if (commit.reason instanceof NetplugError && !commit.reason.retriable) onOutcome?.(false);
  if (work.status === "rejected") throw work.reason as Error;
  if (commit.status === "fulfilled") return commit.value.committed ? undefined : commit.value;
  if (commit.reason instanceof OutcomeUnknown) return commit.reason;
  throw commit.reason as Error;
}
