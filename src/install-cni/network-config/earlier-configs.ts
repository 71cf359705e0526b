/** Network configs of others that the runtime takes in the place of ours, such as the one of the network plugin before. */

import type { Log } from "../../lib/log/log.ts";
import type { DurableFiles } from "../files/durable-files.ts";

/** Warns of them: containerd and CRI-O take the first config in order of names. */
export function warnOfEarlierConfigs(folder: string, confName: string, disk: Pick<DurableFiles, "list">, log: Log): void {
  const names = disk.list(folder)?.filter((name) => /\.(?:conflist|conf|json)$/.test(name) && name < confName) ?? [];
  if (names.length === 0) return;
  const want = "remove it, by CNI_OLD_CONF_NAME for instance, or set CNI_CONF_NAME to a name before it";
  log.warning("another network config comes first: unless it calls ours, as Multus does, pods get the other network", {
    names: names.sort(),
    want,
  });
}
