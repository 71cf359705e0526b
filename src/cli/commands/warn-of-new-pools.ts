/** What a command that made pools says of them. */

import { type IPPoolSpec, withPoolDefaults } from "../../api/ip-pool.ts";
import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import type { PoolWarning } from "../../ipam/admin/pools/pool-warnings.ts";
import { poolsOverNodes } from "../../ipam/admin/pools/pools-over-nodes.ts";
import { poolsOverServices, type ServiceCidr } from "../../ipam/admin/pools/pools-over-services.ts";
import { IP_RESERVATIONS } from "../../ipam/cluster.ts";
import { NetplugError } from "../../lib/errors.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { type Cli, note, type OpenKube } from "../io.ts";
import { toWarningText } from "../output/pool-warning.ts";

/** Fields that ask something of the node agent, with what they are when they do not. Without one, nobody exports routes by BGP either. */
const FOR_AGENT = {
  vxlanMode: "Never",
  ipipMode: "Never",
  natOutgoing: false,
} as const satisfies Partial<IPPoolSpec>;

/** Whoever comes from another plugin takes routes between nodes and NAT for made. */
function withoutEffectYet({ metadata, spec }: Resource<"IPPool", IPPoolSpec>): readonly PoolWarning[] {
  const asked = Object.entries(FOR_AGENT).flatMap(([field, without]) => {
    const value = spec[field as keyof typeof FOR_AGENT] ?? without;
    return value === without ? [] : [`${field} ${value}`];
  });
  if (asked.length === 0) return [];
  const detail = `${asked.join(" and ")} ${asked.length === 1 ? "has" : "have"} no effect as long as there is no node agent; docs/install.md says what to do meanwhile`;
  return [{ kind: "IPPool", object: metadata.name, detail }];
}

/** Warns of those that hold addresses of nodes or of Services, and of those that ask for what nobody does yet. */
export async function warnOfNewPools(
  cli: Cli,
  { datastore, openKube }: { readonly datastore: Datastore; readonly openKube: OpenKube | undefined },
  made: readonly Resource<"IPPool", IPPoolSpec>[],
): Promise<void> {
  if (made.length === 0) return;
  for (const warning of made.flatMap(withoutEffectYet)) note(cli, toWarningText(warning));
  // Whoever makes pools need not be allowed to read what they are compared with; but may have waited for it.
  const onUnread = ({ kind, message }: NetplugError, what: string): void => {
    if (kind !== "accessDenied") note(cli, `pools are not compared with ${what}: ${message}`);
  };
  try {
    const [nodes, reservations] = await datastore.read([{ type: "list", kind: "Node" }, IP_RESERVATIONS], { onDamage: () => {} });
    const pools = made.map(({ metadata, spec }) => ({ name: metadata.name, cidr: parsePrefix(spec.cidr), spec: withPoolDefaults(spec) }));
    const services = openKube === undefined ? [] : await readServices(openKube, (reason) => onUnread(reason, "Services"));
    const warnings = [...poolsOverNodes(pools, nodes, reservations), ...poolsOverServices(pools, services, reservations)];
    for (const warning of warnings) note(cli, toWarningText(warning));
  } catch (thrown) {
    // The pools are made.
    if (!(thrown instanceof NetplugError)) throw thrown;
    onUnread(thrown, "nodes");
  }
}

async function readServices(openKube: OpenKube, onUnread: (reason: NetplugError) => void): Promise<readonly ServiceCidr[]> {
  return await (await import("../kubernetes/service-cidrs.ts")).readServiceCidrs(openKube, onUnread);
}
