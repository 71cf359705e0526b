/** What some accounts have asked an API server for, by its own log. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}

/** The log of one API server, about service accounts of `kube-system`. */
export class AuditLog {
  readonly #path: string;
  readonly #policy: string;

  /** @param folder for the server's log and what it is to write there */
  constructor(folder: string, accounts: readonly string[]) {
    this.#path = join(folder, "audit.log");
    this.#policy = join(folder, "audit.json");
    const users = accounts.map((name) => `system:serviceaccount:kube-system:${name}`);
    const rules = [{ level: "Metadata", users }, { level: "None" }];
    writeFileSync(this.#policy, JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"], rules }));
  }

  /** For kube-apiserver. */
  get flags(): readonly string[] {
    return [`--audit-policy-file=${this.#policy}`, `--audit-log-path=${this.#path}`];
  }

  /** Each kind of request once, as `patch pods/status`; of what is no resource the path; with ` refused` behind what was. */
  askedBy(account: string): readonly string[] {
    const events = readFileSync(this.#path, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditEvent);
    return [...new Set(events.filter(({ user }) => user.username.endsWith(`:${account}`)).map(toText))].sort();
  }
}

function toText({ verb, requestURI, objectRef, responseStatus }: AuditEvent): string {
  const { resource, subresource } = objectRef ?? {};
  const what = resource === undefined ? requestURI : subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${what}${responseStatus?.code === 403 ? " refused" : ""}`;
}

/** What a role permits, as {@link AuditLog.askedBy} says it. */
export async function rightsOf(cluster: Cluster, role: string): Promise<readonly string[]> {
  const { rules } = JSON.parse(await cluster.kubectl(["get", role, "-o", "json"])) as {
    readonly rules: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
  };
  return rules.flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)));
}
