/** Reading the value of one key. On the way of every ADD: no regular expression, no callback for what is usual. */

import { hasControlCharacter } from "../../lib/characters.ts";
import { HOST_MAC } from "../../endpoint/pod-link.ts";
import { type MacAddress, tryParseMac } from "../../lib/mac-address.ts";
import { type Entry, type EntryKind, type Field, FieldFault, type IntegerField, type WordField } from "./field.ts";
import type { Findings } from "./findings.ts";
import {
  isDomainName,
  parseAddressOrCidr,
  parseEtcdAuthority,
  parseEtcdEndpoints,
  parseHttpUrl,
  readAttachment,
  readLabel,
  readRoute,
} from "./values.ts";

/** Whether empty text, or 0, counts as if the key were not there. */
export function isEmpty(field: Field, value: unknown): boolean {
  if (field.kind === "integer") return value === 0 && field.zeroIsAbsent === true;
  if (value !== "" || field.kind === "flag" || field.kind === "list" || field.kind === "socket") return false;
  return field.kind !== "word" || field.strict !== true;
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
    case "word":
      return readWord(field, value);
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
      return readPodMac(value);
    case "domain":
      return isDomainName(value) ? value : undefined;
    case "endpoints":
      return parseEtcdEndpoints(value);
    case "authority":
      return parseEtcdAuthority(value);
  }
}

/** Ends the sentence "want …". */
export function wantedOf(field: Field): string {
  switch (field.kind) {
    case "integer":
      return `a whole number ${field.min}..${field.max}${field.zeroIsAbsent === true ? ", or 0 for the default" : ""}`;
    case "word":
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
  url: "an absolute http:// or https:// URL",
  mac: `a unicast address aa:bb:cc:dd:ee:ff, not the host side's ${HOST_MAC}`,
  domain: "a domain name",
  endpoints: "http:// or https:// URLs without user and path, joined by commas",
  authority: "host:port",
} as const;

const ENTRY_WANTED = {
  pool: "a pool's name or CIDR",
  url: SCALAR_WANTED.url,
  address: "an address",
  route: "an object with dst",
  label: 'an object with the texts "key" and "value"',
  attachment: 'an object with the texts "containerID" and "ifname"',
} as const;

function choiceOf({ words, anyCase }: WordField): string {
  const quoted = words.map((word) => `"${word}"`);
  const choice = quoted.length === 1 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} or ${quoted.at(-1) ?? ""}`;
  return anyCase === true ? `${choice} as text, in any case` : choice;
}

/** The host side's own would make the pod take its next hop for itself. */
function readPodMac(value: string): MacAddress | undefined {
  const mac = tryParseMac(value);
  return mac === HOST_MAC ? undefined : mac;
}

function isWithin({ min, max }: IntegerField, value: unknown): boolean {
  return typeof value === "number" && value >= min && value <= max && Math.trunc(value) === value;
}

function readWord({ words, anyCase }: WordField, value: string): string | undefined {
  const folded = anyCase === true ? value.toLowerCase() : value;
  for (const word of words) if ((anyCase === true ? word.toLowerCase() : word) === folded) return word;
  return undefined;
}

function readList(kind: EntryKind, list: readonly unknown[], place: string, findings: Findings): readonly Entry[] {
  const entries: Entry[] = [];
  for (let i = 0; i < list.length; i++) {
    const entry = readEntry(kind, list[i], `${place}[${i}]`, findings);
    if (entry === undefined) throw new FieldFault(`${place}[${i}]`, list[i], ENTRY_WANTED[kind]);
    entries.push(entry);
  }
  return entries;
}

function readEntry(kind: EntryKind, entry: unknown, place: string, findings: Findings): Entry | undefined {
  switch (kind) {
    case "pool":
      return typeof entry === "string" && entry !== "" && !entry.includes(" ") && !hasControlCharacter(entry) ? entry : undefined;
    case "url":
      return typeof entry === "string" ? parseHttpUrl(entry) : undefined;
    case "address":
      return typeof entry === "string" ? parseAddressOrCidr(entry) : undefined;
    case "route":
      return readRoute(entry, place, findings);
    case "label":
      return readLabel(entry, place, findings);
    case "attachment":
      return readAttachment(entry, place);
  }
}
