/** What the plugin itself says of its entries in a network config, before the config is put in place. */

import { ERROR_CODES, messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";
import { mustStay } from "../binaries.ts";
import type { InstallHost } from "../host.ts";
import type { Settings } from "../settings/settings.ts";

const PLUGIN = "netplug";
const IPAM_PLUGIN = "netplug-ipam";

const TIMEOUT_MS = 5_000;

/** An ADD that can only fail: for the config, or, once that is accepted, for the namespace. It touches nothing before. */
const DOOMED_ADD = {
  CNI_COMMAND: "ADD",
  // As long as a runtime's: the network's name must leave room for it.
  CNI_CONTAINERID: "0".repeat(64),
  CNI_NETNS: "/proc/self/ns/none",
  CNI_IFNAME: "eth0",
  // Asks for an address: without one the plugin refuses a config that gives none by itself.
  CNI_ARGS: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod;IP=192.0.2.1",
};

/** Halves that a config may leave to the runtime's environment, which nobody knows here: that they are missing is no reason. */
const LEFT_TO_RUNTIME = { ETCD_USERNAME: "x", ETCD_PASSWORD: "x", ETCD_CERT_FILE: "/x", ETCD_KEY_FILE: "/x" };

/** In place of what the plugin reads from files of the host where the config says nothing: from here they may look otherwise. */
const LEFT_TO_HOST = { nodename: "node", mtu: 1500 };

/** Codes that speak of the config alone: its version, its form, its keys, and features that it combines. */
const OF_THE_CONFIG: readonly unknown[] = [
  ERROR_CODES.incompatibleVersion,
  ERROR_CODES.badEnvironment,
  ERROR_CODES.cannotDecode,
  ERROR_CODES.invalidConfig,
  ERROR_CODES.featureDisabled,
];

/** The text of a network config, and where it is from, for messages. */
export interface OriginatedText {
  readonly text: string;
  readonly origin: string;
}

/** For which installation a network config is made. */
export interface ConfigSite {
  readonly settings: Settings;
  /** The folder of the plugins. */
  readonly binDir: string;
  readonly host: InstallHost;
  readonly log: Log;
}

/**
 * Refuses a network config for which the plugin would refuse every pod. The executable that pods will get is asked: ours, or one of
 * somebody else that stays in the folder. One that cannot be asked refuses nothing.
 *
 * For an entry of another main plugin that calls `netplug-ipam`, `netplug` is asked as well: it reads the same keys, and it needs a namespace,
 * without which `netplug-ipam` would give an address. A `netplug-ipam` of somebody else is not asked.
 *
 * @throws NetplugError invalidConfig
 */
export async function requireAccepted({ text, origin }: OriginatedText, site: ConfigSite): Promise<void> {
  const { settings, binDir, host } = site;
  const choice = { skipped: settings.skippedBinaries, updates: settings.updatesBinaries };
  for (const { plugin, entry } of entriesOf(text)) {
    const isOthers = mustStay(binDir, plugin, choice, host.disk);
    if (isOthers && plugin === IPAM_PLUGIN) continue;
    const refusal = await ask(isOthers ? `${binDir}/${plugin}` : host.executable, entry, site);
    if (refusal === undefined) continue;
    throw new NetplugError(
      "invalidConfig",
      `check ${origin}: ${plugin} would refuse every pod: ${refusal.message}; correct it: nothing was changed`,
      { details: refusal.details },
    );
  }
}

/** An entry, and which of our plugins reads it. */
interface OwnEntry {
  readonly plugin: string;
  readonly entry: JsonObject;
}

/** As a runtime hands them to the plugin, except for what depends on the host's files. */
function entriesOf(config: string): readonly OwnEntry[] {
  const document = parseJson(config);
  if (!isJsonObject(document)) return [];
  const { name, cniVersion, cniVersions, plugins = [document] } = document;
  const entries = Array.isArray(plugins) ? plugins.filter((plugin) => isJsonObject(plugin)) : [];
  return entries.flatMap((entry) => {
    const plugin = readerOf(entry);
    if (plugin === undefined) return [];
    const asked = {
      ...entry,
      ...leftToHost(entry),
      type: PLUGIN,
      name,
      // Where there are several, the runtime takes one that it knows.
      ...(cniVersions === undefined && { cniVersion }),
      // Nothing of this belongs in the host's log.
      ...(String(entry["log_file_path"]).startsWith("/") && { log_file_path: "/dev/null" }),
    };
    return [{ plugin, entry: asked }];
  });
}

/** @returns undefined where it is none of ours */
function readerOf({ type, ipam }: JsonObject): string | undefined {
  if (type === PLUGIN) return PLUGIN;
  return isJsonObject(ipam) && ipam["type"] === IPAM_PLUGIN ? IPAM_PLUGIN : undefined;
}

function leftToHost(entry: JsonObject): JsonObject {
  // Empty or 0 says nothing, too.
  return Object.fromEntries(Object.entries(LEFT_TO_HOST).filter(([key]) => !entry[key]));
}

/** Why a plugin refuses an entry, in its words. */
interface Refusal {
  readonly message: string;
  /** E.g. the versions of CNI that it supports. */
  readonly details: string | undefined;
}

/** @returns undefined when it does not refuse, or nobody knows */
async function ask(command: string, entry: JsonObject, { binDir, host, log }: ConfigSite): Promise<Refusal | undefined> {
  try {
    const env = { ...LEFT_TO_RUNTIME, ...DOOMED_ADD, CNI_PATH: binDir, PATH: host.env["PATH"] ?? "" };
    const { stdout } = await host.processes.run({ command, env, stdin: JSON.stringify(entry), timeoutMs: TIMEOUT_MS });
    const answer = parseJson(stdout);
    const { code, msg, details } = isJsonObject(answer) ? answer : {};
    if (!OF_THE_CONFIG.includes(code)) return undefined;
    return { message: String(msg), details: typeof details === "string" ? details : undefined };
  } catch (thrown) {
    log.debug("the plugin could not be asked whether it accepts the network config", { command, reason: messageOf(thrown) });
    return undefined;
  }
}
