/** The file in which a node agent says that an endpoint's policy is programmed: its name and its content. */

import type { Address } from "../lib/ip/address.ts";
import { toHostPrefix, toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import { orchestratorOf } from "./names.ts";
import type { Workload } from "./names.ts";

/** What an ADD has just set up, and what the file must say. */
export interface EndpointIdentity {
  /** Host side. */
  readonly hostName: string;
  readonly containerID: string;
  readonly addresses: readonly Address[];
  /** Pod side, lower case. */
  readonly podMac: string;
}

/** `k8s default%2Fweb-0 eth0`, `cni <containerID> eth0`: orchestrator, workload and interface, each escaped as one segment of a path. */
export function toStatusFileName(workload: Workload): string {
  const owner = workload.pod === undefined ? workload.containerID : `${workload.pod.namespace}/${workload.pod.name}`;
  return [orchestratorOf(workload), owner, workload.ifName].map(escapePathSegment).join(" ");
}

/**
 * Why a status file does not speak of this endpoint, for a log.
 *
 * @returns undefined when it does: same interface, container and addresses, and same MAC where the file has one
 */
export function findStatusMismatch(content: string, wanted: EndpointIdentity): string | undefined {
  let status: unknown;
  try {
    status = parseJson(content);
  } catch (thrown) {
    return `it is no JSON: ${(thrown as Error).message}`;
  }
  if (!isJsonObject(status)) return "it holds no JSON object";
  const { ifaceName, containerID } = status;
  // Some writers print null for what is empty.
  const mac = status["mac"] ?? "";
  const ipv4Nets = status["ipv4Nets"] ?? [];
  const ipv6Nets = status["ipv6Nets"] ?? [];
  if (ifaceName !== wanted.hostName) return "it names another interface";
  if (containerID !== wanted.containerID) return "it names another container";
  if (mac !== "" && (typeof mac !== "string" || mac.toLowerCase() !== wanted.podMac)) return "it names another MAC";
  if (!Array.isArray(ipv4Nets) || !Array.isArray(ipv6Nets)) return "its addresses are no lists";
  const found = [...ipv4Nets, ...ipv6Nets].map(toCanonicalText).toSorted();
  const expected = wanted.addresses.map((address) => toPrefixText(toHostPrefix(address))).toSorted();
  return found.length === expected.length && found.every((text, i) => text === expected[i]) ? undefined : "it names other addresses";
}

function toCanonicalText(net: unknown): string {
  const prefix = tryParsePrefix(String(net));
  return prefix === undefined ? "" : toPrefixText(prefix);
}

/**
 * As Go's `url.PathEscape`, which agents use: letters, digits and `-_.~$&+:=@` stay, every other byte of the UTF-8 form is escaped.
 * `encodeURIComponent` differs in `!'()*`, which it leaves, and in `$&+:=@`, which it escapes.
 */
function escapePathSegment(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(?:24|26|2B|3A|3D|40)/g, decodeURIComponent);
}
