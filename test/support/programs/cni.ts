/** For tests: the built programs and the plugins of the CNI project, called with an exact environment, and what they answer. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "./cni-call.ts";
import { type CommandResult, runProgram } from "./programs.ts";

/** `dist/` of the checkout. */
export const distFolder: string = join(import.meta.dir, "../../../dist");
/** Where Debian puts the plugins of the CNI project. */
export const cniPluginsFolder: string =
  ["/usr/lib/cni", "/opt/cni/bin"].find((folder) => existsSync(join(folder, "ptp"))) ?? "/usr/lib/cni";

export const CNI_VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;
export type CniVersion = (typeof CNI_VERSIONS)[number];

export interface CniReply extends CommandResult {
  /** What stdout holds, when it is JSON. */
  readonly json: CniJson | undefined;
}

/** Results and errors of every version, everything optional. */
export interface CniJson {
  readonly cniVersion?: string;
  readonly code?: number;
  readonly msg?: string;
  readonly details?: string;
  readonly supportedVersions?: readonly string[];
  readonly interfaces?: readonly { readonly name: string; readonly mac?: string; readonly mtu?: number; readonly sandbox?: string }[];
  readonly ips?: readonly { readonly version?: string; readonly address: string; readonly gateway?: string; readonly interface?: number }[];
  readonly routes?: readonly { readonly dst: string; readonly gw?: string }[];
  readonly ip4?: { readonly ip: string; readonly gateway?: string; readonly routes?: readonly Json[] };
  readonly ip6?: { readonly ip: string; readonly gateway?: string; readonly routes?: readonly Json[] };
  readonly dns?: Json;
}

/** The host side's name that the contract gives to an attachment. */
export function hostInterfaceName(
  identity: { readonly namespace: string; readonly pod: string } | { readonly containerID: string },
  ifname = "eth0",
): string {
  const base = "pod" in identity ? `${identity.namespace}.${identity.pod}` : identity.containerID;
  const hashed = new Bun.CryptoHasher("sha1").update(ifname === "eth0" ? base : `${base}.${ifname}`).digest("hex");
  return `npg${hashed.slice(0, 11)}`;
}

/** Path of a plugin: itself when it is one, ours in `dist/`, else one of the CNI project. */
export function pluginPath(plugin: string): string {
  if (plugin.startsWith("/")) return plugin;
  return plugin.startsWith("netplug") ? join(distFolder, plugin) : join(cniPluginsFolder, plugin);
}

/** Starts a plugin with exactly this environment and waits for its end. */
export async function spawnPlugin(
  path: string,
  env: Readonly<Record<string, string>>,
  stdin: string,
  args: readonly string[] = [],
): Promise<CniReply> {
  const result = await runProgram([path, ...args], { env, stdin });
  return { ...result, json: parseJson(result.stdout) };
}

function parseJson(text: string): CniJson | undefined {
  try {
    return JSON.parse(text) as CniJson;
  } catch {
    return undefined;
  }
}
