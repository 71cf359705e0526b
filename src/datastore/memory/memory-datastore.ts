/** The datastore in memory, for tests and simulations: the same answers and conflicts as etcd, written independently of it. */

import type { Kind } from "../../api/resource.ts";
import { NetplugError } from "../../lib/errors.ts";
import { equalPrefixes } from "../../lib/ip/prefix.ts";
import type {
  Answers,
  CommitResult,
  Datastore,
  Query,
  RequestOptions,
  Revision,
  Stored,
  WatchEvent,
  WatchOptions,
  Write,
} from "../datastore.ts";
import { EventQueue } from "../event-queue.ts";
import { refOf } from "../resource-ref.ts";
import { type DatastoreTraits, ETCD_TRAITS } from "../traits.ts";
import { requireDistinctTargets } from "../write-targets.ts";
import { BlockTable } from "./block-table.ts";
import { ResourceTable } from "./resource-table.ts";

/** What a watch is about. */
type Watched = Pick<WatchOptions, "kinds" | "namespace">;

/** A datastore for tests that need no server; what it holds ends with the process. */
export class MemoryDatastore implements Datastore {
  readonly type = "memory";
  readonly traits: DatastoreTraits = ETCD_TRAITS;
  readonly requests = { roundTrips: 0, retries: 0 };
  readonly #resources = new ResourceTable();
  readonly #blocks = new BlockTable();
  readonly #watches = new Map<EventQueue, Watched>();
  #revision = 1;

  async read<const Qs extends readonly Query[]>(queries: Qs, options: RequestOptions = {}): Promise<Answers<Qs>> {
    await this.#roundTrip("read from", options);
    return this.#answer(queries);
  }

  async commit<const Qs extends readonly Query[] = readonly []>(
    writes: readonly Write[],
    options: RequestOptions & { readonly readOnConflict?: Qs } = {},
  ): Promise<CommitResult<Qs>> {
    requireDistinctTargets(writes);
    await this.#roundTrip("commit to", options);
    if (!writes.every((write) => this.#holds(write))) {
      return { committed: false, current: this.#answer(options.readOnConflict ?? ([] as unknown as Qs)) };
    }
    this.#revision++;
    const revision = String(this.#revision) as Revision;
    const events = writes.flatMap((write) => this.#apply(write, revision));
    for (const [queue, watched] of this.#watches) queue.push(...events.filter((event) => isAbout(event, watched)));
    return { committed: true, revision };
  }

  async probeCommit(query: Query, options: RequestOptions): Promise<undefined> {
    await this.read([query], options);
  }

  async *watch({ signal, ...watched }: WatchOptions): AsyncIterable<WatchEvent> {
    using queue = new EventQueue(signal);
    queue.push({ type: "reset" }, ...this.#snapshotOf(watched), { type: "in-sync" });
    this.#watches.set(queue, watched);
    try {
      yield* queue.drain();
    } finally {
      this.#watches.delete(queue);
    }
  }

  close(): void {
    // Nothing is held.
  }

  /** Forgets all that is stored, as if it never was. */
  clear(): void {
    this.#resources.clear();
    this.#blocks.clear();
  }

  /** Lets others run in between, as a network would. */
  async #roundTrip(action: string, { signal }: RequestOptions): Promise<void> {
    this.requests.roundTrips++;
    await Promise.resolve();
    if (signal?.aborted !== true) return;
    throw signal.reason instanceof NetplugError ? signal.reason : new NetplugError("tryAgainLater", `${action} memory: interrupted`);
  }

  #answer<Qs extends readonly Query[]>(queries: Qs): Answers<Qs> {
    // Each query gets the answer of its own kind; the mapped type cannot follow that through `map`.
    return queries.map((query) => this.#answerOne(query)) as unknown as Answers<Qs>;
  }

  #answerOne(query: Query): unknown {
    switch (query.type) {
      case "get":
        return this.#resources.get(query.ref);
      case "list":
        return this.#resources.list(query.kind, query.namespace);
      case "block":
        return this.#blocks.ofNode(query.ref.node).find(({ value }) => equalPrefixes(value.cidr, query.ref.cidr));
      case "blocks-of-node":
        return this.#blocks.ofNode(query.node);
      case "blocks-borrowed-by":
        return this.#blocks.borrowedBy(query.node);
      case "block-of-address":
        return this.#blocks.ofAddress(query.address);
      case "count-blocks":
        return this.#blocks.count(query.within);
      case "claimed-blocks":
        return this.#blocks.claimed(query.within, query.from, query.limit);
      case "empty-blocks":
        return this.#blocks.empty(query.within, query.limit);
      case "spare-blocks":
        return this.#blocks.spare(query.within, query.from, query.limit);
      case "all-blocks":
        return [...this.#blocks.all];
      case "block-page":
        return { blocks: [...this.#blocks.all] };
      case "block-names":
        return this.#blocks.names;
    }
  }

  #holds(write: Write): boolean {
    switch (write.op) {
      case "create":
        return this.#resources.get(refOf(write.resource)) === undefined;
      case "update":
        return this.#resources.get(refOf(write.resource))?.revision === write.revision;
      case "delete":
        return write.revision === undefined || this.#resources.get(write.ref)?.revision === write.revision;
      case "expect":
        return this.#resources.get(write.ref)?.revision === write.revision;
      case "create-block":
        return this.#blocks.find(write.block.cidr) === undefined;
      case "update-block":
      case "delete-block":
      case "expect-block": {
        const current: Stored<unknown> | undefined = this.#blocks.find(write.previous.value.cidr);
        return current?.revision === write.previous.revision;
      }
    }
  }

  #apply(write: Write, revision: Revision): readonly WatchEvent[] {
    switch (write.op) {
      case "create":
      case "update":
        return [{ type: "put", stored: this.#resources.put(write.resource, revision) }];
      case "delete":
        return this.#resources.remove(write.ref) ? [{ type: "delete", ref: write.ref }] : [];
      case "expect":
      case "expect-block":
        return [];
      case "create-block":
      case "update-block": {
        const stored = { value: write.block, revision };
        this.#blocks.put(stored);
        const moved = write.op === "update-block" && write.previous.value.node !== write.block.node;
        const put: WatchEvent = { type: "put-block", stored };
        return moved ? [{ type: "delete-block", ref: write.previous.value }, put] : [put];
      }
      case "delete-block":
        this.#blocks.remove(write.previous.value.cidr);
        return [{ type: "delete-block", ref: write.previous.value }];
    }
  }

  #snapshotOf({ kinds, namespace }: Watched): readonly WatchEvent[] {
    return kinds.flatMap((kind): readonly WatchEvent[] =>
      kind === "IPAMBlock"
        ? this.#blocks.all.map((stored) => ({ type: "put-block", stored }))
        : this.#resources.list(kind, namespace).map((stored) => ({ type: "put", stored })),
    );
  }
}

function isAbout(event: WatchEvent, { kinds, namespace }: Watched): boolean {
  const isAboutResource = (kind: Kind, place: string | undefined): boolean =>
    kinds.includes(kind) && (namespace === undefined || place === undefined || place === namespace);
  switch (event.type) {
    case "put":
      return isAboutResource(event.stored.value.kind, event.stored.value.metadata.namespace);
    case "delete":
      return isAboutResource(event.ref.kind, event.ref.namespace);
    case "put-block":
    case "delete-block":
      return kinds.includes("IPAMBlock");
    default:
      return true;
  }
}
