/**
 * Addresses that netplug-ipam has given containers of other main plugins. The kernel does not say whose they are, so this is what libcni
 * keeps of each ADD, if the container's interface really has the address: what it keeps may be older than the container in that namespace.
 *
 * ```
 * {"kind": "cniCacheV1", "containerId": "…", "ifName": "eth0", "networkName": "mixed", "netns": "/var/run/netns/…",
 *  "config": "<base64>", "result": {"ips": [{"address": "10.65.0.7/26"}], …}}
 * ```
 *
 * @see `cachedInfo` in libcni/api.go; the namespace is there from libcni 1.2 on
 */

import { NetplugError } from "../../lib/errors.ts";
import { type Address, equalAddresses, toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import { isJsonObject, isText, JsonError, type JsonObject, parseJson, tryParseJson } from "../../lib/json.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { listAddresses, toLinkAddress } from "../../linux/netlink/link-address.ts";
import { listLinks, toLink } from "../../linux/netlink/link.ts";
import { NetlinkSocket } from "../../linux/netlink/socket.ts";
import { inNetns, openNetns } from "../../linux/netns.ts";
import type { HostAddress } from "./host-addresses.ts";

/** Where containerd and CRI-O have it, and Multus of the networks that it calls. */
const FOLDERS = ["/var/lib/cni/results", "/var/lib/cni/multus/results"] as const;

/**
 * Those of namespaces that are gone are left out.
 *
 * @param onUnread gets what is no result, and why: whose address it may be is unknown
 * @throws {KernelError}
 * @throws {NetplugError} ioFailure
 */
export function readCachedAddresses(
  files: Files,
  onUnread: (text: string) => void,
  folders: readonly string[] = FOLDERS,
): readonly HostAddress[] {
  const found: HostAddress[] = [];
  const paths = folders.flatMap((folder) => (files.list(folder) ?? []).toSorted().map((name) => `${folder}/${name}`));
  for (const path of paths) {
    try {
      const cached = parseJson(files.readText(path) ?? "null");
      if (isJsonObject(cached) && cached["kind"] === "cniCacheV1") found.push(...addressesOf(cached));
    } catch (thrown) {
      if (thrown instanceof JsonError) onUnread(`read ${quote(path)}: ${thrown.message}`);
      else if (thrown instanceof NetplugError && thrown.kind === "ioFailure") onUnread(thrown.message);
      else throw thrown;
    }
  }
  return withRivals(found);
}

/** Where several containers had one interface, one after the other without a DEL, nothing tells which was the last. */
function withRivals(found: readonly HostAddress[]): readonly HostAddress[] {
  const users = Map.groupBy(found, ({ address, where }) => `${toAddressText(address)} ${where}`);
  return [...users.values()].flatMap((rivals) => (rivals.length === 1 ? rivals : rivals.map((one) => ({ ...one, where: undefined }))));
}

function addressesOf({
  containerId: containerID,
  ifName,
  networkName: network,
  netns,
  config,
  result,
}: JsonObject): readonly HostAddress[] {
  if (!isText(containerID) || !isText(ifName) || !isText(network) || !isText(config) || !isJsonObject(result)) return [];
  if (!isOfOtherMainPlugin(tryParseJson(Buffer.from(config, "base64").toString()))) return [];
  const where = isText(netns) && netns !== "" ? netns : undefined;
  const there = where === undefined ? undefined : readAddresses(where, ifName);
  return givenBy(result)
    .filter((address) => there?.some((one) => equalAddresses(one, address)) !== false)
    .map((address) => ({ attachment: { network, containerID, ifName }, address, where }));
}

/** From CNI 0.3.0 on a list; before that `{"ip4": {"ip": "10.65.0.7/26"}, "ip6": …}`. */
function givenBy({ ips, ip4, ip6 }: JsonObject): readonly Address[] {
  const texts = [...listOf(ips).map(({ address }) => address), ...listOf([ip4, ip6]).map(({ ip }) => ip)];
  return texts.flatMap((text) => (isText(text) && tryParseAddress(text.replace(/\/\d+$/, ""))) || []);
}

/** Whether a plugin of the conflist other than ours calls netplug-ipam. */
function isOfOtherMainPlugin(config: unknown): boolean {
  if (!isJsonObject(config)) return false;
  const plugins = config["plugins"] === undefined ? [config] : listOf(config["plugins"]);
  return plugins.some(({ type, ipam }) => type !== "netplug" && isJsonObject(ipam) && ipam["type"] === "netplug-ipam");
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** What an interface has in a namespace; nothing where either is gone. */
function readAddresses(path: string, ifName: string): readonly Address[] {
  using netns = openIfThere(path);
  if (netns === undefined) return [];
  using socket = inNetns(netns, () => NetlinkSocket.open());
  const link = socket
    .dump(listLinks())
    .map(toLink)
    .find(({ name }) => name === ifName);
  if (link === undefined) return [];
  const shown = socket.dump(listAddresses(link.index)).map(toLinkAddress);
  return shown.flatMap((one) => (one?.index === link.index ? [one.address] : []));
}

function openIfThere(path: string): ReturnType<typeof openNetns> {
  try {
    return openNetns(path);
  } catch (thrown) {
    if (thrown instanceof NetplugError && thrown.kind === "badNetns") return undefined; // its mount is gone, and the empty file is left
    throw thrown;
  }
}
