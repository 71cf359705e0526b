/** The datastore on etcd v3: one transaction per read, one per commit. */

import { NetplugError } from "../../lib/errors.ts";
import type { EtcdConfig } from "../config/datastore-config.ts";
import { ETCD_TRAITS } from "../traits.ts";
import type {
  Answers,
  CommitOptions,
  CommitProbe,
  CommitResult,
  Datastore,
  Query,
  ReadOptions,
  Revision,
  WatchEvent,
  WatchOptions,
  Write,
} from "../datastore.ts";
import { EtcdClient, type EtcdPorts } from "./client/client.ts";
import { planQuery, type QueryPlan } from "./plans/queries.ts";
import { MAX_TXN_OPS, planWrites } from "./plans/writes.ts";
import type { RangeReply } from "./protocol/rpc.ts";
import { completePages, readSnapshot, toFirstPage } from "./snapshot.ts";
import type { WatchSource } from "./watch.ts";

/** The driver for etcd v3: a read is one snapshot, a commit one transaction. */
export class EtcdDatastore implements Datastore {
  readonly type = "etcdv3";
  readonly traits = ETCD_TRAITS;
  readonly #client: EtcdClient;
  readonly #source: WatchSource;

  /** @param config checked and with normalised endpoints */
  constructor(config: EtcdConfig, ports: EtcdPorts) {
    this.#client = new EtcdClient(config, ports);
    this.#source = { client: this.#client, clock: ports.clock, random: ports.random };
  }

  get requests(): { readonly roundTrips: number; readonly retries: number } {
    return this.#client.requests;
  }

  async read<const Qs extends readonly Query[]>(queries: Qs, options: ReadOptions = {}): Promise<Answers<Qs>> {
    const plans = queries.map((query) => planQuery(query));
    const ranges = plans.flatMap((plan) => plan.ranges);
    const { ranges: replies } = await readSnapshot(this.#client, ranges, options);
    return await answer(queries, plans, replies, options);
  }

  async commit<const Qs extends readonly Query[] = readonly []>(
    writes: readonly Write[],
    options: CommitOptions<Qs> = {},
  ): Promise<CommitResult<Qs>> {
    const { compares, operations } = planWrites(writes);
    const queries = options.readOnConflict ?? [];
    const plans = queries.map((query) => planQuery(query));
    const ranges = plans.flatMap((plan) => plan.ranges);
    const fits = ranges.length <= MAX_TXN_OPS;
    const failure = fits ? ranges.map(toFirstPage) : [];
    const { succeeded, revision, ranges: replies } = await this.#client.write({ compares, success: operations, failure }, options);
    if (succeeded) return { committed: true, revision: revision as Revision };
    const current = fits
      ? await completePages(this.#client, ranges, replies, revision, options)
      : (await readSnapshot(this.#client, ranges, options)).ranges;
    return { committed: false, current: await answer(queries, plans, current) };
  }

  async probeCommit(query: Query, probe: CommitProbe): Promise<undefined> {
    await this.read([query], probe);
    if (probe.isThorough) await (await import("./alarms.ts")).requireNoAlarm(this.#client, probe);
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    const { watchEtcd } = await import("./watch.ts");
    for await (const event of watchEtcd(this.#source, options)) {
      if (options.signal.aborted) return;
      yield event;
    }
  }

  close(): void {
    this.#client.close();
  }
}

async function answer<Qs extends readonly Query[]>(
  queries: readonly Query[],
  plans: readonly QueryPlan[],
  replies: readonly RangeReply[],
  options: ReadOptions = {},
): Promise<Answers<Qs>> {
  try {
    return toAnswers(plans, replies);
  } catch {
    const { toleratingDamage } = await import("./plans/damage.ts");
    return toAnswers(
      plans.map((plan, i) => toleratingDamage(plan, queries[i], options)),
      replies,
    );
  }
}

function toAnswers<Qs extends readonly Query[]>(plans: readonly QueryPlan[], replies: readonly RangeReply[]): Answers<Qs> {
  let next = 0;
  const answers = plans.map((plan) => plan.toAnswer(replies.slice(next, (next += plan.ranges.length))));
  if (next !== replies.length) throw new NetplugError("internal", `read from etcd: got ${replies.length} answers, want ${next}`);
  // Each plan makes the answer of its own query; the mapped type cannot follow that through `map`.
  return answers as unknown as Answers<Qs>;
}
