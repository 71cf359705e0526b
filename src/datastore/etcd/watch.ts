/** A watch that goes on after lost connections and compacted history: a snapshot first, then every change after it. */

import { messageOf, NetplugError } from "../../lib/errors.ts";
import { FailureRow, type FailureRowLimits } from "../../lib/failure-row.ts";
import type { Clock, Random } from "../../lib/ports.ts";
import type { WatchEvent, WatchOptions } from "../datastore.ts";
import { Interruption } from "../interruption.ts";
import type { EtcdClient } from "./client/client.ts";
import { blockRange, parseBlockKey, parseResourceKey, resourceRange } from "./layout/keys.ts";
import type { KeyRange } from "./layout/keys.ts";
import { notOurs, toStoredBlock, toStoredResource } from "./layout/records.ts";
import type { KeyEvent, WatchRange } from "./protocol/watch-rpc.ts";
import { readSnapshot } from "./snapshot.ts";

/** After a second a watch has told all that there was to tell: one that then ends has missed nothing. */
const RECONNECTING: FailureRowLimits = { backoff: { firstMs: 50, maxMs: 5_000 }, steadyMs: 1_000 };

/** Where a watch reads, and what it waits with. */
export interface WatchSource {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly random: Random;
}

/** What the steps of one watch share. */
interface Watching {
  readonly source: WatchSource;
  readonly ranges: readonly KeyRange[];
  readonly interruption: Interruption;
  readonly signal: AbortSignal;
}

/**
 * A snapshot and the history after it, and both anew when the history is lost. What is tried again has a row of failures where it is tried:
 * histories here, the reads of one snapshot and the connections of one history further down.
 *
 * @see Datastore.watch
 */
export async function* watchEtcd(source: WatchSource, { kinds, namespace, signal }: WatchOptions): AsyncIterable<WatchEvent> {
  const ranges = kinds.map((kind) => (kind === "IPAMBlock" ? blockRange() : resourceRange(kind, namespace)));
  const interruption = new Interruption();
  const watching = { source, ranges, interruption, signal };
  const histories = new FailureRow(source, RECONNECTING);
  while (!signal.aborted) {
    const revision = yield* tellSnapshot(watching);
    if (revision === undefined) return;
    histories.begin();
    yield* followUntilCompacted(watching, revision);
    if (signal.aborted || histories.end()) continue;
    const losses = histories.fail();
    // One is begun anew at once. A snapshot is much to ask for: where history is gone right behind each, they come with pauses.
    if (losses === 1) continue;
    yield* interruption.fail(new NetplugError("tryAgainLater", "watch etcd: the history after its snapshot is gone again"), losses);
    await histories.pause(signal);
  }
}

/** All that there is, once it can be read. @returns its revision; undefined: the signal has aborted */
async function* tellSnapshot({ source, ranges, interruption, signal }: Watching): AsyncGenerator<WatchEvent, bigint | undefined> {
  const reads = new FailureRow(source, RECONNECTING);
  while (!signal.aborted) {
    try {
      const snapshot = await readSnapshot(source.client, ranges, { signal });
      yield* interruption.end();
      yield { type: "reset" };
      for (const { kvs } of snapshot.ranges) yield* kvs.map((kv) => toWatchEvent({ type: "put", kv, modRevision: BigInt(kv.modRevision) }));
      yield { type: "in-sync" };
      return BigInt(snapshot.revision);
    } catch (thrown) {
      if (signal.aborted) break;
      yield* interruption.fail(requireRetriable(thrown), reads.fail());
      await reads.pause(signal);
    }
  }
  return undefined;
}

/** Changes after `revision`; returns when the history that it needs is gone, or is another one: somebody has restored a backup. */
async function* followUntilCompacted(
  { source, ranges: keyRanges, interruption, signal }: Watching,
  revision: bigint,
): AsyncIterable<WatchEvent> {
  // Each range has its own place in the history: a connection may end between two replies about one transaction.
  const ranges = keyRanges.map((range) => ({ ...range, startRevision: revision + 1n }));
  const connections = new FailureRow(source, RECONNECTING);
  while (!signal.aborted) {
    try {
      for await (const reply of source.client.watch(ranges, signal)) {
        if (reply.compacted) return;
        const range = ranges[reply.range];
        if (range === undefined) continue;
        if (reply.created) {
          if (reply.revision < range.startRevision - 1n && (await hasGoneBack(source, range, signal))) return;
          connections.begin();
          yield* interruption.end();
          continue;
        }
        connections.succeed();
        yield* reply.events.map(toWatchEvent);
        const last = reply.events.at(-1);
        range.startRevision = (last === undefined ? reply.revision : last.modRevision) + 1n;
      }
      throw new NetplugError("tryAgainLater", "watch etcd: the server ended it");
    } catch (thrown) {
      if (signal.aborted) return;
      yield* interruption.fail(requireRetriable(thrown), connections.fail());
      await connections.pause(signal);
    }
  }
}

/**
 * Whether the cluster's newest revision is older than one that we have seen: then a backup was restored. The read is linearizable, so a member
 * that only lags behind the others does not count.
 */
async function hasGoneBack({ client }: WatchSource, { key, startRevision }: WatchRange, signal: AbortSignal): Promise<boolean> {
  const { revision } = await client.read({ ranges: [{ key, countOnly: true }] }, { signal });
  return BigInt(revision) < startRevision - 1n;
}

/** @throws what no retry can fix */
function requireRetriable(thrown: unknown): NetplugError {
  if (thrown instanceof NetplugError && thrown.kind === "tryAgainLater") return thrown;
  throw thrown;
}

function toWatchEvent(event: KeyEvent): WatchEvent {
  const { key } = event.type === "put" ? event.kv : event;
  const block = parseBlockKey(key);
  const ref = parseResourceKey(key);
  try {
    if (event.type === "put")
      return block === undefined
        ? { type: "put", stored: toStoredResource(event.kv) }
        : { type: "put-block", stored: toStoredBlock(event.kv) };
    if (block !== undefined) return { type: "delete-block", ref: block };
    if (ref !== undefined) return { type: "delete", ref };
    throw notOurs(key);
  } catch (thrown) {
    return { type: "unreadable", key, ref: block ?? ref, reason: messageOf(thrown) };
  }
}
