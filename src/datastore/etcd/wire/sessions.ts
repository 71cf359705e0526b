/** Kept-alive connections, separate for each set of certificates, and let go of on request. */

import type { TlsMaterial } from "./transport.ts";

/** Sessions of `fetch`. They go straight to etcd: a proxy that is meant for the web is not asked. */
export class Sessions {
  readonly #sessions = new Map<TlsMaterial | undefined, Bun.FetchSession>();

  for(tls: TlsMaterial | undefined): Bun.FetchSession {
    let session = this.#sessions.get(tls);
    if (session === undefined) {
      this.close(); // Renewed certificates: what was opened with the old ones ends.
      session = new Bun.FetchSession(tls === undefined ? { proxy: false } : { proxy: false, tls: toTlsOptions(tls) });
      this.#sessions.set(tls, session);
    }
    return session;
  }

  close(): void {
    for (const session of this.#sessions.values()) session.close();
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
