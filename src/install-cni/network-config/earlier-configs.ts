/** Network configs of others that the runtime takes in the place of ours, such as the one of the network plugin before. */

import type { Log } from "../../lib/log/log.ts";
import type { DurableFiles } from "../files/durable-files.ts";

/** Looks for them, and warns of each once: its plugin may write it only after ours was put in place, and every ten seconds is too often. */
export class EarlierConfigs {
  readonly #confName: string;
  readonly #disk: Pick<DurableFiles, "list">;
  readonly #log: Log;
  #known: readonly string[] = [];

  /** @param confName the name of ours */
  constructor(confName: string, disk: Pick<DurableFiles, "list">, log: Log) {
    this.#confName = confName;
    this.#disk = disk;
    this.#log = log;
  }

  /** Warns if there is one that the last call has not seen: containerd and CRI-O take the first config in order of names. */
  warnOfNew(folder: string): void {
    const found = this.#disk.list(folder) ?? [];
    const names = found.filter((name) => /\.(?:conflist|conf|json)$/.test(name) && name < this.#confName).sort();
    const isNew = names.some((name) => !this.#known.includes(name));
    this.#known = names;
    if (!isNew) return;
    const want = "remove it, by CNI_OLD_CONF_NAME for instance, or set CNI_CONF_NAME to a name before it";
    this.#log.warning("another network config comes first: unless it calls ours, as Multus does, pods get the other network", {
      names,
      want,
    });
  }
}
