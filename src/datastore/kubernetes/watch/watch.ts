/** A watch over several kinds: each is followed by itself, and told as one stream. */

import type { KubeClient } from "../../../kube/client.ts";
import { NODES, PODS } from "../../../kube/core-types.ts";
import type { KubeObject } from "../../../kube/kube-object.ts";
import type { ResourceType } from "../../../kube/resource-type.ts";
import { follow, LISTING_ANEW } from "../../../kube/watch/follow.ts";
import { FailureRow } from "../../../lib/failure-row.ts";
import type { Clock, Random } from "../../../lib/ports.ts";
import type { WatchEvent, WatchOptions } from "../../datastore.ts";
import { IPAM_BLOCKS, isCustom, typeOf } from "../objects/resource-types.ts";
import { EventQueue } from "../../event-queue.ts";
import { Interruption } from "../../interruption.ts";
import { JointSnapshot } from "./joint-snapshot.ts";
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

/** What the kinds of one watch share. */
interface Shared {
  readonly namespace: string | undefined;
  readonly queue: EventQueue;
  readonly snapshot: JointSnapshot;
  readonly interruption: Interruption;
}

/** A snapshot of all kinds and what follows; ends when the history of one of them is gone, because then all are reported anew. */
async function* watchUntilReset(
  source: WatchSource,
  { kinds, namespace, signal }: WatchOptions,
  interruption: Interruption,
): AsyncIterable<WatchEvent> {
  using queue = new EventQueue(signal);
  const shared: Shared = { namespace, queue, snapshot: new JointSnapshot(kinds.length, queue), interruption };
  for (const kind of kinds) {
    followKind(source, kind, shared).then(
      () => queue.end(),
      (thrown: unknown) => queue.fail(thrown),
    );
  }
  yield* queue.drain();
}

async function followKind(source: WatchSource, kind: WatchedKind, shared: Shared): Promise<void> {
  if (kind === "IPAMBlock") await followType(source, kind, { type: IPAM_BLOCKS, translator: translateBlocks() }, shared);
  else if (kind === "WorkloadEndpoint") await followType(source, kind, { type: PODS, translator: translatePods() }, shared);
  else if (isCustom(kind)) await followType(source, kind, { type: typeOf(kind), translator: translateCustom(kind) }, shared);
  else await followType(source, kind, { type: NODES, translator: translateNodes() }, shared);
}

/** What a kind is in the API server. */
interface Objects<T extends KubeObject> {
  readonly type: ResourceType<T>;
  readonly translator: Translator<T>;
}

/** Returns when its history is gone, or the queue is not read any more. */
async function followType<T extends KubeObject>(
  source: WatchSource,
  kind: WatchedKind,
  { type, translator }: Objects<T>,
  { namespace, queue, snapshot, interruption }: Shared,
): Promise<void> {
  const options = { ...(type.isNamespaced && { namespace }), signal: queue.signal };
  for await (const event of follow(source.client, source, type, options)) {
    switch (event.type) {
      case "reset":
        queue.push(...interruption.end(kind));
        await snapshot.onListed();
        break;
      case "resumed":
        queue.push(...interruption.end(kind));
        break;
      case "put":
        queue.push(...translator.onPut(event.object));
        break;
      case "delete":
        queue.push(...translator.onDelete(event.object));
        break;
      case "in-sync":
        snapshot.onTold();
        break;
      case "error":
        queue.push(...interruption.fail(event.failure, event.failures, kind));
    }
  }
}
