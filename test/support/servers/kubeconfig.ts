/** Kubeconfig files, as people and components have them. */

import { writeFileSync } from "node:fs";

/** How a user shows who it is. */
export type Credentials =
  { readonly token: string } | { readonly tokenFile: string } | { readonly certFile: string; readonly keyFile: string };

/** Writes one with one cluster, one user and one context. @returns `path` */
export function writeKubeconfig(path: string, cluster: { readonly url: string; readonly caFile: string }, user: Credentials): string {
  const lines = [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- name: test",
    "  cluster:",
    `    server: ${cluster.url}`,
    `    certificate-authority: ${JSON.stringify(cluster.caFile)}`,
    "users:",
    "- name: user",
    "  user:",
    ...toLines(user),
    "contexts:",
    "- name: test",
    "  context:",
    "    cluster: test",
    "    user: user",
    "current-context: test",
  ];
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o600 });
  return path;
}

function toLines(user: Credentials): readonly string[] {
  if ("token" in user) return [`    token: ${JSON.stringify(user.token)}`];
  if ("tokenFile" in user) return [`    tokenFile: ${JSON.stringify(user.tokenFile)}`];
  return [`    client-certificate: ${JSON.stringify(user.certFile)}`, `    client-key: ${JSON.stringify(user.keyFile)}`];
}
