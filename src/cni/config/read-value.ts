/** Reading the value of one key. On the way of every ADD: no regular expression, no callback for what is usual. */

import { POD_MAC_FORM, tryParsePodMac } from "../../endpoint/pod-link.ts";
import { isAuthority, isDomainName, isEtcdEndpoint } from "../../datastore/config/datastore-settings.ts";
import { hasControlCharacter } from "../../lib/characters.ts";
import { ENTRY_WANTED, parseHttpUrl, readList } from "./entry-readers.ts";
import type { EnumField, Field, IntegerField } from "./field.ts";
import type { Findings } from "./findings.ts";

/** Whether empty text, or 0, counts as if the key were not there. */
export function isEmpty(field: Field, value: unknown): boolean {
  if (field.kind === "integer") return value === 0 && field.zeroIsAbsent === true;
  if (value !== "" || field.kind === "flag" || field.kind === "list" || field.kind === "socket") return false;
  return field.kind !== "enum" || field.strict !== true;
}

/**
 * Reads a value that is there.
 *
 * @returns undefined for what is not allowed
 * @throws {FieldFault} to name a place inside the value
 */
export function readValue(field: Field, value: unknown, place: string, findings: Findings): unknown {
  if (field.kind === "integer") return isWithin(field, value) ? value : undefined;
  if (field.kind === "flag") return typeof value === "boolean" ? value : undefined;
  if (field.kind === "list") return Array.isArray(value) ? readList(field.of, value, place, findings) : undefined;
  if (typeof value !== "string") return undefined;
  switch (field.kind) {
    case "enum":
      return readEnum(field, value);
    case "text":
      return hasControlCharacter(value) ? undefined : value;
    case "path":
      return value.startsWith("/") && !hasControlCharacter(value) ? value : undefined;
    case "socket":
      return value === "" || (value.startsWith("/") && !hasControlCharacter(value)) ? value : undefined;
    case "plugin":
      return value.includes("/") || hasControlCharacter(value) ? undefined : value;
    case "url":
      return parseHttpUrl(value);
    case "mac":
      return tryParsePodMac(value);
    case "domain":
      return isDomainName(value) ? value : undefined;
    case "endpoints":
      return parseEtcdEndpoints(value);
    case "authority":
      return isAuthority(value) ? value : undefined;
  }
}

/** Ends the sentence "want …". */
export function wantedOf(field: Field): string {
  switch (field.kind) {
    case "integer":
      return `a whole number ${field.min}..${field.max}${field.zeroIsAbsent === true ? ", or 0 for the default" : ""}`;
    case "enum":
      return choiceOf(field);
    case "list":
      return `a list, each ${ENTRY_WANTED[field.of]}`;
    default:
      return SCALAR_WANTED[field.kind];
  }
}

const SCALAR_WANTED = {
  text: "a text",
  path: "an absolute path",
  socket: 'an absolute path, or "" to ask no agent',
  plugin: 'the name of a plugin, without "/"',
  flag: "true or false, without quotes",
  url: ENTRY_WANTED.url,
  mac: POD_MAC_FORM,
  domain: "a domain name",
  endpoints: "http:// or https:// URLs without user and path, IPv4 without leading zeros, IPv6 in brackets, joined by commas",
  authority: "host:port, IPv4 without leading zeros, IPv6 in brackets",
} as const;

function choiceOf({ values, anyCase }: EnumField): string {
  const quoted = values.map((one) => `"${one}"`);
  const choice = quoted.length === 1 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1) ?? ""}`;
  return anyCase === true ? `${choice} as text, in any case` : choice;
}

function isWithin({ min, max }: IntegerField, value: unknown): boolean {
  return typeof value === "number" && value >= min && value <= max && Math.trunc(value) === value;
}

function readEnum({ values, anyCase }: EnumField, value: string): string | undefined {
  const folded = anyCase === true ? value.toLowerCase() : value;
  for (const one of values) if ((anyCase === true ? one.toLowerCase() : one) === folded) return one;
  return undefined;
}

/** `etcd_endpoints`: URLs joined by commas; spaces around them and empty pieces do not count. */
function parseEtcdEndpoints(text: string): readonly string[] | undefined {
  const endpoints: string[] = [];
  for (const piece of text.split(",")) {
    const endpoint = piece.trim();
    if (endpoint === "") continue;
    if (!isEtcdEndpoint(endpoint)) return undefined;
    endpoints.push(endpoint);
  }
  return endpoints.length === 0 ? undefined : endpoints;
}
