/** A list and every change after it, through lost connections, until its history is forgotten. */

import type { Backoff } from "../../lib/backoff.ts";
import { FailureRow, type FailureRowLimits } from "../../lib/failure-row.ts";
import type { Clock, Random } from "../../lib/ports.ts";
import type { KubeClient, Selection } from "../client.ts";
import { KubeError, isKubeError } from "../kube-error.ts";
import type { KubeObject } from "../kube-object.ts";
import { type ResourceType, toResourceText } from "../resource-type.ts";
import type { KubeEvent } from "./connection.ts";
import { watchOnce } from "./connection.ts";
import { Patience } from "./patience.ts";

/** What a follower is told, in the order in which it must act on it. */
export type FollowEvent<T> =
  /** All objects follow, then `in-sync`: what was reported of an earlier history is void. */
  | { readonly type: "reset" }
  | { readonly type: "put"; readonly object: T }
  /** With the object's last state. */
  | { readonly type: "delete"; readonly object: T }
  | { readonly type: "in-sync" }
  /**
   * For logs and health; the iteration goes on by itself. A connection that stood ends the row of failures only when it has told something, or
   * stood for a second.
   */
  | { readonly type: "error"; readonly failure: KubeError; readonly failures: number }
  /** The connection stands again after errors, and its history goes on; where it does not, nothing more comes. */
  | { readonly type: "resumed" };

/** What is followed, until the signal aborts. */
export interface FollowOptions extends Selection {
  readonly signal: AbortSignal;
}

/** For pauses between tries: how long they are, and their jitter. */
export interface FollowPorts {
  readonly clock: Clock;
  readonly random: Random;
}

const RECONNECT_BACKOFF: Backoff = { firstMs: 100, maxMs: 10_000 };

/** For connections of one history. After a second one has told all that there was to tell: one that then ends has missed nothing. */
const CONNECTING: FailureRowLimits = { backoff: RECONNECT_BACKOFF, steadyMs: 1_000 };

/** For histories, each of which begins with a list of everything: that is much to ask for. */
export const LISTING_ANEW: FailureRowLimits = { backoff: RECONNECT_BACKOFF, steadyMs: RECONNECT_BACKOFF.maxMs };

/** The longest wait that a server may ask for, in milliseconds: the answer may come from something in front of it. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Shortest life of a watch, in seconds. Each lives up to twice as long, so that not all are made again at once. */
const WATCH_SECONDS = 300;

/**
 * First all objects (`reset`, puts, `in-sync`), then every change in order. A connection that ends is replaced by one that goes on from the
 * same revision. Ends when the history that this needs is gone, or the signal aborts; whoever goes on with another history pauses before that.
 *
 * @throws KubeError or NetplugError for what no retry can fix: no permission, a resource that is not served, settings that make no sense
 */
export async function* follow<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
): AsyncIterable<FollowEvent<T>> {
  const revision = yield* tellAll(client, ports, type, options);
  if (revision !== undefined) yield* followFrom(client, ports, type, options, revision);
}

/** All objects, once the server has listed them. @returns their revision; undefined: the signal has aborted */
async function* tellAll<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
): AsyncGenerator<FollowEvent<T>, string | undefined> {
  const { signal } = options;
  const patience = new Patience(ports.clock);
  const row = new FailureRow(ports, LISTING_ANEW);
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list(type, options);
      yield { type: "reset" };
      for (const object of items) yield { type: "put", object };
      yield { type: "in-sync" };
      return resourceVersion;
    } catch (thrown) {
      if (signal.aborted) break;
      const failure = patience.requireRetriable(thrown);
      yield { type: "error", failure, failures: row.fail() };
      await row.pause(signal, wantedPauseMs(failure));
    }
  }
  return undefined;
}

/** Changes after a revision; returns when the history that it needs is gone, or is another one: somebody has restored a backup. */
async function* followFrom<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
  from: string,
): AsyncIterable<FollowEvent<T>> {
  const { signal } = options;
  const patience = new Patience(ports.clock);
  let resourceVersion = from;
  const row = new FailureRow(ports, CONNECTING);
  let [isFirst, isInterrupted] = [true, false];
  for (; !signal.aborted; isFirst = false) {
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + ports.random()));
    try {
      // One that ended well, too: a server ends its watches so when it stops, and the next may be taken by one whose store was restored.
      if (!isFirst && (await hasGoneBack(client, type, options, resourceVersion))) return;
      for await (const event of watchOnce(client, ports.clock, type, { ...options, resourceVersion, timeoutSeconds })) {
        if (event.type === "OPENED") {
          row.begin();
          patience.onOther();
          if (isInterrupted) yield { type: "resumed" };
          isInterrupted = false;
          continue;
        }
        row.succeed();
        resourceVersion = revisionOf(event) ?? resourceVersion;
        if (event.type !== "BOOKMARK") yield { type: event.type === "DELETED" ? "delete" : "put", object: event.object };
      }
      if (!row.end()) throw new KubeError("lost", `watch ${toResourceText(type)}: the API server ended it at once`);
    } catch (thrown) {
      if (signal.aborted || isKubeError(thrown, "expired")) return;
      const failure = patience.requireRetriable(thrown);
      isInterrupted = true;
      yield { type: "error", failure, failures: row.fail() };
      await row.pause(signal, wantedPauseMs(failure));
    }
  }
}

/**
 * Whether the newest revision is older than one that we have seen: then the API server's etcd was restored from a backup. A watch from there
 * on is taken (1.36) and tells nothing until the store has come so far again, and then not what changed before. Lists without a revision are
 * never older than an earlier answer of any API server.
 *
 * @see k8s.io/apiserver storage/cacher, cacheWatcher.process
 */
async function hasGoneBack<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  options: FollowOptions,
  seen: string,
): Promise<boolean> {
  const newest = await client.listPage(type, { ...options, pageSize: 1, isMetadataOnly: true });
  return Number(newest.resourceVersion) < Number(seen);
}

function revisionOf<T extends KubeObject>(event: Exclude<KubeEvent<T>, { readonly type: "OPENED" }>): string | undefined {
  return event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.resourceVersion;
}

/** Milliseconds that the server asks for, within reason. */
function wantedPauseMs({ retryAfterMs = 0 }: KubeError): number {
  return Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
}
