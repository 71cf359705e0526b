/** How we log in to etcd: TLS files, user and token, gateway or gRPC. */

import type { Clock, Connect, Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../datastore-config.ts";
import { EtcdFailure, isSurelyNotApplied, judge, neverSent } from "../protocol/failure.ts";
import { toFailure } from "../wire/fetch-failure.ts";
import { PlainHttp } from "../wire/gateway/plain-http.ts";
import { createGateway } from "../wire/gateway/transport.ts";
import type { Target, TlsMaterial, Transport } from "../wire/transport.ts";
import { TryLimit } from "./try-limit.ts";

/** Sequential round trips, and retries among them. */
export interface RequestCounts {
  roundTrips: number;
  retries: number;
}

export interface AccessPorts {
  readonly clock: Clock;
  readonly files: Files;
  /** For processes that live for one request or two; without it everything goes over `fetch`. */
  readonly connect?: Connect | undefined;
}

/** The request to an endpoint, after the log-in. */
export type Run<T> = (transport: Transport, target: Target) => Promise<T>;

/** After how long the TLS files are read again, so that renewed ones are used: milliseconds. */
const TLS_LIFETIME_MS = 60_000;

/** A new token, and the other transport. */
const MAX_REPAIRS = 2;

/** How long an answer to the first request with another process's token may take, so that as much is left for a log-in: milliseconds. */
const FOREIGN_TOKEN_MS = 2_500;

/** What a log-in gives where there are no users. */
const NO_TOKEN = "";

/** The credentials of one process, kept in memory; its token may be one that another process of the node got. */
export class Access {
  readonly #config: EtcdConfig;
  readonly #clock: Clock;
  readonly #files: Files;
  readonly #counts: RequestCounts;
  #transport: Transport;
  #speaksGrpc = false;
  #token: string | undefined;
  /** The last one that etcd did not take, or with which no answer came. */
  #endedToken: string | undefined;
  /** One of another process, until etcd has taken it from us. */
  #foreignToken: string | undefined;
  /** A log-in under way, shared by all who need it. */
  #loggingIn: Promise<string> | undefined;
  #tls: { readonly material: TlsMaterial; readonly readAt: number } | undefined;

  constructor(config: EtcdConfig, ports: AccessPorts, counts: RequestCounts) {
    this.#config = config;
    this.#clock = ports.clock;
    this.#files = ports.files;
    this.#counts = counts;
    this.#transport = createGateway(ports.connect === undefined ? undefined : new PlainHttp(ports.connect, ports.clock));
  }

  /**
   * One try at one endpoint; again at once when all that is wrong is an old token or the wrong transport.
   *
   * @throws EtcdFailure, or NetplugError for unreadable files
   */
  async call<T>(endpoint: string, signal: AbortSignal, run: Run<T>): Promise<T> {
    for (let repairs = 0; ; repairs++) {
      const tls = endpoint.startsWith("https:") ? await this.#readTls() : undefined;
      const transport = this.#transport;
      let token: string | undefined;
      try {
        // No await without a log-in: so the request is sent before the caller goes on.
        if (this.#config.username !== undefined) token = await this.#logIn(transport, { endpoint, signal, tls });
        if (signal.aborted) throw neverSent(signal.reason);
        this.#counts.roundTrips++;
        return await this.#send(run, transport, { endpoint, signal, tls, token: token === NO_TOKEN ? undefined : token });
      } catch (thrown) {
        const failure = toFailure(thrown);
        if (tls !== undefined && (failure.reason === "unreachable" || failure.reason === "untrusted")) await this.#doubtTls(tls);
        if (failure.reason === "lost") this.#forget(token);
        if (repairs === MAX_REPAIRS || !(await this.#repair(failure, transport, token))) throw failure;
        this.#counts.retries++;
      }
    }
  }

  close(): void {
    this.#transport.close();
  }

  /**
   * Repairs our side of a failure (old token, wrong transport), unless another request with the same failure has done so.
   *
   * @returns whether the same request may succeed now
   */
  async #repair(failure: EtcdFailure, transport: Transport, token: string | undefined): Promise<boolean> {
    switch (judge(failure)) {
      case "use-grpc":
        return await this.#useGrpc(transport);
      case "needs-user":
        if (this.#config.username === undefined) return this.#config.certFile !== undefined && (await this.#useGrpc(transport));
        return this.#forget(token);
      case "log-in-again":
        return this.#forget(token);
      default:
        return false;
    }
  }

  /**
   * A token names the place of its log-in in etcd's log, and etcd lets a request wait until it has come there. A cluster that was made anew from
   * a backup begins a new log, and may come there never.
   */
  async #send<T>(run: Run<T>, transport: Transport, target: Target): Promise<T> {
    if (target.token === undefined || target.token !== this.#foreignToken) return await run(transport, target);
    using limit = new TryLimit(FOREIGN_TOKEN_MS, target.signal);
    const answer = await run(transport, { ...target, signal: limit.signal });
    this.#foreignToken = undefined;
    return answer;
  }

  /** @returns whether there was one */
  #forget(token: string | undefined): boolean {
    if (token === undefined) return false;
    if (this.#token === token) this.#token = undefined;
    this.#endedToken = token;
    return true;
  }

  async #useGrpc(transport: Transport): Promise<boolean> {
    if (this.#speaksGrpc) return transport !== this.#transport;
    const { createGrpcTransport } = await import("../wire/grpc/transport.ts");
    if (transport === this.#transport) {
      transport.close();
      this.#transport = createGrpcTransport();
      this.#speaksGrpc = true;
    }
    return true;
  }

  /** @returns {@link NO_TOKEN} where etcd has no users, undefined when we have no credentials */
  async #logIn(transport: Transport, target: Target): Promise<string | undefined> {
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

  async #findTokenOr(logIn: () => Promise<string>): Promise<string> {
    if (this.#config.tokenFolder === undefined) return await logIn();
    const { dropToken, findToken, keepToken } = await import("./kept-token.ts");
    const kept = findToken(this.#config, this.#files);
    if (kept !== undefined && kept !== this.#endedToken) return (this.#foreignToken = kept);
    const token = await logIn();
    if (token !== NO_TOKEN) keepToken(token, this.#config, this.#files);
    else if (kept !== undefined) dropToken(this.#config, this.#files);
    return token;
  }

  async #authenticate(transport: Transport, username: string, password: string, target: Target): Promise<string> {
    this.#counts.roundTrips++;
    try {
      return await transport.authenticate(username, password, target);
    } catch (thrown) {
      const failure = toFailure(thrown);
      if (failure.message.includes("authentication is not enabled")) return NO_TOKEN;
      // Even if the log-in was applied, the request that needs it was not sent.
      throw isSurelyNotApplied(failure) ? failure : new EtcdFailure("unreachable", `log in: ${failure.message}`, 0, failure);
    }
  }

  async #readTls(): Promise<TlsMaterial> {
    const now = this.#clock.monotonic();
    if (this.#tls === undefined || now - this.#tls.readAt > TLS_LIFETIME_MS) {
      const { readTlsFiles } = await import("./tls-files.ts");
      const material = readTlsFiles(this.#config, this.#files);
      // The same object for the same files: connections are kept by it.
      const isSame = this.#tls !== undefined && JSON.stringify(material) === JSON.stringify(this.#tls.material);
      this.#tls = { material: isSame && this.#tls !== undefined ? this.#tls.material : material, readAt: now };
    }
    return this.#tls.material;
  }

  /** Checks whether the TLS files are why no connection was made. The next call reads them again, since somebody may be renewing them. */
  async #doubtTls(material: TlsMaterial): Promise<void> {
    this.#tls = { material, readAt: -Infinity };
    const { requireUsable } = await import("./tls-check.ts");
    requireUsable(this.#config, material);
  }
}
