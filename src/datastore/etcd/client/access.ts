/** How we get in to etcd: with which TLS files, as which user, by gateway or gRPC. */

import type { Clock, Connect, Files } from "../../../lib/ports.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";
import { classify, type EtcdFailure, neverSent, STATUS } from "../protocol/failure.ts";
import { toFailure } from "../wire/fetch-failure.ts";
import { PlainHttp } from "../wire/gateway/plain-http.ts";
import { createGateway } from "../wire/gateway/transport.ts";
import type { Target, Transport } from "../wire/transport.ts";
import type { LogIn } from "./log-in.ts";
import type { TlsFiles } from "./tls-files.ts";

/** Sequential round trips, and retries among them. */
export interface RequestCounts {
  roundTrips: number;
  retries: number;
}

/** What getting in to etcd touches of the outside world. */
export interface AccessPorts {
  readonly clock: Clock;
  readonly files: Files;
  /** For processes that live for one request or two; without it everything goes over `fetch`. */
  readonly connect?: Connect | undefined;
}

/** The request to an endpoint, after the log-in. */
export type Run<T> = (transport: Transport, target: Target) => Promise<T>;

/** What one request survives of new tokens, or of users that somebody changes; the other transport is not one of these, and comes once. */
const MAX_REPAIRS = 2;

/** One process's way in, kept in memory. What only TLS or a user needs is loaded where there is one. */
export class Access {
  readonly #config: EtcdConfig;
  readonly #ports: AccessPorts;
  readonly #counts: RequestCounts;
  #transport: Transport;
  #speaksGrpc = false;
  #logIn: Promise<LogIn> | undefined;
  #tlsFiles: Promise<TlsFiles> | undefined;

  constructor(config: EtcdConfig, ports: AccessPorts, counts: RequestCounts) {
    this.#config = config;
    this.#ports = ports;
    this.#counts = counts;
    this.#transport = createGateway(ports.connect === undefined ? undefined : new PlainHttp(ports.connect, ports.clock));
  }

  /**
   * One try at one endpoint; again at once when all that is wrong is an old token or the wrong transport.
   *
   * @throws EtcdFailure, or NetplugError for unreadable files
   */
  async call<T>(endpoint: string, signal: AbortSignal, run: Run<T>): Promise<T> {
    for (let repairs = 0; ;) {
      const tlsFiles = endpoint.startsWith("https:") ? await this.#openTlsFiles() : undefined;
      const tls = tlsFiles?.read();
      const transport = this.#transport;
      let logIn: LogIn | undefined;
      let token: string | undefined;
      try {
        // No await without a user: so the request is sent before the caller goes on.
        if (this.#config.username !== undefined) {
          logIn = await this.#openLogIn();
          token = await logIn.getToken(transport, { endpoint, signal, tls });
        }
        if (signal.aborted) throw neverSent(signal.reason);
        this.#counts.roundTrips++;
        const send = (target: Target): Promise<T> => run(transport, target);
        return await (logIn === undefined ? send({ endpoint, signal, tls }) : logIn.sendAs(token, { endpoint, signal, tls }, send));
      } catch (thrown) {
        let failure = toFailure(thrown);
        if (tls !== undefined && mayBeOfFiles(failure)) failure = (await tlsFiles?.doubt(tls, failure)) ?? failure;
        if (failure.reason === "lost") logIn?.forget(token);
        if (repairs === MAX_REPAIRS || !(await this.#repair(failure, transport, () => logIn?.forget(token) === true))) throw failure;
        if (this.#transport === transport) repairs++;
        this.#counts.retries++;
      }
    }
  }

  /** The same failure, as {@link call} would tell it: for a watch that has begun, and fails later. */
  async explain(endpoint: string, failure: EtcdFailure): Promise<EtcdFailure> {
    if (!endpoint.startsWith("https:") || !mayBeOfFiles(failure)) return failure;
    const tlsFiles = await this.#openTlsFiles();
    return await tlsFiles.doubt(tlsFiles.read(), failure);
  }

  close(): void {
    this.#transport.close();
  }

  /**
   * Repairs our side of a failure (old token, wrong transport), unless another request with the same failure has done so.
   *
   * @param forget forgets the request's token; false when it had none
   * @returns whether the same request may succeed now
   */
  async #repair(failure: EtcdFailure, transport: Transport, forget: () => boolean): Promise<boolean> {
    switch (classify(failure)) {
      case "use-grpc":
        return await this.#useGrpc(transport);
      case "needs-user":
        if (this.#config.username === undefined) return this.#config.certFile !== undefined && (await this.#useGrpc(transport));
        return forget();
      case "log-in-again":
        // A certificate stands for no token. Its request was under way while somebody changed users.
        return this.#config.username === undefined || forget();
      default:
        return false;
    }
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

  /** One for all requests: a log-in under way is shared by all who need it. */
  #openLogIn(): Promise<LogIn> {
    this.#logIn ??= import("./log-in.ts").then(
      ({ LogIn: Opened }) => new Opened(this.#config, this.#ports.files, () => void this.#counts.roundTrips++),
    );
    return this.#logIn;
  }

  #openTlsFiles(): Promise<TlsFiles> {
    this.#tlsFiles ??= import("./tls-files.ts").then(({ TlsFiles: Opened }) => new Opened(this.#config, this.#ports));
    return this.#tlsFiles;
  }
}

/** They may be no good, or of a user who may not do this. */
function mayBeOfFiles({ reason, status }: EtcdFailure): boolean {
  return reason === "unreachable" || reason === "untrusted" || status === STATUS.permissionDenied;
}
