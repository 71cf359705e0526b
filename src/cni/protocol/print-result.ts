/** A result as each CNI version prints it. */

import { NetplugError } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { CniResult, ResultIp, ResultRoute } from "./result.ts";
import { type CniVersion, isAtLeast } from "./versions.ts";

/** Fields that came with 1.1.0. */
const NEW_INTERFACE_FIELDS: readonly string[] = ["mtu", "socketPath", "pciID"];
const NEW_ROUTE_FIELDS: readonly string[] = ["mtu", "advmss", "priority", "table", "scope"];

/**
 * The document that ADD prints. Older versions lose what they have no place for.
 *
 * @throws NetplugError incompatibleVersion for a result without address in 0.1.0 or 0.2.0, whose form is about addresses only
 */
export function toResultDocument(result: CniResult, version: CniVersion): JsonObject {
  return isAtLeast(version, "0.3.0") ? toLists(result, version) : toFamilies(result, version);
}

function toLists({ interfaces, ips, routes, dns }: CniResult, version: CniVersion): JsonObject {
  const hasIpVersion = !isAtLeast(version, "1.0.0");
  const document: Record<string, unknown> = { cniVersion: version };
  if (interfaces.length > 0) document["interfaces"] = toEntries(interfaces, version, NEW_INTERFACE_FIELDS);
  document["ips"] = hasIpVersion ? withIpVersion(ips) : ips;
  if (routes.length > 0) document["routes"] = toEntries(routes, version, NEW_ROUTE_FIELDS);
  if (hasIpVersion || (dns !== undefined && Object.keys(dns).length > 0)) document["dns"] = dns ?? {};
  return document;
}

/** Entries without the fields that came with 1.1.0, where the version is older. */
function toEntries(entries: readonly JsonObject[], version: CniVersion, newFields: readonly string[]): readonly JsonObject[] {
  if (isAtLeast(version, "1.1.0")) return entries;
  const older: JsonObject[] = [];
  for (const entry of entries) older.push(without(entry, newFields));
  return older;
}

function withIpVersion(ips: readonly ResultIp[]): readonly JsonObject[] {
  const entries: JsonObject[] = [];
  for (const ip of ips) entries.push({ version: familyOf(ip.address), ...ip });
  return entries;
}

function toFamilies({ ips, routes, dns }: CniResult, version: CniVersion): JsonObject {
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
function toFamily(family: "4" | "6", ips: readonly ResultIp[], routes: readonly ResultRoute[]): JsonObject | undefined {
  const first = ips.find(({ address }) => familyOf(address) === family);
  if (first === undefined) return undefined;
  const { address, interface: _, ...rest } = first;
  const own = routes.filter(({ dst }) => familyOf(dst) === family).map((route) => without(route, NEW_ROUTE_FIELDS));
  return { ip: address, ...rest, ...(own.length > 0 && { routes: own }) };
}

/** For text that is known to be an address with its prefix length. */
function familyOf(cidr: string): "4" | "6" {
  return cidr.includes(":") ? "6" : "4";
}

function without(entry: JsonObject, fields: readonly string[]): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const field of Object.keys(entry)) if (!fields.includes(field)) kept[field] = entry[field];
  return kept;
}
