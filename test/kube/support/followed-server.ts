/** For tests: an API server whose lists and watches are told beforehand, and what a follower of its nodes is told. */

import type { Node } from "../../../src/kube/core-types.ts";
import { NODES } from "../../../src/kube/core-types.ts";
import type { FollowEvent } from "../../../src/kube/watch/follow.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Clock } from "../../../src/lib/ports.ts";
import type { FakeApiServer, SeenRequest } from "./fake-api-server.ts";
import { clientOf, startFakeApiServer } from "./fake-api-server.ts";
import { followAnew } from "./follow-anew.ts";

export const node = (name: string, resourceVersion: string): Node => ({ metadata: { name, resourceVersion } });
export const list = (revision: string, ...names: readonly string[]): Response =>
  Response.json({ metadata: { resourceVersion: revision }, items: names.map((name) => node(name, revision)) });
export const event = (type: string, name: string, revision: string): string =>
  `${JSON.stringify({ type, object: node(name, revision) })}\n`;
export const bookmark = (revision: string): string =>
  `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: revision } } })}\n`;
export const gone = statusObject(410, "Expired", "too old resource version: 1 (9)");

export function statusObject(code: number, reason: string, message: string): object {
  return { kind: "Status", status: "Failure", code, reason, message };
}

/** A watch that tells this and closes, or stays open. */
export function stream(texts: readonly string[], isOpen = false): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
      if (!isOpen) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "application/json" } });
}

/** The line end makes the server send the head. */
export const silent = (): Response => stream(["\n"], true);

/** Lists and watches are answered in this order, and then with silence; how far the store has come, with `newest`. */
export function serving(lists: readonly (() => Response)[], watches: readonly (() => Response)[], newest = "1000"): FakeApiServer {
  const [nextList, nextWatch] = [lists.values(), watches.values()];
  return startFakeApiServer(({ path }) => {
    if (/[?&]limit=1(?:&|$)/.test(path)) return list(newest);
    return ((path.includes("watch=true") ? nextWatch : nextList).next().value ?? silent)();
  });
}

/**
 * Pauses are a hundredth as long, and no time passes. Requests, which say their limits to the clock too, have all their time: machines are slow now
 * and then.
 */
export function makeQuickClock(onPause: (ms: number) => unknown = () => undefined): Clock {
  return {
    ...systemClock,
    monotonic: () => 0,
    sleep(ms, signal) {
      if (ms > 2_000) return systemClock.sleep(ms, signal);
      onPause(ms);
      return systemClock.sleep(ms / 100, signal);
    },
  };
}

/** Watches that stand for so long, in which they tell nothing, and then end; on a clock on which that time passes at once. */
export function makeStanding(
  onPause?: (ms: number) => unknown,
  standMs = 1_000,
): { readonly clock: Clock; readonly standing: (last?: string) => Response } {
  const quick = makeQuickClock(onPause);
  let [aheadMs, end] = [0, (): void => undefined];
  const clock: Clock = {
    ...quick,
    monotonic: () => aheadMs,
    sleep(ms, signal) {
      // It waits for a line, for as long as a connection may be silent: so it has opened.
      if (ms > 100_000) end();
      return quick.sleep(ms, signal);
    },
  };
  const standing = (last = ""): Response =>
    new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          const tell = (text: string): void => controller.enqueue(new TextEncoder().encode(text));
          tell("\n");
          end = () => {
            end = () => undefined;
            aheadMs += standMs;
            tell(last);
            controller.close();
          };
        },
      }),
    );
  return { clock, standing };
}

/** The first events as words, `put a 5`, of one history after the other. */
export async function firstEvents(
  server: FakeApiServer,
  count: number,
  clock: Clock = makeQuickClock(),
  words: string[] = [],
): Promise<readonly string[]> {
  const controller = new AbortController();
  const events = followAnew(clientOf(server, {}, clock), { clock, random: () => 0.5 }, NODES, { signal: controller.signal });
  for await (const one of events) {
    words.push(toWords(one));
    if (words.length === count) controller.abort();
  }
  return words;
}

export function toWords(one: FollowEvent<Node>): string {
  if (one.type === "error") return `error ${one.failure.reason}`;
  return "object" in one ? `${one.type} ${one.object.metadata.name} ${one.object.metadata.resourceVersion}` : one.type;
}

export function revisionsWatched({ seen }: { readonly seen: readonly SeenRequest[] }): readonly (string | null)[] {
  return seen
    .filter(({ path }) => path.includes("watch=true"))
    .map(({ path }) => new URL(path, "http://x").searchParams.get("resourceVersion"));
}
