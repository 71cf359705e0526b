/**
 * Many endpoints at once, as a GC asks for them: a window lets few requests out at a time, so that the client's rate limit delays none of
 * them too long.
 */

import { type Pod, PODS } from "../../../kube/core-types.ts";
import type { Query } from "../../datastore.ts";
import type { Batch } from "./batch.ts";

/** Pods that are asked for at once. An ADD or DEL never asks for more, what a DEL does for earlier ones included. */
const MAX_AT_ONCE = 16;

/** Whether these queries ask for more endpoints than may be asked for at once. */
export function areManyPods(queries: readonly Query[]): boolean {
  return queries.filter((query) => query.type === "get" && query.ref.kind === "WorkloadEndpoint").length > MAX_AT_ONCE;
}

/** A sliding window of {@link MAX_AT_ONCE} requests: each begins when the one that many places before it is answered. */
export class PodWindow {
  readonly #batch: Batch;
  readonly #asked: Promise<Pod | undefined>[] = [];

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** @returns undefined when there is none */
  get(name: { readonly namespace: string; readonly name: string }): Promise<Pod | undefined> {
    const before = this.#asked.at(-MAX_AT_ONCE);
    const asking = (async () => {
      await before;
      return await this.#batch.get(PODS, name);
    })();
    this.#asked.push(asking);
    return asking;
  }
}
