/** Reading a result that another plugin printed, in any version. */

import { tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { isJsonObject, isText, type JsonObject } from "../../lib/json.ts";
import { quoteValue } from "../../lib/quote.ts";
import type { CniResult, ResultInterface, ResultIp, ResultRoute } from "./result.ts";
import { type CniVersion, isAtLeast, isSupportedVersion } from "./versions.ts";

/** A document that is no result of its version. The message begins with the place: `ips[0].address`. */
export class ResultError extends SyntaxError {
  override readonly name = "ResultError";
}

/**
 * Reads the result of an ADD.
 *
 * @param version of a result that does not say its own
 * @throws {ResultError}
 */
export function parseResult(document: unknown, version: CniVersion): CniResult {
  if (!isJsonObject(document)) throw new ResultError(`got ${quoteValue(document)}, want an object`);
  const own = document["cniVersion"];
  if (own !== undefined && own !== "" && !(typeof own === "string" && isSupportedVersion(own))) {
    throw new ResultError(`cniVersion: got ${quoteValue(own)}, want a version up to 1.1.0`);
  }
  return isAtLeast(typeof own === "string" && isSupportedVersion(own) ? own : version, "0.3.0")
    ? parseLists(document)
    : parseFamilies(document);
}

/** 0.3.0 and later. `version` of an address, which 1.0.0 dropped, follows from the address. */
function parseLists(document: JsonObject): CniResult {
  return {
    interfaces: readList(document, "interfaces", "").map(([entry, place]) => toInterface(entry, place)),
    ips: readList(document, "ips", "").map(([{ version: _, ...entry }, place]) => toIp(entry, place)),
    routes: readList(document, "routes", "").map(([entry, place]) => toRoute(entry, place)),
    dns: readDns(document),
  };
}

/** 0.1.0 and 0.2.0: one address of each family, each with its routes. */
function parseFamilies(document: JsonObject): CniResult {
  const ips: ResultIp[] = [];
  const routes: ResultRoute[] = [];
  for (const family of ["ip4", "ip6"]) {
    const part = document[family] ?? undefined;
    if (part === undefined) continue;
    if (!isJsonObject(part)) throw new ResultError(`${family}: got ${quoteValue(part)}, want an object`);
    const { ip, routes: _, ...rest } = part;
    ips.push(toIp({ address: ip, ...rest }, family, "ip"));
    routes.push(...readList(part, "routes", `${family}.`).map(([entry, place]) => toRoute(entry, place)));
  }
  return { interfaces: [], ips, routes, dns: readDns(document) };
}

function toInterface(entry: JsonObject, place: string): ResultInterface {
  const name = required(entry["name"], `${place}.name`, isName, "the name of an interface");
  const texts = checkOptional(entry, ["mac", "sandbox", "socketPath", "pciID"], place, isText, "a text");
  return { ...checkOptional(texts, ["mtu"], place, isCount, "a whole number"), name };
}

function toIp(entry: JsonObject, place: string, addressKey = "address"): ResultIp {
  const address = required(entry["address"], `${place}.${addressKey}`, isCidr, "address/length");
  const gateway = checkOptional(entry, ["gateway"], place, isAddress, "an address");
  return { ...checkOptional(gateway, ["interface"], place, isCount, "an index into the interfaces"), address };
}

function toRoute(entry: JsonObject, place: string): ResultRoute {
  const dst = required(entry["dst"], `${place}.dst`, isCidr, "address/length");
  const gateway = checkOptional(entry, ["gw"], place, isAddress, "an address");
  return { ...checkOptional(gateway, ["mtu", "advmss", "priority", "table", "scope"], place, isCount, "a whole number"), dst };
}

function readDns(document: JsonObject): JsonObject | undefined {
  const dns = document["dns"] ?? undefined;
  if (dns === undefined || isJsonObject(dns)) return dns;
  throw new ResultError(`dns: got ${quoteValue(dns)}, want an object`);
}

/** The entries of a list with their places; a list that is absent, or null as Go prints an empty one, has none. */
function readList(holder: JsonObject, key: string, prefix: string): readonly (readonly [entry: JsonObject, place: string])[] {
  const list: unknown = holder[key] ?? [];
  if (!Array.isArray(list)) throw new ResultError(`${prefix}${key}: got ${quoteValue(list)}, want a list`);
  return list.map((entry: unknown, i) => {
    const place = `${prefix}${key}[${i}]`;
    if (!isJsonObject(entry)) throw new ResultError(`${place}: got ${quoteValue(entry)}, want an object`);
    return [entry, place] as const;
  });
}

function required<T>(value: unknown, place: string, is: (value: unknown) => value is T, wanted: string): T {
  if (is(value)) return value;
  throw new ResultError(`${place}: got ${quoteValue(value)}, want ${wanted}`);
}

/** The entry with fields that are right or absent; null and empty text are absent too. */
function checkOptional(
  entry: JsonObject,
  keys: readonly string[],
  place: string,
  is: (value: unknown) => boolean,
  wanted: string,
): JsonObject {
  let checked = entry;
  for (const key of keys) {
    if (!Object.hasOwn(entry, key)) continue;
    const value = entry[key];
    if (value === null || value === "") {
      const { [key]: _, ...rest } = checked;
      checked = rest;
    } else if (!is(value)) {
      throw new ResultError(`${place}.${key}: got ${quoteValue(value)}, want ${wanted}`);
    }
  }
  return checked;
}

function isName(value: unknown): value is string {
  return isText(value) && value !== "";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isAddress(value: unknown): value is string {
  return isText(value) && tryParseAddress(value) !== undefined;
}

function isCidr(value: unknown): value is string {
  return isText(value) && tryParseCidr(value) !== undefined;
}
