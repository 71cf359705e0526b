/** The API server's address as people write it. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { proxyOfEnvironment } from "./environment-proxy.ts";

/**
 * Brings a server's address into the form `scheme://host[:port][/prefix]`.
 *
 * @param usesTls what a missing scheme means
 * @param where for messages: `k8s_api_root`, `server of cluster "x" in …`
 * @throws NetplugError invalidConfig, which repeats the text only when it cannot hold a password
 */
export function normaliseServer(text: string, usesTls: boolean, where: string): string {
  const withScheme = text.includes("://") ? text : `${usesTls ? "https" : "http"}://${text}`;
  if (withScheme.includes("@")) {
    throw new NetplugError("invalidConfig", `read ${where}: got a URL with user or password, want them in the kubeconfig's user`);
  }
  if (HALF_SCHEME.test(text)) throw new NetplugError("invalidConfig", `read ${where}: got ${quote(text)}, want https://host:port`);
  const url = requireServer(withScheme, where, text);
  return `${url.protocol}//${url.host}${withoutSlashes(url.pathname)}`;
}

/** `https:/10.0.0.1`, which would be a path of a host called `https`. */
const HALF_SCHEME = /^https?:\/(?!\/)/i;

/** `https://fd00::1:6443` */
const BARE_IPV6 = /^https?:\/\/[\da-f]{0,4}(?::[\da-f]{0,5}){2,8}(?:\/|$)/i;

/**
 * @param shown what messages show of it
 * @throws NetplugError invalidConfig for what is no server's address
 */
export function requireServer(withScheme: string, where: string, shown: string = withScheme): URL {
  const url = URL.parse(withScheme);
  const isOther = url !== null && isOtherIPv4(withScheme, url);
  const hasMore = withScheme.includes("@") || (url !== null && (url.search !== "" || url.hash !== ""));
  if (url === null || isOther || hasMore || (url.protocol !== "http:" && url.protocol !== "https:")) {
    const brackets = BARE_IPV6.test(withScheme) ? ", an IPv6 address in brackets" : "";
    const zeros = isOther ? ", IPv4 without leading zeros" : "";
    throw new NetplugError("invalidConfig", `read ${where}: got ${quote(shown)}, want https://host:port${brackets}${zeros}`);
  }
  return url;
}

/** What is written between the slashes, or user and password, and a port or path; `URL` leaves out blanks at the end, as a file's last newline. */
const WRITTEN_HOST = /^[^:]*:[/\\]*(?:[^/\\?#]*@)?([^/\\:?#\s]*)/;

/** Whether the host is not written as the address that it is to `URL`: `010.0.0.1` is 8.0.0.1, `127.1` is 127.0.0.1, and `10.0.0.1.` has a dot too many. */
export function isOtherIPv4(withScheme: string, { hostname }: URL): boolean {
  return /^[\d.]+$/.test(hostname) && WRITTEN_HOST.exec(withScheme)?.[1] !== hostname;
}

/** As {@link normaliseServer}, without `/api` and what follows: people copy the address of a request. */
export function normaliseApiRoot(text: string, usesTls: boolean, where: string): string {
  const at = text.indexOf("/api/");
  const root = at >= 0 ? text.slice(0, at) : text.endsWith("/api") ? text.slice(0, -"/api".length) : text;
  return normaliseServer(root, usesTls, where);
}

/** `https://[fd00::1]:443`. */
export function toServerUrl(host: string, port: string): string {
  return `https://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

/**
 * The server and how it is reached, for messages: `https://api:6443 by proxy http://proxy:3128`. The password of a proxy is left out.
 *
 * @param env where variables for proxies count; whether `NO_PROXY` takes the server out is not looked at
 */
export function toServerText(
  { server, proxyUrl }: { readonly server: string; readonly proxyUrl: string | undefined },
  env: Readonly<Record<string, string | undefined>> = {},
): string {
  const proxy = proxyUrl === undefined ? undefined : URL.parse(proxyUrl);
  if (proxy !== undefined && proxy !== null) return `${server} by proxy ${proxy.origin}`;
  const variable = proxyOfEnvironment(server, env)?.variable;
  return variable === undefined ? server : `${server}, perhaps by the proxy of ${variable}`;
}

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
