/** The tries of one request: as whom the next one is made, whether there is one at all, and what all of them together failed with. */

import type { Clock, Random } from "../../lib/ports.ts";
import type { Credentials, Login } from "../access/credentials.ts";
import type { KubeError } from "../kube-error.ts";
import type { KubeRequest } from "../request.ts";
import { retryDelayMs } from "./retry-policy.ts";

/** What deciding about another try asks. */
export interface TriesPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Pick<Credentials, "get" | "renew">;
  /** Asks the server whether it is ready. @returns as `doubtDenial()` of `readiness.ts` */
  readonly doubtDenial: (denial: KubeError, login: Login, signal: AbortSignal) => Promise<KubeError | undefined>;
}

/** Each try that fails changes what the next one shows, and what is believed of the server. */
export class Tries {
  readonly #request: KubeRequest;
  readonly #ports: TriesPorts;
  /** When there is no time left, by the monotonic clock. */
  readonly #end: number;
  #login: Login;
  /** The number of the one that {@link login} is for, from 1. */
  #count = 1;
  /** Whether other credentials were found after a refusal. */
  #hasRenewed = false;
  /** Whether the server said that it is ready after it had denied the request. */
  #wasReady = false;
  /** What the last one tells of, too: all but a refusal after which other credentials were found. */
  readonly #failures: KubeError[] = [];

  /**
   * @param login what the first one shows
   * @param limitMs milliseconds for all of them
   */
  constructor(request: KubeRequest, login: Login, limitMs: number, ports: TriesPorts) {
    this.#request = request;
    this.#login = login;
    this.#ports = ports;
    this.#end = ports.clock.monotonic() + limitMs;
  }

  /** What the one that is made now shows. */
  get login(): Login {
    return this.#login;
  }

  /** Milliseconds that are left for all; below 0 when they are over. */
  get leftMs(): number {
    return this.#end - this.#ports.clock.monotonic();
  }

  /**
   * Goes on after a failure, where that makes sense.
   *
   * @param signal of the try that failed: ends what is asked because of it
   * @returns milliseconds until the next one is made; 0: at once
   * @throws {KubeError} when there is none: the failure, with what earlier ones tell
   */
  async goOn(failure: KubeError, signal: AbortSignal): Promise<number> {
    const pauseMs = await this.#pauseAfter(failure, signal);
    this.#count++;
    return pauseMs;
  }

  async #pauseAfter(failure: KubeError, signal: AbortSignal): Promise<number> {
    if (failure.reason === "unauthorized" && (await this.#renewLogin())) return 0;
    const isDenied = failure.reason === "forbidden" && failure.denied !== undefined;
    const doubted = isDenied ? await this.#ports.doubtDenial(failure, this.#login, signal) : failure;
    return doubted === undefined ? this.#pauseOfReady(failure) : this.#pauseByPolicy(doubted);
  }

  /** Once in a request. @returns whether the next try can show something else */
  async #renewLogin(): Promise<boolean> {
    const { credentials } = this.#ports;
    if (this.#hasRenewed || !(await credentials.renew(this.#login))) return false;
    this.#hasRenewed = true;
    this.#login = await credentials.get();
    return true;
  }

  /** After the denial of a server that says that it is ready: once, for it may have become so since. */
  #pauseOfReady(denial: KubeError): number {
    if (this.#wasReady) throw denial.after(this.#failures);
    this.#wasReady = true;
    this.#failures.push(denial);
    return 0;
  }

  #pauseByPolicy(failure: KubeError): number {
    const pauseMs = retryDelayMs(failure, this.#request, this.#count, this.leftMs, this.#ports.random);
    if (pauseMs === undefined) throw failure.after(this.#failures);
    this.#failures.push(failure);
    return pauseMs;
  }
}
