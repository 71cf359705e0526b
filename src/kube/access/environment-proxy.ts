/** The proxy that the environment names for a server, by kubectl's rules; those of `fetch` differ. */

/** A URL shows `::ffff:127.0.0.1` as `::ffff:7f00:1`. */
const LOCAL_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Of the environment. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** A proxy, and who named it. */
export interface EnvironmentProxy {
  readonly variable: string;
  readonly url: string;
}

/**
 * `HTTPS_PROXY` or `HTTP_PROXY`, as the server's scheme is, in capitals before small letters, but none for `localhost` and loopback addresses.
 * `ALL_PROXY` does not count. Whether `NO_PROXY` takes the server out is not looked at.
 */
export function proxyOfEnvironment(server: string, env: Variables): EnvironmentProxy | undefined {
  if (LOCAL_HOST.test(URL.parse(server)?.hostname ?? "")) return undefined;
  const name = server.startsWith("https:") ? "HTTPS_PROXY" : "HTTP_PROXY";
  for (const variable of [name, name.toLowerCase()]) {
    const text = env[variable] ?? "";
    if (text !== "") return { variable, url: text.includes("://") ? text : `http://${text}` };
  }
  return undefined;
}
