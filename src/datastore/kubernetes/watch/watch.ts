/** A watch over several kinds: each is followed by itself, and told as one stream. */

import type { KubeClient } from "../../../kube/client.ts";
import { NODES, PODS } from "../../../kube/core-types.ts";
import type { KubeObject } from "../../../kube/kube-object.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";
import { follow, LISTING_ANEW } from "../../../kube/watch/follow.ts";
import type { NetplugError } from "../../../lib/errors.ts";
import { FailureRow } from "../../../lib/failure-row.ts";
import type { Clock, Random } from "../../../lib/ports.ts";
import type { WatchEvent, WatchOptions } from "../../datastore.ts";
import { IPAM_BLOCKS, isCustom, typeOf } from "../objects/resource-types.ts";
import { EventQueue } from "../../event-queue.ts";
import { Interruption } from "../../interruption.ts";
import type { Translator } from "./translators.ts";
import { translateBlocks, translateCustom, translateNodes, translatePods } from "./translators.ts";

/** From where the events come, and by which clock pauses are made. */
export interface WatchSource {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
}

type WatchedKind = WatchOptions["kinds"][number];

/** @see Datastore.watch */
export async function* watchKubernetes(source: WatchSource, options: WatchOptions): AsyncIterable<WatchEvent> {
  const interruption = new Interruption();
  const { signal } = options;
  const row = new FailureRow(source, LISTING_ANEW);
  while (!signal.aborted) {
    row.begin();
    yield* watchUntilReset(source, options, interruption);
    await row.pauseIfShort(signal);
  }
}

/** What is told of one kind, and what becomes of that. */
interface KindReport {
  readonly namespace: string | undefined;
  readonly queue: EventQueue;
  /** The list of all is there; resolves when it may be told. */
  onListed(): Promise<void>;
  /** It is told. */
  onInSync(): void;
  onFailure(failure: NetplugError, failures: number): void;
  /** The API server answers. */
  onReached(): void;
}

/** A snapshot of all kinds and what follows; ends when the history of one of them is gone, because then all are reported anew. */
async function* watchUntilReset(
  source: WatchSource,
  { kinds, namespace, signal }: WatchOptions,
  interruption: Interruption,
): AsyncIterable<WatchEvent> {
  using queue = new EventQueue(signal);
  let [unlisted, pending] = [kinds.length, kinds.length];
  const areAllListed = Promise.withResolvers<void>();
  if (kinds.length === 0) queue.push({ type: "reset" }, { type: "in-sync" });
  for (const kind of kinds) {
    const report: KindReport = {
      namespace,
      queue,
      onListed: () => {
        if (--unlisted === 0) {
          queue.push({ type: "reset" });
          areAllListed.resolve();
        }
        return areAllListed.promise;
      },
      onInSync: () => {
        if (--pending === 0) queue.push({ type: "in-sync" });
      },
      onFailure: (failure, failures) => queue.push(...interruption.fail(failure, failures, kind)),
      onReached: () => queue.push(...interruption.end(kind)),
    };
    followKind(source, kind, report).then(
      () => queue.end(),
      (thrown: unknown) => queue.fail(thrown),
    );
  }
  yield* queue.drain();
}

async function followKind(source: WatchSource, kind: WatchedKind, report: KindReport): Promise<void> {
  if (kind === "IPAMBlock") await followType(source, IPAM_BLOCKS, translateBlocks(), report);
  else if (kind === "WorkloadEndpoint") await followType(source, PODS, translatePods(), report);
  else if (isCustom(kind)) await followType(source, typeOf(kind), translateCustom(kind), report);
  else await followType(source, NODES, translateNodes(), report);
}

/** Returns when its history is gone, or the queue is not read any more. */
async function followType<T extends KubeObject>(
  source: WatchSource,
  type: ResourceType<T>,
  translator: Translator<T>,
  { namespace, queue, onListed, onInSync, onFailure, onReached }: KindReport,
): Promise<void> {
  const options = { ...(type.isNamespaced && { namespace }), signal: queue.signal, isOneHistory: true };
  for await (const event of follow(source.client, source, type, options)) {
    switch (event.type) {
      case "reset":
        onReached();
        await onListed();
        break;
      case "resumed":
        onReached();
        break;
      case "put":
        queue.push(...translator.onPut(event.object));
        break;
      case "delete":
        queue.push(...translator.onDelete(event.object));
        break;
      case "in-sync":
        onInSync();
        break;
      case "error":
        onFailure(event.failure, event.failures);
    }
  }
}
