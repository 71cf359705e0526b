/** Plugins that a person's network config names: those that nobody has put onto the node, and those that do not know its version. */

import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";
import type { DurableFiles } from "../files/durable-files.ts";
import type { InstallHost } from "../host.ts";
import type { Template } from "../settings/settings.ts";
import { findObstacle, NEWEST, SAFE, saysNewest, UNKNOWN } from "./chained-version.ts";

/**
 * Warns of those that are missing; no more than that, because another DaemonSet may be about to install them. A symbolic link counts as there: what it leads to
 * may be on the host, where this process cannot see it.
 *
 * @param config what became of the template
 * @param folder of the plugins, after ours are in it
 */
export function warnOfMissingPlugins(
  config: string,
  template: Template,
  folder: string,
  { disk, log }: { readonly disk: Pick<DurableFiles, "list">; readonly log: Log },
): void {
  const names = new Set(executablesOf(config)).difference(new Set(disk.list(folder)));
  if (names.size === 0) return;
  const place = "path" in template ? "the file that CNI_NETWORK_CONFIG_FILE names" : "CNI_NETWORK_CONFIG";
  const want = `install them, or take them out of ${place}`;
  log.warning("the network config names plugins that are not in the folder of plugins; without them no pod gets a network", {
    names: [...names],
    want,
  });
}

/** Warns of those that do not know the newest version, if the config says that; nothing is said of one that cannot be asked. */
export async function warnOfOldPlugins(config: string, folder: string, host: InstallHost, log: Log): Promise<void> {
  if (!saysNewest(config)) return;
  const there = host.disk.list(folder) ?? [];
  const names = [...new Set(executablesOf(config))].filter((name) => there.includes(name));
  const isOld = await Promise.all(names.map(async (name) => (await findObstacle(`${folder}/${name}`, host)) === UNKNOWN));
  const old = names.filter((_, index) => isOld[index]);
  if (old.length === 0) return;
  const want = `cniVersion ${SAFE}, or newer ones`;
  log.warning(`the network config names plugins that do not know CNI ${NEWEST}: no pod will start`, { names: old, want });
}

/** What is run for a config: the plugins, and those that they have addresses from. */
function executablesOf(config: string): readonly string[] {
  const document = parseJson(config);
  if (!isJsonObject(document)) return [];
  const { plugins = [document] } = document;
  const entries = Array.isArray(plugins) ? plugins.filter((plugin) => isJsonObject(plugin)) : [];
  const names = entries.flatMap(({ type, ipam }) => [type, isJsonObject(ipam) ? ipam["type"] : undefined]);
  return names.filter((name): name is string => typeof name === "string" && name !== "");
}
