/** For tests: what an API server was asked, by its own audit log. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiServer } from "../support/servers/api-server.ts";

/** Every request with its address, without bodies. */
const POLICY = { apiVersion: "audit.k8s.io/v1", kind: "Policy", omitStages: ["RequestReceived"], rules: [{ level: "Metadata" }] };

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly requestReceivedTimestamp: string;
}

export interface Audit extends Disposable {
  /** Flags for kube-apiserver. */
  readonly args: readonly string[];
  /** What netplug asked since the last call, in the order in which it came: `get /apis/…`. */
  take(server: ApiServer): Promise<readonly string[]>;
}

export function createAudit(): Audit {
  const folder = mkdtempSync(join(tmpdir(), "npgt-audit-"));
  const [policy, log] = [join(folder, "policy.json"), join(folder, "audit.log")];
  writeFileSync(policy, JSON.stringify(POLICY));
  let fences = 0;
  let taken = 0;
  const read = (): readonly AuditEvent[] => {
    const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as AuditEvent);
  };
  return {
    args: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    async take(server) {
      // The log is written when a request is over, perhaps a moment after its answer: a request of our own comes behind it.
      const fence = `/fence-${++fences}`;
      await server.kubectl(["get", "--raw", fence]).catch(() => undefined);
      let events = read();
      while (!events.some(({ requestURI }) => requestURI === fence)) events = read();
      const ours = events.filter(({ userAgent = "" }) => userAgent.startsWith("netplug/"));
      const fresh = ours.slice(taken);
      taken = ours.length;
      return fresh
        .toSorted((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1))
        .map(({ verb, requestURI }) => `${verb} ${decodeURIComponent(requestURI)}`);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
