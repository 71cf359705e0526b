/** Reading the entries of lists: routes, labels, attachments, and what is simpler. */

import { ENDPOINT_LABELS } from "../../api/workload-endpoint.ts";
import type { Attachment } from "../../ipam/request.ts";
import { hasControlCharacter, isDnsName, isLabelValue } from "../../lib/characters.ts";
import { type Address, tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { type Prefix, prefixOf } from "../../lib/ip/prefix.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { findNamespaceFault } from "../protocol/cni-args.ts";
import { findContainerIdFault, findIfNameFault } from "../protocol/environment.ts";
import { type Entry, type EntryKind, FieldFault, type Label } from "./field.ts";
import type { Findings } from "./findings.ts";
import { checkSpelling } from "./spelling.ts";

/** What an entry of each kind must be. Ends the sentence "want …". */
export const ENTRY_WANTED = {
  pool: "a pool's name or CIDR",
  url: "an absolute http:// or https:// URL, IPv6 in brackets",
  address: "an address",
  route: "an object with dst",
  label: 'an object with the texts "key" and "value"',
  attachment: 'an object with the texts "containerID" and "ifname"',
} as const;

/** Reads a list, entry by entry. @throws {FieldFault} naming the first that is not allowed */
export function readList(kind: EntryKind, list: readonly unknown[], place: string, findings: Findings): readonly Entry[] {
  const entries: Entry[] = [];
  for (let i = 0; i < list.length; i++) {
    const at = `${place}[${i}]`;
    const given = list[i];
    if (kind === "route" && isWithoutDst(given) && !list.every(isWithoutDst)) {
      checkSpelling(given, ROUTE_KEYS, at, findings);
      continue;
    }
    const entry = readEntry(kind, given, at, findings);
    if (entry === undefined) throw new FieldFault(at, given, ENTRY_WANTED[kind]);
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

/** An absolute URL that can be asked over HTTP, as it was written. */
export function parseHttpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#\s\p{Cc}]+[^\s\p{Cc}]*$/iu.test(text)) return undefined;
  return URL.canParse(text) ? text : undefined;
}

/** An address; a prefix length behind it is dropped, as the CNI conventions allow one. */
function parseAddressOrCidr(text: string): Address | undefined {
  return tryParseAddress(text) ?? tryParseCidr(text)?.address;
}

const ROUTE_KEYS = { dst: true, gw: true, mtu: true, advmss: true, priority: true, table: true, scope: true } as const;

/** Such a route counts for nothing. But where there are no others, nothing would be left of the list, which means something else: no routes. */
function isWithoutDst(entry: unknown): entry is JsonObject {
  return isJsonObject(entry) && (entry["dst"] ?? "") === "";
}

/** An entry of `ipam.routes`: host bits of `dst` are cleared, everything else does not count. */
function readRoute(entry: unknown, place: string, findings: Findings): Prefix | undefined {
  if (!isJsonObject(entry)) return undefined;
  checkSpelling(entry, ROUTE_KEYS, place, findings);
  const { dst } = entry;
  const cidr = typeof dst === "string" ? tryParseCidr(dst) : undefined;
  if (cidr === undefined) throw new FieldFault(`${place}.dst`, dst, "address/length");
  return prefixOf(cidr.address, cidr.length);
}

const LABEL_KEYS = { key: true, value: true } as const;

/** An entry of `args.cni.labels`: what Kubernetes accepts as a label too, so that selectors can name it. */
function readLabel(entry: unknown, place: string, findings: Findings): Label | undefined {
  if (!isJsonObject(entry)) return undefined;
  checkSpelling(entry, LABEL_KEYS, place, findings);
  const { key, value } = entry;
  if (typeof key !== "string" || !isLabelKey(key)) throw new FieldFault(`${place}.key`, key, "a label key: [prefix/]name");
  if (typeof value !== "string" || !(value === "" || isLabelValue(value))) {
    throw new FieldFault(
      `${place}.value`,
      value,
      'a label value: at most 63 letters, digits, "_", "." and "-", a letter or digit first and last',
    );
  }
  const wanted = key === ENDPOINT_LABELS.namespace ? findNamespaceFault(value) : undefined;
  if (wanted !== undefined) throw new FieldFault(`${place}.value`, value, wanted);
  return { key, value };
}

function isLabelKey(text: string): boolean {
  const slash = text.indexOf("/");
  return isLabelValue(text.slice(slash + 1)) && (slash < 0 || isDnsName(text.slice(0, slash)));
}

/** An entry of `cni.dev/valid-attachments`. One that could be no attachment is a fault: nothing must be removed by mistake. */
function readAttachment(entry: unknown, place: string): Attachment | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { containerID, ifname } = entry;
  if (typeof containerID !== "string") throw new FieldFault(`${place}.containerID`, containerID, "a container ID");
  if (typeof ifname !== "string") throw new FieldFault(`${place}.ifname`, ifname, "the name of an interface");
  const faultyId = findContainerIdFault(containerID);
  if (faultyId !== undefined) throw new FieldFault(`${place}.containerID`, containerID, faultyId);
  const faultyName = findIfNameFault(ifname);
  if (faultyName !== undefined) throw new FieldFault(`${place}.ifname`, ifname, faultyName);
  return { containerID, ifName: ifname };
}
