/** For tests: an installer that stays, and looks only when it is told to. */

import { systemClock } from "../../../src/lib/clock.ts";
import type { Clock } from "../../../src/lib/ports.ts";
import type { InstallNode, Run } from "./node.ts";

export interface Staying extends AsyncDisposable {
  /** Lets it look once more, and waits until it has, or has ended. */
  look(): Promise<void>;
  stop(): Promise<Run>;
}

export interface StayOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

/** Starts a run that stays; it looks only when it is told to. */
export async function stay(node: InstallNode, { env = {}, clock = systemClock }: StayOptions = {}): Promise<Staying> {
  const stopped = new AbortController();
  let idle = Promise.withResolvers<void>();
  let next = Promise.withResolvers<void>();
  const pausing: Clock = {
    ...clock,
    async sleep(ms, signal) {
      // Requests and locks wait too, with signals of their own or not as long.
      if (signal !== stopped.signal || ms < 1_000) return await clock.sleep(ms, signal);
      idle.resolve();
      const turn = next;
      signal?.addEventListener("abort", () => turn.reject(signal.reason));
      await turn.promise;
    },
  };
  const running = node.run({ env, args: [], host: { clock: pausing, stopped: stopped.signal } });
  await Promise.race([idle.promise, running.then(({ log }) => Promise.reject(new Error(JSON.stringify(log))))]);
  const stop = async (): Promise<Run> => {
    stopped.abort(new Error("asked to end"));
    return await running;
  };
  return {
    async look() {
      idle = Promise.withResolvers();
      const going = next;
      next = Promise.withResolvers();
      going.resolve();
      await Promise.race([idle.promise, running]);
    },
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}
