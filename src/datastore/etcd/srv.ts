/** Finds a cluster's members by DNS, as etcd's own clients do. */

import { NetplugError } from "../../lib/errors.ts";

export interface SrvRecord {
  readonly name: string;
  readonly port: number;
  /** Smaller is asked first. */
  readonly priority: number;
}

/** @throws when there is no such record, or no answer */
export type ResolveSrv = (name: string) => Promise<readonly SrvRecord[]>;

/** Looked up in this order; both may exist. */
const SERVICES = [
  { service: "_etcd-client-ssl._tcp", scheme: "https" },
  { service: "_etcd-client._tcp", scheme: "http" },
] as const;

/**
 * Endpoints of a domain; those over TLS come alone when there are any, so that nothing is sent in the clear by mistake.
 *
 * @throws NetplugError tryAgainLater when neither name has records
 */
export async function discover(domain: string, resolveSrv: ResolveSrv = systemResolver): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const { service, scheme } of SERVICES) {
    const name = `${service}.${domain}`;
    try {
      const records = await resolveSrv(name);
      const sorted = [...records].sort((a, b) => a.priority - b.priority);
      if (sorted.length > 0) return sorted.map((record) => `${scheme}://${toHost(record.name)}:${record.port}`);
      failures.push(`${name}: no records`);
    } catch (cause) {
      failures.push(`${name}: ${codeOf(cause)}`);
    }
  }
  throw new NetplugError("tryAgainLater", `discover etcd by "${domain}": ${failures.join("; ")}`);
}

async function systemResolver(name: string): Promise<readonly SrvRecord[]> {
  const { Resolver } = await import("node:dns/promises");
  return await new Resolver({ timeout: 1_000, tries: 2 }).resolveSrv(name);
}

function toHost(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}

function codeOf(thrown: unknown): string {
  const { code } = thrown as { code?: unknown };
  return typeof code === "string" ? code : String(thrown);
}
