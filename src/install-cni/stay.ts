/** What goes on once everything is in its place: the token is renewed in time, and what somebody takes away comes back. */

import { delayAfter } from "../lib/backoff.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Clock, Random } from "../lib/ports.ts";
import type { Grant } from "./access.ts";
import type { InstallHost } from "./host.ts";
import type { Installation } from "./install.ts";
import type { StateFile } from "./state-file.ts";

/** How often files are looked at. */
const LOOK_EVERY_MS = 10_000;

/** How often the token is tried: whole clusters do this. */
const TRY_EVERY_MS = 300_000;

/** A token that cannot be renewed is good for hours yet; an API server that comes back must not be overrun by all nodes. */
const AFTER_FAILURE = { firstMs: 5_000, maxMs: 300_000 } as const;

/** Part of a token's life after which it is renewed, and by how much earlier that may be: nodes that started together drift apart. */
const HALF = 0.5;
const SPREAD = 0.05;

/** How it is kept. */
export interface Keeping {
  /** Milliseconds after which a token is renewed, if its life does not want it earlier. */
  readonly tokenRefreshMs: number;
  /** Is told at each look why pods may get no network, or that they do. */
  readonly state: Pick<StateFile, "say">;
}

type Kept = Pick<Installation, "grant" | "isTokenAccepted" | "mend" | "renewToken">;
type World = Pick<InstallHost, "clock" | "random" | "stopped">;

/** Returns when the process is asked to end. */
export async function stay(installation: Kept, { tokenRefreshMs, state }: Keeping, host: World, log: Log): Promise<void> {
  const { clock, random, stopped } = host;
  const renewal = new Renewal(installation, tokenRefreshMs, host, log);
  const complaints = new Complaints(log);
  let triedAt = clock.monotonic() - TRY_EVERY_MS * random();
  while (await sleepUnlessStopped(Math.min(LOOK_EVERY_MS, renewal.dueInMs()), clock, stopped)) {
    if (clock.monotonic() - triedAt >= TRY_EVERY_MS) {
      triedAt = clock.monotonic();
      if (!(await installation.isTokenAccepted())) renewal.hasten();
    }
    if (renewal.dueInMs() <= 0) await renewal.run(stopped);
    try {
      await installation.mend();
      state.say(renewal.trouble());
      complaints.forget();
    } catch (thrown) {
      if (stopped.aborted) return;
      complaints.say("keep files in place", messageOf(thrown));
      trySay(state, `files cannot be kept in place: ${messageOf(thrown)}`);
    }
  }
}

/** Whoever asks hears what was said last; why it could not be said, the log has. */
function trySay(state: Keeping["state"], trouble: string): void {
  try {
    state.say(trouble);
  } catch {
    // The same disk, in all likelihood, that made the trouble.
  }
}

/** When the token is next renewed. */
class Renewal {
  readonly #installation: Kept;
  readonly #refreshMs: number;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  #failures = 0;
  #reason = "";
  #isRefused = false;
  /** Both clocks: a machine that slept wakes with an older token, and a clock that was set back must not make it live longer. */
  #due = { wall: Infinity, monotonic: Infinity };
  #end = Infinity;

  constructor(installation: Kept, refreshMs: number, { clock, random }: World, log: Log) {
    this.#installation = installation;
    this.#refreshMs = refreshMs;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#plan(installation.grant);
  }

  dueInMs(): number {
    return Math.max(0, Math.min(this.#due.wall - this.#clock.now(), this.#due.monotonic - this.#clock.monotonic()));
  }

  /** Why pods get no network for want of a token; undefined: the token is good. */
  trouble(): string | undefined {
    const isExpired = this.#clock.now() >= this.#end;
    if (this.#failures === 0 || !(isExpired || this.#isRefused)) return undefined;
    return `token ${isExpired ? "has expired" : "is not accepted any more"} and cannot be renewed: ${this.#reason}`;
  }

  async run(stopped: AbortSignal): Promise<void> {
    try {
      await this.#installation.renewToken();
      this.#failures = 0;
      this.#isRefused = false;
      this.#plan(this.#installation.grant);
      this.#log.info("token renewed", { expires: toTime(this.#end) });
    } catch (thrown) {
      if (stopped.aborted) return;
      this.#schedule(delayAfter(++this.#failures, AFTER_FAILURE, this.#random));
      // Asked again each time: an API server whose own store is away refuses everybody for a while.
      this.#isRefused = !(await this.#installation.isTokenAccepted());
      this.#reason = messageOf(thrown);
      const fields = { reason: this.#reason, expires: toTime(this.#end) };
      const trouble = this.trouble();
      if (trouble === undefined) this.#log.warning("token cannot be renewed now, trying again", fields);
      else this.#log.error("pods get no network on this node", { ...fields, reason: trouble });
    }
  }

  /** The token is of no use any more. Further tries after one that failed keep their time. */
  hasten(): void {
    this.#isRefused = true;
    if (this.#failures > 0) return;
    this.#log.warning("the API server does not take the token any more, asking for another");
    this.#schedule(0);
  }

  #plan(grant: Grant | undefined): void {
    if (grant === undefined) return;
    this.#end = this.#clock.now() + grant.lifeMs;
    this.#schedule(Math.min(this.#refreshMs, grant.lifeMs * (HALF - SPREAD * this.#random())));
  }

  #schedule(delayMs: number): void {
    this.#due = { wall: this.#clock.now() + delayMs, monotonic: this.#clock.monotonic() + delayMs };
  }
}

/** The same complaint every ten seconds would hide all others. */
class Complaints {
  readonly #log: Log;
  #last: string | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  say(what: string, reason: string): void {
    if (reason === this.#last) return;
    this.#last = reason;
    this.#log.warning(`cannot ${what}, trying again`, { reason });
  }

  forget(): void {
    this.#last = undefined;
  }
}

/** Milliseconds since 1970 as people read them. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString();
}

async function sleepUnlessStopped(ms: number, clock: Clock, stopped: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, stopped);
  } catch (thrown) {
    if (!stopped.aborted) throw thrown;
  }
  return !stopped.aborted;
}
