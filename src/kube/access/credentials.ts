/** The credentials of one client, kept fresh. */

import type { Clock, Processes } from "../../lib/ports.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import type { ExecCredential, Identity } from "./identity.ts";
import { isSameIdentity, isSameTls, readIdentity } from "./identity.ts";
import type { AccessSources } from "./in-cluster.ts";
import { resolveAccess } from "./resolve-access.ts";

/** After how long files are read again, so that renewed tokens and certificates are used: milliseconds. */
const FILES_LIFETIME_MS = 60_000;

/** How long before it expires a token of an exec plugin is replaced, in milliseconds. */
const EXPIRY_MARGIN_MS = 10_000;

/** What getting credentials touches of the outside world. */
export interface AccessPorts extends AccessSources {
  readonly clock: Clock;
  readonly processes: Processes;
}

/** Where requests go and as whom. */
export interface Login {
  readonly access: KubeAccess;
  readonly identity: Identity;
}

/** Reads the settings on first use, the files again from time to time, and everything again when the API server refuses us. */
export class Credentials {
  readonly #settings: KubeSettings;
  readonly #ports: AccessPorts;
  #login: Login | undefined;
  #readAt = 0;
  #credential: ExecCredential | undefined;
  /** The read that is under way, shared by all who need it. */
  #reading: Promise<Login> | undefined;

  constructor(settings: KubeSettings, ports: AccessPorts) {
    this.#settings = settings;
    this.#ports = ports;
  }

  /** What the next request shows, where nothing has to be read for it. */
  get known(): Login | undefined {
    const isFresh = this.#login !== undefined && this.#ports.clock.monotonic() - this.#readAt <= FILES_LIFETIME_MS;
    return isFresh && !this.#isExpired() ? this.#login : undefined;
  }

  /** What the next request shows. @throws NetplugError invalidConfig, accessDenied */
  async get(): Promise<Login> {
    const known = this.known;
    if (known !== undefined) return known;
    const login = this.#login;
    if (login === undefined) return await this.#readOnce(undefined);
    if (this.#isExpired()) return await this.#readOnce(login.access);
    // When nothing can be read now, go on with what we have: the API server may still accept it.
    return await this.#readOnce(login.access).catch(() => login);
  }

  /**
   * Looks for better credentials after a refusal: the kubeconfig, token and certificate files are read again, the exec plugin is asked
   * again.
   *
   * @param refused what the refused request showed
   * @returns whether there is something else to show now
   * @throws NetplugError invalidConfig, accessDenied
   */
  async renew({ identity: refused }: Login): Promise<boolean> {
    if (this.#login === undefined || this.#login.identity === refused) {
      this.#credential = undefined;
      await this.#readOnce(undefined);
    }
    return this.#login !== undefined && !isSameIdentity(this.#login.identity, refused);
  }

  #isExpired(): boolean {
    const expiresAt = this.#credential?.expiresAt;
    return expiresAt !== undefined && this.#ports.clock.now() >= expiresAt - EXPIRY_MARGIN_MS;
  }

  #readOnce(known: KubeAccess | undefined): Promise<Login> {
    this.#reading ??= this.#read(known).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(known: KubeAccess | undefined): Promise<Login> {
    const { clock, files } = this.#ports;
    const access = known ?? (await resolveAccess(this.#settings, this.#ports));
    if (this.#isExpired()) this.#credential = undefined;
    if (access.user.exec !== undefined && !hasOwnCredentials(access)) {
      const { runExecPlugin } = await import("./exec-plugin.ts");
      this.#credential ??= await runExecPlugin(access.user.exec, access, this.#ports);
    }
    const identity = this.#keepConnections(readIdentity(access, this.#credential, files));
    this.#login = { access, identity };
    this.#readAt = clock.monotonic();
    return this.#login;
  }

  /** The same certificates are the same object: connections are kept by it. */
  #keepConnections(identity: Identity): Identity {
    const before = this.#login?.identity;
    if (before === undefined || !isSameTls(before.tls, identity.tls)) return identity;
    return isSameIdentity(before, identity) ? before : { ...identity, tls: before.tls };
  }
}

/** A user with a token, a password or a certificate needs no plugin; over plain HTTP nothing is shown. */
function hasOwnCredentials({ user, server }: KubeAccess): boolean {
  return (
    user.token !== undefined ||
    user.tokenFile !== undefined ||
    user.basic !== undefined ||
    user.clientCertificate !== undefined ||
    server.startsWith("http:")
  );
}
