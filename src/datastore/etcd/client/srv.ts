/** Finds a cluster's members by DNS, as etcd's own clients do. */

import { NetplugError } from "../../../lib/errors.ts";
import { codeOf } from "../../../lib/fetch-fault.ts";
import type { Random } from "../../../lib/ports.ts";
import { quote } from "../../../lib/quote.ts";

/** A member of the cluster as DNS names it. @see RFC 2782 */
export interface SrvRecord {
  readonly name: string;
  readonly port: number;
  /** Smaller is asked first. */
  readonly priority: number;
  /** Share among those of the same priority. */
  readonly weight: number;
}

/** @throws when there is no such record or no answer, or when the signal aborts */
export type ResolveSrv = (name: string, signal: AbortSignal) => Promise<readonly SrvRecord[]>;

/** How members are looked up, and which of them count. */
export interface DiscoverOptions {
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Whether certificates are configured: then records of endpoints without TLS are ignored. @default false */
  readonly wantsTls?: boolean;
  /** @default the system's resolver */
  readonly resolveSrv?: ResolveSrv | undefined;
}

const TLS = { service: "_etcd-client-ssl._tcp", scheme: "https" } as const;
const PLAIN = { service: "_etcd-client._tcp", scheme: "http" } as const;

/** What a resolver says when a name surely has no such records. */
const HAS_NONE = /ENOTFOUND|ENODATA/;

/** The target of a record that says: this service is decidedly not available here. */
const NOT_AVAILABLE = ".";

/**
 * Endpoints of a domain, in the order in which they are to be asked. Endpoints without TLS are used only when the domain surely has none with
 * TLS, so that a slow name server does not make us send in the clear; with certificates they are never used.
 *
 * @throws NetplugError tryAgainLater when no name has records, or nobody answers
 * @see RFC 2782
 */
export async function discover(domain: string, options: DiscoverOptions): Promise<readonly string[]> {
  const failures: string[] = [];
  const { random, signal, wantsTls = false, resolveSrv = createResolver() } = options;
  for (const { service, scheme } of wantsTls ? [TLS] : [TLS, PLAIN]) {
    const name = `${service}.${domain}`;
    try {
      const records = (await resolveSrv(name, signal)).filter((record) => record.name !== NOT_AVAILABLE && record.name !== "");
      if (records.length > 0) return inOrder(records, random).map((record) => `${scheme}://${toHost(record.name)}:${record.port}`);
      failures.push(`${name}: no records`);
    } catch (cause) {
      const code = codeOf(cause) || String(cause);
      failures.push(`${name}: ${code}`);
      if (!HAS_NONE.test(code)) break;
    }
  }
  const advice = wantsTls ? "; certificates are configured, so only endpoints with TLS will do" : "";
  throw new NetplugError("tryAgainLater", `discover etcd by ${quote(domain)}: ${failures.join("; ")}${advice}`);
}

/** Asks the name servers given (`address` or `address:port`), or those of the system. */
export function createResolver(servers?: readonly string[]): ResolveSrv {
  return async (name, signal) => {
    const { Resolver } = await import("node:dns/promises");
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: 1_000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const onAbort = (): void => resolver.cancel();
    signal.addEventListener("abort", onAbort);
    try {
      return await resolver.resolveSrv(name);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };
}

/** By priority; among equals at random, those with more weight more often first. */
function inOrder(records: readonly SrvRecord[], random: Random): readonly SrvRecord[] {
  const drawn = records.map((record) => ({ record, draw: random() ** (1 / (record.weight || 0.01)) }));
  return drawn.sort((a, b) => a.record.priority - b.record.priority || b.draw - a.draw).map(({ record }) => record);
}

function toHost(name: string): string {
  return name.endsWith(".") ? name.slice(0, -1) : name;
}
