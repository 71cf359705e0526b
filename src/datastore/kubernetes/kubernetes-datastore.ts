/** The datastore on the Kubernetes API: reads side by side, commits in an order whose every beginning is safe. */

import type { KubeClient } from "../../kube/client.ts";
import type { NetplugError } from "../../lib/errors.ts";
import type { Clock, Random } from "../../lib/ports.ts";
import { KUBERNETES_TRAITS } from "../traits.ts";
import type {
  Answers,
  CommitOptions,
  CommitProbe,
  CommitResult,
  Datastore,
  Query,
  ReadOptions,
  WatchEvent,
  WatchOptions,
  Write,
} from "../datastore.ts";
import { toDatastoreError } from "./objects/failure.ts";
import { Batch } from "./reads/batch.ts";
import { readRound } from "./reads/queries.ts";
import type { RoundPorts } from "./reads/round.ts";
import type { BlockHints } from "./state/block-hints.ts";
import { LostClaims } from "./state/lost-claims.ts";
import { RecentBlocks } from "./state/recent-blocks.ts";
import { SeenRevisions } from "./state/seen-revisions.ts";
import { PagedLists } from "./state/paged-lists.ts";
import { carryOut } from "./writes/commit.ts";

/** What the driver is made of; `open.ts` makes it. */
export interface KubernetesDatastoreParts {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** Of this node. */
  readonly hints?: BlockHints | undefined;
}

/** The driver for the Kubernetes API: a round of reads is no snapshot, and a commit is one request for each object. */
export class KubernetesDatastore implements Datastore {
  readonly type = "kubernetes";
  readonly traits = KUBERNETES_TRAITS;
  readonly #parts: KubernetesDatastoreParts;
  readonly #seen: SeenRevisions;
  readonly #recent: RecentBlocks;
  readonly #lostClaims: LostClaims;
  readonly #round: RoundPorts;
  #roundTrips = 0;
  /** UID of `ClusterInformation`; "" until there is one. After that it does not change while the process runs. */
  #cluster = "";

  constructor(parts: KubernetesDatastoreParts) {
    this.#parts = parts;
    this.#seen = new SeenRevisions(parts.clock);
    this.#recent = new RecentBlocks(parts.clock);
    this.#lostClaims = new LostClaims(parts.clock);
    this.#round = {
      ...parts,
      recent: this.#recent,
      lostClaims: this.#lostClaims,
      pagedLists: new PagedLists(parts.clock),
      readCluster: (batch) => this.#readCluster(batch),
      onRound: () => this.#countRound(),
    };
  }

  get requests(): { readonly roundTrips: number; readonly retries: number } {
    return { roundTrips: this.#roundTrips, retries: this.#parts.client.requester.counts.retries };
  }

  async read<const Qs extends readonly Query[]>(queries: Qs, options: ReadOptions = {}): Promise<Answers<Qs>> {
    try {
      return await this.#answer(queries, options);
    } catch (thrown) {
      throw toDatastoreError(thrown);
    }
  }

  async commit<const Qs extends readonly Query[] = readonly []>(
    writes: readonly Write[],
    options: CommitOptions<Qs> = {},
  ): Promise<CommitResult<Qs>> {
    const { client, hints } = this.#parts;
    const ports = {
      client,
      seen: this.#seen,
      lostClaims: this.#lostClaims,
      hints,
      readCluster: () => this.#readCluster(new Batch(client, options.signal)),
      onRound: () => this.#countRound(),
    };
    try {
      const revision = await carryOut(writes, ports, options);
      if (revision !== undefined) return { committed: true, revision };
    } catch (thrown) {
      throw toDatastoreError(thrown);
    } finally {
      this.#recent.clear();
    }
    this.#seen.clear();
    return { committed: false, current: await this.read(options.readOnConflict ?? ([] as unknown as Qs), options) };
  }

  async probeCommit(query: Query, { targets, isThorough, signal }: CommitProbe): Promise<NetplugError | undefined> {
    const { client, hints } = this.#parts;
    const reading = this.read([query], { signal });
    const forbidden = isThorough && import("./permitted-writes.ts").then((file) => file.findForbidden(client, targets, { signal }));
    await reading;
    const denial = await forbidden;
    if (denial) throw toDatastoreError(denial);
    if (hints === undefined || !targets.includes("blocks")) return undefined;
    return await (await import("./claim-fault.ts")).findClaimFault(hints);
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    const { watchKubernetes } = await import("./watch/watch.ts");
    try {
      yield* watchKubernetes(this.#parts, options);
    } catch (thrown) {
      throw toDatastoreError(thrown);
    }
  }

  close(): void {
    this.#parts.client.close();
  }

  async #answer<Qs extends readonly Query[]>(queries: Qs, options: ReadOptions): Promise<Answers<Qs>> {
    const answers = await readRound(queries, options, this.#round);
    for (const [i, query] of queries.entries()) this.#note(query, answers[i]);
    // Each query gets the answer of its own kind; the mapped type cannot follow that through `map`.
    return answers as unknown as Answers<Qs>;
  }

  /** Remembers what conditions of the next commit may name. */
  #note(query: Query, answer: unknown): void {
    if (query.type === "get") {
      const stored = answer as Answers<[typeof query]>[0];
      this.#seen.note(query.ref, stored?.revision);
      if (query.ref.kind === "ClusterInformation") this.#cluster = stored?.value.metadata.uid ?? "";
    } else if (query.type === "list") {
      this.#seen.noteAll(answer as Answers<[typeof query]>[0]);
    }
  }

  async #readCluster(batch: Batch): Promise<string> {
    if (this.#cluster === "") this.#cluster = (await batch.getCluster())?.metadata.uid ?? "";
    return this.#cluster;
  }

  #countRound(): void {
    this.#roundTrips++;
  }
}
