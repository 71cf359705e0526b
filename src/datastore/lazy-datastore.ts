/** A datastore whose driver is loaded by the first request: calls without one do not pay for it. */

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
} from "./datastore.ts";
import type { NetplugError } from "../lib/errors.ts";

/** Says at once which datastore it is and what it can do; the driver follows. */
export class LazyDatastore implements Datastore {
  readonly type: Datastore["type"];
  readonly traits: Datastore["traits"];
  readonly #load: () => Promise<Datastore>;
  #loading: Promise<Datastore> | undefined;
  #loaded: Datastore | undefined;
  #isClosed = false;

  constructor({ type, traits }: Pick<Datastore, "type" | "traits">, load: () => Promise<Datastore>) {
    this.type = type;
    this.traits = traits;
    this.#load = load;
  }

  get requests(): Datastore["requests"] {
    return this.#loaded?.requests ?? { roundTrips: 0, retries: 0 };
  }

  async read<const Qs extends readonly Query[]>(queries: Qs, options?: ReadOptions): Promise<Answers<Qs>> {
    return await (this.#loaded ?? (await this.#open())).read(queries, options);
  }

  async commit<const Qs extends readonly Query[] = readonly []>(
    writes: readonly Write[],
    options?: CommitOptions<Qs>,
  ): Promise<CommitResult<Qs>> {
    return await (this.#loaded ?? (await this.#open())).commit(writes, options);
  }

  async probeCommit(query: Query, probe: CommitProbe): Promise<NetplugError | undefined> {
    return await (await this.#open()).probeCommit(query, probe);
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    yield* (await this.#open()).watch(options);
  }

  close(): void {
    this.#isClosed = true;
    this.#loaded?.close();
  }

  async #open(): Promise<Datastore> {
    this.#loading ??= this.#load().catch((reason: unknown) => {
      // The next request tries again: the fault may pass, as when a file is being replaced.
      this.#loading = undefined;
      throw reason;
    });
    this.#loaded = await this.#loading;
    if (this.#isClosed) this.#loaded.close();
    return this.#loaded;
  }
}
