/** HTTP requests over connections that are kept, separate for each set of certificates. */

import { codeOf } from "../../lib/fetch-fault.ts";
import { VERSION } from "../../lib/version.ts";
import type { KubeAccess } from "../access/access.ts";
import type { Login } from "../access/credentials.ts";
import { type Variables, proxyOfEnvironment } from "../access/environment-proxy.ts";
import type { Identity, TlsMaterial } from "../access/identity.ts";
import type { KubeRequest, Verb } from "../request.ts";
import { toQuery } from "../resource-path.ts";

const HTTP_METHODS: Readonly<Record<Verb, string>> = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
};

/** How the server is reached. */
export interface TransportOptions {
  /**
   * `http2` carries all requests over one connection: one handshake for those that start together. With a server that does not speak it,
   * HTTP/1.1 is used.
   *
   * @default "http1.1"
   */
  readonly protocol?: "http1.1" | "http2" | undefined;
  /** Whether the variables for proxies (`HTTPS_PROXY`, `NO_PROXY`, …) count. A runtime's are not meant for its plugins. @default false */
  readonly usesProxyVariables?: boolean | undefined;
}

/**
 * How a server says that it does not speak HTTP/2: it chooses no protocol, or, as RFC 7301 §3.2 has it, ends the handshake, of which `fetch`
 * tells no more than of any other handshake that failed. Nothing was sent in either case.
 */
const NO_HTTP2: ReadonlySet<string> = new Set(["HTTP2Unsupported", "EPROTO"]);

/** What is kept open, with the same certificates. */
interface Connections {
  readonly tls: TlsMaterial | undefined;
  readonly session: Bun.FetchSession;
  /** Whether an answer has come over one of them. */
  hasAnswered: boolean;
}

/** Sends requests. Throws what `fetch` throws. */
export class Transport {
  readonly #proxyVariables: Variables;
  #speaksHttp2: boolean;
  #connections: Connections | undefined;

  /** @param proxyVariables where variables for proxies count */
  constructor({ protocol = "http1.1" }: Pick<TransportOptions, "protocol">, proxyVariables: Variables) {
    this.#speaksHttp2 = protocol === "http2";
    this.#proxyVariables = proxyVariables;
  }

  /** Sends one request; the body of the answer is not read yet. */
  async send(request: KubeRequest, { access, identity }: Login, signal: AbortSignal): Promise<Response> {
    const connections = this.#connectionsFor(access, identity.tls);
    const speaksHttp2 = this.#speaksHttp2 && identity.tls !== undefined && access.proxyUrl === undefined;
    try {
      const response = await fetch(access.server + request.path + toQuery(request.query), {
        method: HTTP_METHODS[request.verb],
        headers: toHeaders(request, identity),
        ...(request.body !== undefined && { body: toBody(request.body, request) }),
        signal,
        redirect: "manual",
        verbose: false, // a variable could have it print the token
        session: connections.session,
        ...(speaksHttp2 && { protocol: "http2" as const }),
      });
      connections.hasAnswered = true;
      return response;
    } catch (thrown) {
      // So `fetch` says also that what came over a connection could not be decrypted: the request may have been carried out.
      if (connections.hasAnswered && codeOf(thrown) === "EPROTO") throw new Error("connection disturbed", { cause: thrown });
      if (!speaksHttp2 || !NO_HTTP2.has(codeOf(thrown))) throw thrown;
      this.#speaksHttp2 = false;
      return await this.send(request, { access, identity }, signal);
    }
  }

  /** Lets go of idle connections. */
  close(): void {
    this.#connections?.session.close();
    this.#connections = undefined;
  }

  #connectionsFor(access: KubeAccess, tls: TlsMaterial | undefined): Connections {
    if (this.#connections === undefined || this.#connections.tls !== tls) {
      this.close(); // Renewed certificates: what was opened with the old ones ends.
      this.#connections = {
        tls,
        session: new Bun.FetchSession({ proxy: this.#toProxy(access), ...(tls !== undefined && { tls: toTlsOptions(tls) }) }),
        hasAnswered: false,
      };
    }
    return this.#connections;
  }

  /** What `NO_PROXY` lists is excepted from the proxy of the environment, not from that of the cluster: as kubectl has it. */
  #toProxy({ server, proxyUrl }: KubeAccess): Bun.FetchProxyOption | undefined {
    if (proxyUrl !== undefined) return { url: proxyUrl, respectNoProxy: false };
    const proxy = proxyOfEnvironment(server, this.#proxyVariables);
    if (proxy === undefined) return false;
    // A session cannot be made with what is no URL, even when the server is excepted.
    return URL.canParse(proxy.url) ? { url: proxy.url, respectNoProxy: true } : undefined;
  }
}

/**
 * When a kept connection closes under a PUT or DELETE, `fetch` sends it again by itself, although the first one may have been carried out:
 * an update would then conflict with the revision that it made itself. A stream is a body that `fetch` cannot repeat.
 */
function toBody(body: string, { verb, isRepeatable }: KubeRequest): string | ReadableStream<Uint8Array> {
  if (isRepeatable || (verb !== "update" && verb !== "delete")) return body;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(body));
      controller.close();
    },
  });
}

function toHeaders(request: KubeRequest, { authorization, impersonate }: Identity): Record<string, string> {
  const { body, contentType, accept = "application/json" } = request;
  const headers: Record<string, string> = { accept, "user-agent": `netplug/${VERSION}` };
  if (body !== undefined) headers["content-type"] = contentType ?? "application/json";
  if (authorization !== undefined) headers["authorization"] = authorization;
  if (impersonate !== undefined) {
    headers["impersonate-user"] = toHeaderBytes(impersonate.user);
    if (impersonate.uid !== undefined) headers["impersonate-uid"] = toHeaderBytes(impersonate.uid);
    if (impersonate.group !== undefined) headers["impersonate-group"] = toHeaderBytes(impersonate.group);
  }
  return headers;
}

/** The API server reads names as UTF-8; `fetch` writes one byte for each character, and refuses what has no such byte. */
function toHeaderBytes(text: string): string {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** Whatever is named as an authority is trusted, also an intermediate one without its root: as client-go has it. */
function toTlsOptions({
  ca,
  cert,
  key,
  serverName,
  skipsVerify,
}: TlsMaterial): Bun.TLSOptions & { readonly allowPartialTrustChain?: true } {
  return {
    ...(ca !== undefined && { ca, allowPartialTrustChain: true }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(serverName !== undefined && { serverName }),
    // Said also where it is the default, which a variable could turn off.
    rejectUnauthorized: !skipsVerify,
  };
}
