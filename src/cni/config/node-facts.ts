/** What this node says of itself: its name and its MTU, from files that the agent keeps. */

import { isNodeName, NODE_NAME } from "../../endpoint/names.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { ETH_MAX_MTU, ETH_MIN_MTU } from "../../linux/netlink/constants.ts";
import type { NetworkConfig } from "./network-config.ts";

/** MTU of a link when nobody says otherwise, in bytes. */
const DEFAULT_MTU = 1500;

/**
 * Name under which this node is known: `nodename`, else the node name file, else `hostname`, else the lower-cased host name.
 *
 * @throws NetplugError invalidConfig when the name could not be part of a key
 */
export function resolveNodeName({ nodename, nodenameFile, hostname }: NetworkConfig, files: Files, hostName: () => string): string {
  const fromFile = nodename === undefined ? files.readText(nodenameFile)?.trim() : undefined;
  const [source, name] =
    nodename !== undefined
      ? ['"nodename"', nodename]
      : fromFile !== undefined && fromFile !== ""
        ? [quote(nodenameFile), fromFile]
        : hostname !== undefined
          ? ['"hostname"', hostname]
          : ["the host name", hostName().toLowerCase()];
  if (isNodeName(name)) return name;
  throw new NetplugError("invalidConfig", `resolve node name from ${source}: got ${quote(name)}, want ${NODE_NAME}`);
}

/**
 * MTU of both ends in bytes: `mtu`, else the file `mtu` of the library folder, else 1500.
 *
 * @throws NetplugError tryAgainLater when `require_mtu_file` waits for the agent to write the file, invalidConfig when it holds no MTU
 */
export function resolveMtu(config: NetworkConfig, files: Files): number {
  if (config.mtu !== 0) return config.mtu;
  const path = `${config.libDir}/mtu`;
  const text = files.readText(path)?.trim();
  if (text === undefined) {
    if (!config.requireMtuFile) return DEFAULT_MTU;
    throw new NetplugError(
      "tryAgainLater",
      `read MTU: "require_mtu_file" is set and ${quote(path)} does not exist; without a node agent write the MTU into it, or set "mtu"`,
    );
  }
  const mtu = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(mtu >= ETH_MIN_MTU && mtu <= ETH_MAX_MTU)) {
    throw new NetplugError("invalidConfig", `read MTU from ${quote(path)}: got ${quote(text)}, want ${ETH_MIN_MTU}..${ETH_MAX_MTU}`);
  }
  return mtu;
}
