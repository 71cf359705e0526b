/** The plugin's kubeconfig. */

import type { KubeAccess } from "../../kube/access/access.ts";

/** It holds a token. */
export const KUBECONFIG_PERMISSIONS = 0o600;

/** How the plugin reaches the API server. */
export interface ServerAccess extends Pick<KubeAccess, "server" | "skipsTlsVerify" | "tlsServerName" | "proxyUrl"> {
  /** PEM; undefined: the roots of the system. */
  readonly ca: string | undefined;
}

/** JSON is YAML too, and the plugin reads it in a tenth of the time. */
export function toKubeconfig({ server, ca, skipsTlsVerify, tlsServerName, proxyUrl }: ServerAccess, user: string, token: string): string {
  const cluster = {
    server,
    ...(skipsTlsVerify
      ? { "insecure-skip-tls-verify": true }
      : ca !== undefined && { "certificate-authority-data": new TextEncoder().encode(ca).toBase64() }),
    ...(tlsServerName !== undefined && { "tls-server-name": tlsServerName }),
    ...(proxyUrl !== undefined && { "proxy-url": proxyUrl }),
  };
  const context = `${user}@local`;
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "local", cluster }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: context, context: { cluster: "local", user } }],
    "current-context": context,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
