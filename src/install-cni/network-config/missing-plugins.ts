/** Plugins that a person's network config names, and that nobody has put onto the node. */

import { isJsonObject, parseJson } from "../../lib/json.ts";
import type { Log } from "../../lib/log/log.ts";
import type { DurableFiles } from "../files/durable-files.ts";
import type { Template } from "../settings/settings.ts";

/**
 * Warns of them; no more than that, because another DaemonSet may be about to install them. A symbolic link counts as there: what it leads to
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

/** What is run for a config: the plugins, and those that they have addresses from. */
function executablesOf(config: string): readonly string[] {
  const document = parseJson(config);
  if (!isJsonObject(document)) return [];
  const { plugins = [document] } = document;
  const entries = Array.isArray(plugins) ? plugins.filter((plugin) => isJsonObject(plugin)) : [];
  const names = entries.flatMap(({ type, ipam }) => [type, isJsonObject(ipam) ? ipam["type"] : undefined]);
  return names.filter((name): name is string => typeof name === "string" && name !== "");
}
