/** When the plugin's token is renewed, and what it means for pods when it cannot be. */

import { delayAfter } from "../lib/backoff.ts";
import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import type { Clock, Random } from "../lib/ports.ts";
import type { Grant } from "./account/plugin-account.ts";
import type { InstallHost } from "./host.ts";
import type { Installation } from "./install.ts";

/** A token that cannot be renewed is still good for hours; an API server that comes back must not be overrun by all nodes. */
const RENEWAL_BACKOFF = { firstMs: 5_000, maxMs: 300_000 } as const;

/** Milliseconds between questions about a token that the API server refused, and that cannot be renewed. */
const RECHECK_MS = 30_000;

/** The part of its life after which a token is renewed, and how much earlier that may be: nodes that started together drift apart. */
const RENEWED_AFTER = 0.5;
const SPREAD = 0.05;

/** What a renewal needs of the installation. */
export type TokenHolder = Pick<Installation, "grant" | "isTokenAccepted" | "renewToken">;

/** The schedule of one token: half-way through its life, at once when the API server refuses it, later and later while that fails. */
export class TokenRenewal {
  readonly #holder: TokenHolder;
  readonly #refreshMs: number;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  #failures = 0;
  #reason = "";
  #isRefused = false;
  /** When the API server was last asked whether it accepts the token, by the monotonic clock. */
  #checkedAt = -Infinity;
  /** By both clocks: the monotonic one may stand still while the machine sleeps, and the wall clock may be set back. */
  #due = { wall: Infinity, monotonic: Infinity };
  #expiresAt = Infinity;

  /** @param refreshMs milliseconds after which a token is renewed, unless its life wants it earlier */
  constructor(holder: TokenHolder, refreshMs: number, { clock, random }: Pick<InstallHost, "clock" | "random">, log: Log) {
    this.#holder = holder;
    this.#refreshMs = refreshMs;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    this.#plan(holder.grant);
  }

  /** Milliseconds until {@link keep} renews the token; 0: now. */
  dueInMs(): number {
    return Math.max(0, Math.min(this.#due.wall - this.#clock.now(), this.#due.monotonic - this.#clock.monotonic()));
  }

  /** Why pods get no network for lack of a valid token; undefined: the token is good. */
  notReadyReason(): string | undefined {
    const isExpired = this.#clock.now() >= this.#expiresAt;
    if (this.#failures === 0 || !(isExpired || this.#isRefused)) return undefined;
    return `token ${isExpired ? "has expired" : "is not accepted any more"} and cannot be renewed: ${this.#reason}`;
  }

  /**
   * To be called after each pause. Asks the API server about the token, where that is due, and renews it, where that is.
   *
   * @param isCheckDue whether to ask about a token of which nothing bad is known, too
   */
  async keep(isCheckDue: boolean, stopped: AbortSignal): Promise<void> {
    if (isCheckDue || this.#isRecheckDue) await this.#check();
    if (this.dueInMs() <= 0) await this.#renew(stopped);
  }

  /** Whether a refused token should be checked again: an API server that cannot reach its own store refuses everybody for a while. */
  get #isRecheckDue(): boolean {
    return this.#isRefused && this.#clock.monotonic() - this.#checkedAt >= RECHECK_MS;
  }

  /** Asks the API server whether it accepts the token. If not, a renewal is due now, unless one has failed: then its next try stays as planned. */
  async #check(): Promise<void> {
    await this.#checkAcceptance();
    if (!this.#isRefused || this.#failures > 0) return;
    this.#log.warning("the API server does not take the token any more, asking for another");
    this.#schedule(0);
  }

  async #checkAcceptance(): Promise<void> {
    this.#checkedAt = this.#clock.monotonic();
    this.#isRefused = !(await this.#holder.isTokenAccepted());
  }

  /** Renews the token, or logs why not and plans the next try. Never throws. */
  async #renew(stopped: AbortSignal): Promise<void> {
    try {
      await this.#holder.renewToken();
      this.#failures = 0;
      this.#isRefused = false;
      this.#plan(this.#holder.grant);
      this.#log.info("token renewed", { expires: toIsoTime(this.#expiresAt) });
    } catch (thrown) {
      if (stopped.aborted) return;
      this.#schedule(delayAfter(++this.#failures, RENEWAL_BACKOFF, this.#random));
      this.#reason = messageOf(thrown);
      await this.#checkAcceptance();
      const fields = { reason: this.#reason, expires: toIsoTime(this.#expiresAt) };
      const notReadyReason = this.notReadyReason();
      if (notReadyReason === undefined) this.#log.warning("token cannot be renewed now, trying again", fields);
      else this.#log.error("pods get no network on this node", { ...fields, reason: notReadyReason });
    }
  }

  #plan(grant: Grant | undefined): void {
    if (grant === undefined) return;
    this.#expiresAt = this.#clock.now() + grant.lifeMs;
    this.#schedule(Math.min(this.#refreshMs, grant.lifeMs * (RENEWED_AFTER - SPREAD * this.#random())));
  }

  #schedule(delayMs: number): void {
    this.#due = { wall: this.#clock.now() + delayMs, monotonic: this.#clock.monotonic() + delayMs };
  }
}

/** Milliseconds since 1970 as people read them. */
export function toIsoTime(ms: number): string {
  return new Date(ms).toISOString();
}
