/** Values of the network config that are more than a text or a number. */

import { isName } from "../../lib/characters.ts";
import { type Address, tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { blockOf, type Prefix } from "../../lib/ip/prefix.ts";
import { isJsonObject } from "../../lib/json.ts";
import { findNamespaceFault } from "../protocol/cni-args.ts";
import { findContainerIdFault, findIfNameFault } from "../protocol/environment.ts";
import { FieldFault, type Label, SKIPPED, type ValidAttachment } from "./field.ts";
import { checkSpelling, type Findings } from "./findings.ts";

/** An address; a prefix length behind it is dropped, as the CNI conventions allow one. */
export function parseAddressOrCidr(text: string): Address | undefined {
  return tryParseAddress(text) ?? tryParseCidr(text)?.address;
}

/** An absolute URL that can be asked over HTTP, as it was written. */
export function parseHttpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#\s\p{Cc}]+[^\s\p{Cc}]*$/iu.test(text)) return undefined;
  return URL.canParse(text) ? text : undefined;
}

/** A name under which SRV records are looked up; underscores are common there. */
export function isDomainName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*\.?$/i.test(text);
}

/** `etcd_endpoints`: URLs joined by commas; spaces around them and empty pieces do not count. */
export function parseEtcdEndpoints(text: string): readonly string[] | undefined {
  const endpoints: string[] = [];
  for (const piece of text.split(",")) {
    const endpoint = piece.trim();
    if (endpoint === "") continue;
    if (!isEtcdEndpoint(endpoint)) return undefined;
    endpoints.push(endpoint);
  }
  return endpoints.length === 0 ? undefined : endpoints;
}

/** `etcd_authority`: what follows the scheme in a URL. */
export function parseEtcdAuthority(text: string): string | undefined {
  return isAuthority(text) ? text : undefined;
}

/** Scheme, authority and at most one slash. What `URL` makes of it is checked where it is opened. */
function isEtcdEndpoint(text: string): boolean {
  const at = text.indexOf("://") + 3;
  const scheme = text.slice(0, at).toLowerCase();
  if (scheme !== "http://" && scheme !== "https://") return false;
  return isAuthority(text.slice(at, text.endsWith("/") ? -1 : undefined));
}

/** Host name or address, IPv6 in brackets, and a port or none; no user. */
function isAuthority(text: string): boolean {
  const colon = text.indexOf(":", text.indexOf("]") + 1);
  const host = colon < 0 ? text : text.slice(0, colon);
  if (colon >= 0 && !isPort(text.slice(colon + 1))) return false;
  if (host.startsWith("[")) return host.endsWith("]") && tryParseAddress(host.slice(1, -1))?.family === 6;
  return isName(host, "._-");
}

/** 1 … 65535, in decimal without sign or leading zero. */
function isPort(text: string): boolean {
  const port = Number(text);
  return String(port) === text && port >= 1 && port <= 65_535 && Number.isInteger(port);
}

const ROUTE_KEYS = { dst: true, gw: true, mtu: true, advmss: true, priority: true, table: true, scope: true } as const;

/** An entry of `ipam.routes`: host bits of `dst` are cleared, everything else does not count. */
export function readRoute(entry: unknown, place: string, findings: Findings): Prefix | typeof SKIPPED | undefined {
  if (!isJsonObject(entry)) return undefined;
  checkSpelling(entry, ROUTE_KEYS, place, findings);
  const { dst } = entry;
  if (dst === undefined || dst === null || dst === "") return SKIPPED;
  const cidr = typeof dst === "string" ? tryParseCidr(dst) : undefined;
  if (cidr === undefined) throw new FieldFault(`${place}.dst`, dst, "address/length");
  return blockOf(cidr.address, cidr.length);
}

const LABEL_KEYS = { key: true, value: true } as const;

/** Label that names the namespace of a workload without Kubernetes. */
const NAMESPACE_LABEL = "netplug.io/namespace";

/** An entry of `args.cni.labels`: what Kubernetes accepts as a label too, so that selectors can name it. */
export function readLabel(entry: unknown, place: string, findings: Findings): Label | undefined {
  if (!isJsonObject(entry)) return undefined;
  checkSpelling(entry, LABEL_KEYS, place, findings);
  const { key, value } = entry;
  if (typeof key !== "string" || !isLabelKey(key)) throw new FieldFault(`${place}.key`, key, "a label key: [prefix/]name");
  if (typeof value !== "string" || !(value === "" || isLabelName(value))) {
    throw new FieldFault(
      `${place}.value`,
      value,
      'a label value: at most 63 letters, digits, "_", "." and "-", a letter or digit first and last',
    );
  }
  const wanted = key === NAMESPACE_LABEL ? findNamespaceFault(value) : undefined;
  if (wanted !== undefined) throw new FieldFault(`${place}.value`, value, wanted);
  return { key, value };
}

function isLabelName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/i.test(text);
}

function isLabelKey(text: string): boolean {
  const slash = text.indexOf("/");
  if (!isLabelName(text.slice(slash + 1))) return false;
  const prefix = text.slice(0, Math.max(0, slash));
  return slash < 0 || (prefix.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(prefix));
}

/** An entry of `cni.dev/valid-attachments`. One that could be no attachment is a fault: nothing must be removed by mistake. */
export function readAttachment(entry: unknown, place: string): ValidAttachment | undefined {
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
