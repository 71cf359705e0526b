/** One watch over one connection: what changes after a revision, until the server or the caller ends it. */

import { isJsonObject } from "../../lib/json.ts";
import type { Clock } from "../../lib/ports.ts";
import { waitAtMost } from "../../lib/wait-at-most.ts";
import { toServerText } from "../access/server-url.ts";
import type { KubeClient, Selection } from "../client.ts";
import { KubeError } from "../kube-error.ts";
import type { KubeObject, ObjectMeta } from "../kube-object.ts";
import type { KubeRequest } from "../request.ts";
import { toActionText, toRequest } from "../request.ts";
import type { OpenAnswer } from "../requests/requester.ts";
import type { ResourceType } from "../resource-type.ts";
import { toEventFailure } from "../failure/status-failure.ts";
import { toBrokenFailure } from "../failure/transport-failure.ts";
import { readLines } from "../../lib/lines.ts";

/** What the server says on a watch; `ERROR` is thrown instead. */
export type KubeEvent<T> =
  /** The first: it has taken the watch. */
  | { readonly type: "OPENED" }
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /** Nothing has changed up to this revision. */
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string | undefined };

/** What is watched, from where on, and for how long. */
export interface WatchOptions extends Selection {
  /** Changes after this one are reported. */
  readonly resourceVersion: string;
  /** After how long the server ends the connection, in seconds. */
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
}

/** Limit for the head of the answer, in milliseconds: a server answers a watch at once, even when nothing changes. */
const HEAD_LIMIT_MS = 10_000;

/** How long a connection may be silent before it counts as dead, in milliseconds: a server sends a bookmark roughly every minute. */
const SILENCE_LIMIT_MS = 150_000;

/**
 * Watches until the server closes the connection.
 *
 * @throws KubeError expired when the revision is too old; any other for a connection that breaks, or falls silent
 */
export async function* watchOnce<T extends KubeObject>(
  client: KubeClient,
  clock: Clock,
  type: ResourceType<T>,
  { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal }: WatchOptions,
): AsyncIterable<KubeEvent<T>> {
  const query = { watch: true, allowWatchBookmarks: true, labelSelector, fieldSelector, resourceVersion, timeoutSeconds };
  const request = toRequest("watch", type, { namespace }, { query, isRepeatable: true });
  const connection = new AbortController();
  const answer = await client.requester.open(request, { signal: AbortSignal.any([signal, connection.signal]), limitMs: HEAD_LIMIT_MS });
  try {
    yield { type: "OPENED" };
    yield* readEvents<T>(client, clock, request, answer);
  } finally {
    connection.abort();
  }
}

async function* readEvents<T>(client: KubeClient, clock: Clock, request: KubeRequest, answer: OpenAnswer): AsyncIterable<KubeEvent<T>> {
  const { response, login } = answer;
  if (response.body === null) throw new KubeError("lost", `${toActionText(request)}: the answer has no body`);
  const lines = readLines(response.body)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const line = await waitAtMost(SILENCE_LIMIT_MS, lines.next(), clock);
      if (line === undefined) throw new KubeError("lost", `${toActionText(request)}: the API server has said nothing for too long`);
      if (line.done === true) return;
      const event = parseEvent<T>(request, line.value);
      if ("failed" in event) throw toEventFailure(request, event.failed, client.requester.contextOf(login));
      yield event;
    }
  } catch (thrown) {
    throw toBrokenFailure(thrown, { request, server: toServerText(login.access), isAnswered: true });
  } finally {
    // Not awaited: it waits for the very line that does not come.
    void lines.return?.().catch(() => undefined);
  }
}

function parseEvent<T>(request: KubeRequest, line: string): KubeEvent<T> | { readonly failed: Readonly<Record<string, unknown>> } {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new KubeError("lost", `${toActionText(request)}: got a line that is no JSON`, { cause });
  }
  const { type, object } = isJsonObject(event) ? event : {};
  if (!isJsonObject(object)) throw new KubeError("lost", `${toActionText(request)}: got an event without object`);
  if (type === "ERROR") return { failed: object };
  const { metadata } = object;
  if (!isJsonObject(metadata)) throw new KubeError("lost", `${toActionText(request)}: got an event whose object has no metadata`);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: object as T };
    case "BOOKMARK":
      return { type, resourceVersion: (metadata as ObjectMeta).resourceVersion };
    default:
      throw new KubeError("lost", `${toActionText(request)}: got an event of an unknown type`);
  }
}
