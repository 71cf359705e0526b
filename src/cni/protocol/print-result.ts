/** A result as each CNI version prints it. */

import { NetplugError } from "../../lib/errors.ts";
import type { CniResult, ResultIp, ResultRoute } from "./result.ts";
import { type CniVersion, isAtLeast } from "./versions.ts";

type Document = Readonly<Record<string, unknown>>;

/** Fields that came with 1.1.0. */
const NEW_INTERFACE_FIELDS: readonly string[] = ["mtu", "socketPath", "pciID"];
const NEW_ROUTE_FIELDS: readonly string[] = ["mtu", "advmss", "priority", "table", "scope"];

/**
 * The document that ADD prints. Older versions lose what they have no place for.
 *
 * @throws NetplugError incompatibleVersion for a result without address in 0.1.0 or 0.2.0, whose form is about addresses only
 */
export function toResultDocument(result: CniResult, version: CniVersion): Document {
  return isAtLeast(version, "0.3.0") ? toLists(result, version) : toFamilies(result, version);
}

function toLists({ interfaces, ips, routes, dns }: CniResult, version: CniVersion): Document {
  const hasNewFields = isAtLeast(version, "1.1.0");
  const hasIpVersion = !isAtLeast(version, "1.0.0");
  const hasDns = hasIpVersion || (dns !== undefined && Object.keys(dns).length > 0);
  return {
    cniVersion: version,
    ...(interfaces.length > 0 && { interfaces: interfaces.map((entry) => (hasNewFields ? entry : without(entry, NEW_INTERFACE_FIELDS))) }),
    ips: ips.map((ip) => (hasIpVersion ? { version: familyOf(ip.address), ...ip } : ip)),
    ...(routes.length > 0 && { routes: routes.map((entry) => (hasNewFields ? entry : without(entry, NEW_ROUTE_FIELDS))) }),
    ...(hasDns && { dns: dns ?? {} }),
  };
}

function toFamilies({ ips, routes, dns }: CniResult, version: CniVersion): Document {
  const ip4 = toFamily("4", ips, routes);
  const ip6 = toFamily("6", ips, routes);
  if (ip4 === undefined && ip6 === undefined) {
    throw new NetplugError(
      "incompatibleVersion",
      `print result in CNI ${version}: got no address, want at least one; set cniVersion to 0.3.0 or later`,
    );
  }
  return { cniVersion: version, ...(ip4 !== undefined && { ip4 }), ...(ip6 !== undefined && { ip6 }), dns: dns ?? {} };
}

/** The first address of a family with the routes of that family. */
function toFamily(family: "4" | "6", ips: readonly ResultIp[], routes: readonly ResultRoute[]): Document | undefined {
  const first = ips.find(({ address }) => familyOf(address) === family);
  if (first === undefined) return undefined;
  const { address, interface: _, ...rest } = first;
  const own = routes.filter(({ dst }) => familyOf(dst) === family).map((route) => without(route, NEW_ROUTE_FIELDS));
  return { ip: address, ...rest, ...(own.length > 0 && { routes: own }) };
}

/** Of text that is known to be an address with its prefix length. */
function familyOf(cidr: string): "4" | "6" {
  return cidr.includes(":") ? "6" : "4";
}

function without(entry: Document, fields: readonly string[]): Document {
  return Object.fromEntries(Object.entries(entry).filter(([field]) => !fields.includes(field)));
}
