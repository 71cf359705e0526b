/** As whom and how we speak to etcd: TLS files, user and token, gateway or gRPC. */

import type { Clock, Files } from "../../lib/ports.ts";
import type { EtcdConfig } from "../datastore-config.ts";
import type { EtcdFailure } from "./failure.ts";
import { judge } from "./failure.ts";
import { createGateway } from "./gateway.ts";
import type { Target, TlsMaterial, Transport } from "./transport.ts";

/** After how long the TLS files are read again, so that renewed ones are used: milliseconds. */
const TLS_LIFETIME_MS = 60_000;

/** What one process needs to be let in, kept in memory only. */
export class Access {
  readonly #config: EtcdConfig;
  readonly #clock: Clock;
  readonly #files: Files;
  /** Called before each log-in. */
  readonly #onLogIn: () => void;
  #transport: Transport | undefined;
  #speaksGrpc: boolean;
  /** "": the server has no users. */
  #token: string | undefined;
  /** A log-in under way, shared by all who need it. */
  #loggingIn: Promise<string> | undefined;
  #tls: { readonly material: TlsMaterial; readonly readAt: number } | undefined;

  constructor(config: EtcdConfig, ports: { readonly clock: Clock; readonly files: Files }, onLogIn: () => void) {
    this.#config = config;
    this.#clock = ports.clock;
    this.#files = ports.files;
    this.#onLogIn = onLogIn;
    // A certificate and no user: with users switched on, etcd takes the certificate's name for the user over gRPC only.
    this.#speaksGrpc = config.certFile !== undefined && config.username === undefined;
  }

  /** What the next request to an endpoint needs; logs in when there is a user and no token. @throws EtcdFailure, or NetplugError for unreadable files */
  async prepare(endpoint: string, signal: AbortSignal): Promise<{ readonly transport: Transport; readonly target: Target }> {
    const tls = endpoint.startsWith("https:") ? await this.#readTls() : undefined;
    this.#transport ??= this.#speaksGrpc ? await loadGrpc() : createGateway();
    const token = await this.#logIn(this.#transport, { endpoint, signal, tls });
    return { transport: this.#transport, target: { endpoint, signal, tls, token } };
  }

  /**
   * Changes what a failure says is wrong with us.
   *
   * @returns whether the same request may succeed now
   */
  async recover(failure: EtcdFailure): Promise<boolean> {
    switch (judge(failure)) {
      case "log-in-again": {
        const hadToken = this.#token !== undefined && this.#token !== "";
        this.#token = undefined;
        return hadToken;
      }
      case "use-grpc": {
        const mayHelp = failure.reason === "unsupported" || this.#config.certFile !== undefined;
        if (this.#speaksGrpc || !mayHelp) return false;
        this.#transport?.close();
        this.#transport = undefined;
        this.#speaksGrpc = true;
        return true;
      }
      default:
        return false;
    }
  }

  close(): void {
    this.#transport?.close();
  }

  async #logIn(transport: Transport, target: Target): Promise<string | undefined> {
    const { username, password } = this.#config;
    if (username === undefined || password === undefined) return undefined;
    if (this.#token === undefined) {
      this.#loggingIn ??= this.#authenticate(transport, username, password, target).finally(() => {
        this.#loggingIn = undefined;
      });
      this.#token = await this.#loggingIn;
    }
    return this.#token === "" ? undefined : this.#token;
  }

  async #authenticate(transport: Transport, username: string, password: string, target: Target): Promise<string> {
    this.#onLogIn();
    try {
      return await transport.authenticate(username, password, target);
    } catch (thrown) {
      if (thrown instanceof Error && thrown.message.includes("authentication is not enabled")) return "";
      throw thrown;
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
}

async function loadGrpc(): Promise<Transport> {
  const { createGrpcTransport } = await import("./grpc/transport.ts");
  return createGrpcTransport();
}
