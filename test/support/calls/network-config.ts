/** For tests of the network config: a complete one with some keys, read or refused. */

import { NetplugError } from "../../../src/lib/errors.ts";
import { type ParsedConfig, parseNetworkConfig } from "../../../src/cni/config/parse-network-config.ts";
import type { NetworkConfig } from "../../../src/cni/config/network-config.ts";

const BASE = { cniVersion: "1.1.0", name: "pods", type: "netplug" };

export function parseKeys(keys: object, command = "ADD"): ParsedConfig {
  return parseNetworkConfig(JSON.stringify({ ...BASE, ...keys }), command);
}

export function configOf(keys: object, command = "ADD"): NetworkConfig {
  return parseKeys(keys, command).config;
}

/** How a text is refused; fails the test when it is not. */
export function refusalOf(text: string, command = "ADD"): NetplugError {
  try {
    parseNetworkConfig(text, command);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return thrown;
    throw thrown;
  }
  throw new Error(`${text} was accepted`);
}

/** Code and message with which keys are refused. */
export function faultOf(keys: object, command = "ADD"): string {
  const { code, message } = refusalOf(JSON.stringify({ ...BASE, ...keys }), command);
  return `${code}: ${message}`;
}
