/** Values of the network config that are more than a text or a number. */

import { type Address, tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { blockOf, type Prefix } from "../../lib/ip/prefix.ts";
import { isJsonObject } from "../../lib/json.ts";
import { findNamespaceFault } from "../protocol/cni-args.ts";
import { findContainerIdFault, findIfNameFault } from "../protocol/environment.ts";
import { FieldFault, type ReadContext } from "./field.ts";

/** `SKIPPED` stands for a route entry without `dst`, which has no meaning and is no fault. */
export const SKIPPED = null;

export interface Label {
  readonly key: string;
  readonly value: string;
}

/** One attachment that GC must keep. */
export interface ValidAttachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** An address; a prefix length behind it is dropped, as the CNI conventions allow one. */
export function parseAddressOrCidr(text: string): Address | undefined {
  return tryParseAddress(text) ?? tryParseCidr(text)?.address;
}

/** An absolute URL that can be asked over HTTP, as it was written. */
export function parseHttpUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^/?#\s\p{Cc}]+[^\s\p{Cc}]*$/iu.test(text)) return undefined;
  return URL.canParse(text) ? text : undefined;
}

/** Scheme and authority only: no user, path, query. What `URL` makes of it is checked where it is opened. */
const ETCD_ENDPOINT = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?\/?$/i;

/** `etcd_endpoints`: URLs joined by commas; spaces around them and empty pieces do not count. */
export function parseEtcdEndpoints(text: string): readonly string[] | undefined {
  const endpoints = text
    .split(",")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
  return endpoints.length > 0 && endpoints.every((endpoint) => ETCD_ENDPOINT.test(endpoint)) ? endpoints : undefined;
}

/** `etcd_authority`: what follows the scheme in a URL. */
export function parseEtcdAuthority(text: string): string | undefined {
  return !text.endsWith("/") && ETCD_ENDPOINT.test(`http://${text}`) ? text : undefined;
}

const ROUTE_KEYS = ["dst", "gw", "mtu", "advmss", "priority", "table", "scope"];

/** An entry of `ipam.routes`: host bits of `dst` are cleared, everything else does not count. */
export function readRoute(entry: unknown, place: string, context: ReadContext): Prefix | typeof SKIPPED | undefined {
  if (!isJsonObject(entry)) return undefined;
  context.checkSpelling(entry, ROUTE_KEYS, place);
  const { dst } = entry;
  if (dst === undefined || dst === null || dst === "") return SKIPPED;
  const cidr = typeof dst === "string" ? tryParseCidr(dst) : undefined;
  if (cidr === undefined) throw new FieldFault(`${place}.dst`, dst, "address/length");
  return blockOf(cidr.address, cidr.length);
}

/** Label that names the namespace of a workload without Kubernetes. */
const NAMESPACE_LABEL = "netplug.io/namespace";

const LABEL_NAME = /^[a-z0-9A-Z]([a-z0-9A-Z._-]{0,61}[a-z0-9A-Z])?$/;
const LABEL_PREFIX = /^(?!.{254})[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** An entry of `args.cni.labels`: what Kubernetes accepts as a label too, so that selectors can name it. */
export function readLabel(entry: unknown, place: string, context: ReadContext): Label | undefined {
  if (!isJsonObject(entry)) return undefined;
  context.checkSpelling(entry, ["key", "value"], place);
  const { key, value } = entry;
  if (typeof key !== "string" || !isLabelKey(key)) throw new FieldFault(`${place}.key`, key, "a label key: [prefix/]name");
  if (typeof value !== "string" || !(value === "" || LABEL_NAME.test(value))) {
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

function isLabelKey(text: string): boolean {
  const slash = text.indexOf("/");
  return LABEL_NAME.test(text.slice(slash + 1)) && (slash < 0 || LABEL_PREFIX.test(text.slice(0, slash)));
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
