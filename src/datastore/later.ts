/** A driver that is loaded by the first request: others do not pay for it. */

import type {
  Answers,
  CommitOptions,
  CommitResult,
  Datastore,
  Query,
  RequestOptions,
  WatchEvent,
  WatchOptions,
  Write,
} from "./datastore.ts";

export class LaterDatastore implements Datastore {
  readonly type: Datastore["type"];
  readonly #load: () => Promise<Datastore>;
  #loading: Promise<Datastore> | undefined;
  #loaded: Datastore | undefined;
  #isClosed = false;

  constructor(type: Datastore["type"], load: () => Promise<Datastore>) {
    this.type = type;
    this.#load = load;
  }

  get requests(): Datastore["requests"] {
    return this.#loaded?.requests ?? { roundTrips: 0, retries: 0 };
  }

  async read<const Qs extends readonly Query[]>(queries: Qs, options?: RequestOptions): Promise<Answers<Qs>> {
    return await (this.#loaded ?? (await this.#open())).read(queries, options);
  }

  async commit<const Qs extends readonly Query[] = readonly []>(
    writes: readonly Write[],
    options?: CommitOptions<Qs>,
  ): Promise<CommitResult<Qs>> {
    return await (this.#loaded ?? (await this.#open())).commit(writes, options);
  }

  async *watch(options: WatchOptions): AsyncIterable<WatchEvent> {
    yield* (await this.#open()).watch(options);
  }

  close(): void {
    this.#isClosed = true;
    this.#loaded?.close();
  }

  async #open(): Promise<Datastore> {
    this.#loading ??= this.#load();
    this.#loaded = await this.#loading;
    if (this.#isClosed) this.#loaded.close();
    return this.#loaded;
  }
}
