/** Kept-alive connections, separate for each set of certificates, and let go of on request. */

import type { TlsMaterial } from "./transport.ts";

/** What is kept open, with the same certificates. */
interface Connections {
  readonly tls: TlsMaterial | undefined;
  readonly session: Bun.FetchSession;
  /** Whether a reply has come over one of them. */
  hasReplied: boolean;
}

/** The session of `fetch`. It goes straight to etcd: a proxy that is meant for the web is not asked. */
export class Sessions {
  #connections: Connections | undefined;

  for(tls: TlsMaterial | undefined): Connections {
    if (this.#connections === undefined || this.#connections.tls !== tls) {
      this.close(); // Renewed certificates: what was opened with the old ones ends.
      const session = new Bun.FetchSession({ proxy: false, tls: toTlsOptions(tls) });
      this.#connections = { tls, session, hasReplied: false };
    }
    return this.#connections;
  }

  close(): void {
    this.#connections?.session.close();
    this.#connections = undefined;
  }
}

/** What both of Bun's clients know; the type of one lacks the last. */
interface TlsOptions {
  rejectUnauthorized: true;
  ca?: string[];
  cert?: string;
  key?: string;
  allowPartialTrustChain?: true;
}

/** Options with no key that is undefined. Whatever is named as an authority is trusted, also without its root: as `etcdctl` has it. */
export function toTlsOptions({ ca, cert, key }: Partial<TlsMaterial> = {}): TlsOptions {
  return {
    // Said although it is the default, which a variable could turn off.
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca: [...ca], allowPartialTrustChain: true }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
