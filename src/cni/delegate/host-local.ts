/** Checks the keys in which `host-local` looks for ranges, so that a fault there is reported like one in a key of ours. */

import { tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quoteValue } from "../../lib/quote.ts";
import { podCidrFamilyOf } from "./pod-cidr-keywords.ts";

/** What is wrong with one key. */
interface RangeFault {
  /** Full path of the key. */
  readonly place: string;
  readonly found: unknown;
  readonly wanted: string;
}

const SUBNET = 'address/length, "usePodCidr" or "usePodCidrIPv6"';

/** Refuses ranges that make no sense, for the verbs that need them. @throws NetplugError invalidConfig */
export function requireRanges(type: string, config: JsonObject): void {
  const fault = type === "host-local" ? findRangeFault(config) : undefined;
  if (fault === undefined) return;
  throw new NetplugError("invalidConfig", `read "${fault.place}": got ${quoteValue(fault.found)}, want ${fault.wanted}`);
}

/** The first invalid range, in the order in which `host-local` reads them. */
export function findRangeFault({ ipam, runtimeConfig }: JsonObject): RangeFault | undefined {
  const own = isJsonObject(ipam) ? (findFaultOfRange(ipam, "ipam", false) ?? findFaultOfSets(ipam["ranges"], "ipam.ranges")) : undefined;
  return own ?? (isJsonObject(runtimeConfig) ? findFaultOfSets(runtimeConfig["ipRanges"], "runtimeConfig.ipRanges") : undefined);
}

function findFaultOfSets(sets: unknown, place: string): RangeFault | undefined {
  if (sets === undefined || sets === null) return undefined;
  if (!Array.isArray(sets)) return { place, found: sets, wanted: "a list of lists of ranges" };
  return firstFault(sets, place, findFaultOfSet);
}

function findFaultOfSet(set: unknown, place: string): RangeFault | undefined {
  if (!Array.isArray(set)) return { place, found: set, wanted: "a list of ranges" };
  return firstFault(set, place, (range, inner) =>
    isJsonObject(range) ? findFaultOfRange(range, inner, true) : { place: inner, found: range, wanted: 'an object with "subnet"' },
  );
}

function firstFault(
  list: readonly unknown[],
  place: string,
  find: (entry: unknown, place: string) => RangeFault | undefined,
): RangeFault | undefined {
  for (const [i, entry] of list.entries()) {
    const fault = find(entry, `${place}[${i}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function findFaultOfRange(range: JsonObject, place: string, needsSubnet: boolean): RangeFault | undefined {
  const { subnet } = range;
  if (!isSubnet(subnet) && (needsSubnet || !isAbsent(subnet))) return { place: `${place}.subnet`, found: subnet, wanted: SUBNET };
  for (const key of ["rangeStart", "rangeEnd"]) {
    const found = range[key];
    if (!isAbsent(found) && !isAddress(found)) return { place: `${place}.${key}`, found, wanted: "an address" };
  }
  return undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isSubnet(value: unknown): boolean {
  return typeof value === "string" && (podCidrFamilyOf(value) !== undefined || tryParseCidr(value) !== undefined);
}

function isAddress(value: unknown): boolean {
  return value === "" || (typeof value === "string" && tryParseAddress(value) !== undefined);
}
