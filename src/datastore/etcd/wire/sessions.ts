/** Kept-alive connections, separate for each set of certificates, and let go of on request. */

import type { TlsMaterial } from "./transport.ts";

/** What is kept open, with the same certificates. */
interface Connections {
  readonly session: Bun.FetchSession;
  /** Whether a reply has come over one of them. */
  hasReplied: boolean;
}

/** Sessions of `fetch`. They go straight to etcd: a proxy that is meant for the web is not asked. */
export class Sessions {
  readonly #sessions = new Map<TlsMaterial | undefined, Connections>();

  for(tls: TlsMaterial | undefined): Connections {
    let connections = this.#sessions.get(tls);
    if (connections === undefined) {
      this.close(); // Renewed certificates: what was opened with the old ones ends.
      const session = new Bun.FetchSession(tls === undefined ? { proxy: false } : { proxy: false, tls: toTlsOptions(tls) });
      connections = { session, hasReplied: false };
      this.#sessions.set(tls, connections);
    }
    return connections;
  }

  close(): void {
    for (const { session } of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }
}

/** What both of Bun's clients know; the type of one lacks the last. */
interface TlsOptions {
  ca?: string[];
  cert?: string;
  key?: string;
  allowPartialTrustChain?: true;
}

/** Options with no key that is undefined. Whatever is named as an authority is trusted, also without its root: as `etcdctl` has it. */
export function toTlsOptions({ ca, cert, key }: TlsMaterial): TlsOptions {
  return {
    ...(ca === undefined ? {} : { ca: [...ca], allowPartialTrustChain: true }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
