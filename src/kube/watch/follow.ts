/** A list and every change after it, through lost connections and forgotten history. */

import type { Backoff } from "../../lib/backoff.ts";
import { delayAfter } from "../../lib/backoff.ts";
import type { Clock, Random } from "../../lib/ports.ts";
import type { KubeClient, Selection } from "../client.ts";
import type { KubeReason } from "../kube-error.ts";
import { KubeError, isKubeError } from "../kube-error.ts";
import type { KubeObject } from "../kube-object.ts";
import { type ResourceType, toResourceText } from "../resource-type.ts";
import type { KubeEvent } from "./connection.ts";
import { watchOnce } from "./connection.ts";

/** What a follower is told, in the order in which it must act on it. */
export type FollowEvent<T> =
  /** What was reported so far is void: all objects follow, then `in-sync`. */
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
  /** The connection stands again after errors, and its history goes on; where it does not, a `reset` comes instead. */
  | { readonly type: "resumed" };

/** What is followed, until the signal aborts. */
export interface FollowOptions extends Selection {
  readonly signal: AbortSignal;
  /** Whether it ends when the history is gone, instead of listing everything again; what is to be paused then is the caller's. */
  readonly isOneHistory?: boolean | undefined;
}

/** For pauses between tries: how long they are, and their jitter. */
export interface FollowPorts {
  readonly clock: Clock;
  readonly random: Random;
}

/** Pauses between connections while none stands for long enough. */
const RECONNECT_BACKOFF: Backoff = { firstMs: 100, maxMs: 10_000 };

/** The longest wait that a server may ask for, in milliseconds: the answer may come from something in front of it. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Shortest life of a watch, in seconds. Each lives up to twice as long, so that not all are made again at once. */
const WATCH_SECONDS = 300;

/** How long a watch stands until it has told all that there was to tell, in milliseconds: one that then ends has missed nothing, and what failed before is over. */
const STEADY_MS = 1_000;

/** How long a server that has started may deny what it permits, in milliseconds: kubeadm's is started again when it is not ready by then. */
const START_LIMIT_MS = 240_000;

/**
 * First all objects (`reset`, puts, `in-sync`), then every change in order. A connection that ends is replaced by one that goes on from the
 * same revision; when the history that this needs is gone, everything is listed again, unless the options say otherwise. Ends when the
 * signal aborts.
 *
 * @throws KubeError or NetplugError for what no retry can fix: no permission, a resource that is not served, settings that make no sense
 */
export async function* follow<T extends KubeObject>(
  client: KubeClient,
  ports: FollowPorts,
  type: ResourceType<T>,
  options: FollowOptions,
): AsyncIterable<FollowEvent<T>> {
  const { signal } = options;
  const patience = new Patience(ports.clock);
  for (let failures = 0; !signal.aborted;) {
    try {
      const { items, resourceVersion } = await client.list(type, options);
      patience.onOther();
      yield { type: "reset" };
      for (const object of items) yield { type: "put", object };
      yield { type: "in-sync" };
      const startedAt = ports.clock.monotonic();
      yield* followFrom(client, ports, type, options, resourceVersion);
      if (options.isOneHistory === true) return;
      failures = await pauseIfShort(ports, startedAt, failures, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      const failure = patience.requireRetriable(thrown);
      yield { type: "error", failure, failures: ++failures };
      await pause(ports, failures, signal, failure.retryAfterMs);
    }
  }
}

/**
 * Pauses before everything is listed again, unless what was listed before lasted; the longer, the more often in a row it did not.
 *
 * @param startedAt when that was listed, by the monotonic clock
 * @param failures in a row up to then
 * @returns failures in a row
 */
export async function pauseIfShort(ports: FollowPorts, startedAt: number, failures: number, signal: AbortSignal): Promise<number> {
  if (ports.clock.monotonic() - startedAt >= RECONNECT_BACKOFF.maxMs) return 0;
  await pause(ports, failures + 1, signal);
  return failures + 1;
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
  let [isFirst, isInterrupted] = [true, false];
  for (let failures = 0; !signal.aborted; isFirst = false) {
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + ports.random()));
    let openedAt = Infinity;
    const hasStood = (): boolean => ports.clock.monotonic() - openedAt >= STEADY_MS;
    try {
      // One that ended well, too: a server ends its watches so when it stops, and the next may be taken by one whose store was restored.
      if (!isFirst && (await hasGoneBack(client, type, options, resourceVersion))) return;
      for await (const event of watchOnce(client, ports.clock, type, { ...options, resourceVersion, timeoutSeconds })) {
        if (event.type === "OPENED") {
          openedAt = ports.clock.monotonic();
          patience.onOther();
          if (isInterrupted) yield { type: "resumed" };
          isInterrupted = false;
          continue;
        }
        failures = 0;
        resourceVersion = revisionOf(event) ?? resourceVersion;
        if (event.type !== "BOOKMARK") yield { type: event.type === "DELETED" ? "delete" : "put", object: event.object };
      }
      if (!hasStood()) throw new KubeError("lost", `watch ${toResourceText(type)}: the API server ended it at once`);
      failures = 0;
    } catch (thrown) {
      if (signal.aborted || isKubeError(thrown, "expired")) return;
      const failure = patience.requireRetriable(thrown);
      if (hasStood()) failures = 0;
      isInterrupted = true;
      yield { type: "error", failure, failures: ++failures };
      await pause(ports, failures, signal, failure.retryAfterMs);
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

/**
 * Besides what may be tried again, and denials of a server that has not read its roles yet: credentials that somebody may renew, and answers of a
 * proxy while the API server behind it restarts.
 */
const RETRIABLE: ReadonlySet<KubeReason> = new Set(["unauthorized", "unexpected"]);

/** Tells what may be tried again from what no retry can fix: a denial, too, that goes on for longer than any server starts. */
class Patience {
  readonly #clock: Clock;
  /** Since when there have been denials alone, by the monotonic clock. */
  #deniedSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that something else than a denial has come: the server knows its roles, or starts anew. */
  onOther(): void {
    this.#deniedSince = undefined;
  }

  /** @throws what no retry can fix */
  requireRetriable(thrown: unknown): KubeError {
    if (!(thrown instanceof KubeError)) throw thrown;
    const { doubted, kind, reason } = thrown;
    if (doubted === undefined) {
      this.onOther();
      if (kind === "tryAgainLater" || RETRIABLE.has(reason)) return thrown;
      throw thrown;
    }
    this.#deniedSince ??= this.#clock.monotonic();
    if (this.#clock.monotonic() - this.#deniedSince >= START_LIMIT_MS) throw doubted;
    return thrown;
  }
}

async function pause({ clock, random }: FollowPorts, failures: number, signal: AbortSignal, retryAfterMs = 0): Promise<void> {
  const ms = Math.max(delayAfter(failures, RECONNECT_BACKOFF, random), Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
  await clock.sleep(ms, signal).catch(() => undefined);
}
