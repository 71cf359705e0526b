/** What the codes mean of errors that Bun's `fetch` and its sockets throw. */

/** Of errors that come before the first byte of a request is sent. */
const NEVER_SENT: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  FailedToOpenSocket: "cannot connect",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "name server does not answer",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
  EADDRNOTAVAIL: "cannot assign requested address",
  EMFILE: "too many open files",
};

/** OpenSSL's verification codes and what else a failed handshake is called. */
const HANDSHAKE = /CERT|ISSUER|CRL|ERR_TLS|ERR_SSL|ERR_BORINGSSL|SIGNATURE|EPROTO|HOSTNAME|PATH_LENGTH|INVALID_CA|INVALID_PURPOSE/;

/** The code of something thrown; "" for one that has none. */
export function codeOf(thrown: unknown): string {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Why a request was surely never sent; undefined where that is not known. */
export function whyNeverSent(code: string): string | undefined {
  return Object.hasOwn(NEVER_SENT, code) ? NEVER_SENT[code] : undefined;
}

/** Whether the TLS handshake failed. */
export function isHandshakeCode(code: string): boolean {
  return HANDSHAKE.test(code);
}
