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

import { NetplugError } from "../lib/errors.ts";
import { type Address, equalAddresses, tryParseAddress } from "../lib/ip/address.ts";
import { isJsonObject, isText, type JsonObject, tryParseJson } from "../lib/json.ts";
import type { Files } from "../lib/ports.ts";
import { listAddresses, toLinkAddress } from "../linux/netlink/address.ts";
import { listLinks, toLink } from "../linux/netlink/link.ts";
import { NetlinkSocket } from "../linux/netlink/socket.ts";
import { inNetns, openNetns } from "../linux/netns.ts";
import type { HostAddress } from "./host-addresses.ts";

/** Where containerd and CRI-O have it. */
const FOLDER = "/var/lib/cni/results";

/** Those of results without a namespace, or whose namespace is gone, are left out. @throws {KernelError} @throws {NetplugError} ioFailure */
export function readCachedAddresses(files: Files, folder = FOLDER): readonly HostAddress[] {
  const names = files.list(folder) ?? [];
  return names.toSorted().flatMap((name) => {
    const cached = tryParseJson(files.readText(`${folder}/${name}`));
    return isJsonObject(cached) && cached["kind"] === "cniCacheV1" ? addressesOf(cached) : [];
  });
}

function addressesOf({
  containerId: containerID,
  ifName,
  networkName: network,
  netns,
  config,
  result,
}: JsonObject): readonly HostAddress[] {
  if (!isText(containerID) || !isText(ifName) || !isText(network) || !isText(netns) || !isText(config) || !isJsonObject(result)) return [];
  if (!isOfOtherMainPlugin(tryParseJson(Buffer.from(config, "base64").toString()))) return [];
  const given = listOf(result["ips"]).flatMap(({ address }) => (isText(address) && tryParseAddress(address.replace(/\/\d+$/, ""))) || []);
  const there = readAddresses(netns, ifName);
  return given
    .filter((address) => there.some((one) => equalAddresses(one, address)))
    .map((address) => ({ attachment: { network, containerID, ifName }, address, where: netns }));
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
