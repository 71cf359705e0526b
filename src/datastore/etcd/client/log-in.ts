/** The token of our user: who gave it, and when it is worth nothing any more. Loaded only where there is a user. */

import type { Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";
import { EtcdFailure, isSurelyNotApplied } from "../protocol/failure.ts";
import { toFailure } from "../wire/fetch-failure.ts";
import type { Target, Transport } from "../wire/transport.ts";
import { dropToken, findToken, keepToken } from "./kept-token.ts";
import { TryLimit } from "./try-limit.ts";

/** How long an answer to the first request with another process's token may take, so that as much is left for a log-in: milliseconds. */
const FOREIGN_TOKEN_MS = 2_500;

/** What a log-in gives where etcd has no users. */
const NO_TOKEN = "";

/** The log-in of one process; its token may be one that another process of the node got. */
export class LogIn {
  readonly #config: EtcdConfig;
  readonly #files: Files;
  readonly #onRoundTrip: () => void;
  #token: string | undefined;
  /** The last one that etcd refused, or that got no answer. */
  #endedToken: string | undefined;
  /** Another process's token, until etcd has accepted it from us. */
  #foreignToken: string | undefined;
  /** A log-in under way, shared by all who need it. */
  #loggingIn: Promise<string> | undefined;

  constructor(config: EtcdConfig, files: Files, onRoundTrip: () => void) {
    this.#config = config;
    this.#files = files;
    this.#onRoundTrip = onRoundTrip;
  }

  /**
   * Logs in where that is needed.
   *
   * @returns for {@link sendAs} and {@link forget}; undefined when we have no credentials
   * @throws EtcdFailure
   */
  async getToken(transport: Transport, target: Target): Promise<string | undefined> {
    const { username, password } = this.#config;
    if (username === undefined || password === undefined) return undefined;
    if (this.#token === undefined) {
      const logIn = (): Promise<string> => this.#authenticate(transport, username, password, target);
      this.#loggingIn ??= this.#findTokenOr(logIn).finally(() => {
        this.#loggingIn = undefined;
      });
      this.#token = await this.#loggingIn;
    }
    return this.#token;
  }

  /**
   * A token holds the index of its log-in in etcd's log, and etcd delays a request until it has reached that index. A cluster that was
   * restored from a backup begins a new log, and may never reach it.
   */
  async sendAs<T>(token: string | undefined, target: Target, send: (target: Target) => Promise<T>): Promise<T> {
    if (token === undefined || token === NO_TOKEN) return await send(target);
    if (token !== this.#foreignToken) return await send({ ...target, token });
    using limit = new TryLimit(FOREIGN_TOKEN_MS, target.signal);
    const answer = await send({ ...target, token, signal: limit.signal });
    this.#foreignToken = undefined;
    return answer;
  }

  /** @returns whether there was one */
  forget(token: string | undefined): boolean {
    if (token === undefined) return false;
    if (this.#token === token) this.#token = undefined;
    this.#endedToken = token;
    return true;
  }

  async #findTokenOr(logIn: () => Promise<string>): Promise<string> {
    if (this.#config.tokenFolder === undefined) return await logIn();
    const kept = findToken(this.#config, this.#files);
    if (kept !== undefined && kept !== this.#endedToken) return (this.#foreignToken = kept);
    const token = await logIn();
    if (token !== NO_TOKEN) keepToken(token, this.#config, this.#files);
    else if (kept !== undefined) dropToken(this.#config, this.#files);
    return token;
  }

  async #authenticate(transport: Transport, username: string, password: string, target: Target): Promise<string> {
    this.#onRoundTrip();
    try {
      return await transport.authenticate(username, password, target);
    } catch (thrown) {
      const failure = toFailure(thrown);
      if (failure.message.includes("authentication is not enabled")) return NO_TOKEN;
      // Even if the log-in was applied, the request that needs it was not sent.
      throw isSurelyNotApplied(failure) ? failure : new EtcdFailure("unreachable", `log in: ${failure.message}`, 0, failure);
    }
  }
}
