/** Our network config in the config folder of the runtime, under the name that it has now, and under the one that it had before. */

import { messageOf, NetplugError, orNothing } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { quote } from "../lib/quote.ts";
import { describeType, isLink } from "../linux/file-type.ts";
import { isGone, writeDurably } from "./files/atomic-file.ts";
import type { InstallHost } from "./host.ts";
import type { Settings } from "./settings/settings.ts";

/** It may hold a password. */
const CONFIG_PERMISSIONS = 0o600;

/** The file, and whose it is. What writes or removes it is called while its folder is locked. */
export class ConfigFile {
  readonly #folder: string;
  readonly #names: Pick<Settings, "confName" | "oldConfName">;
  readonly #host: InstallHost;
  readonly #log: Log;
  /** It was a link to no file when we last looked. */
  #isUseless = false;

  constructor(folder: string, names: Pick<Settings, "confName" | "oldConfName">, host: InstallHost, log: Log) {
    this.#folder = folder;
    this.#names = names;
    this.#host = host;
    this.#log = log;
  }

  get #path(): string {
    return `${this.#folder}/${this.#names.confName}`;
  }

  /** Whether nothing is there, or what nobody writes as a config. */
  get isGone(): boolean {
    return isGone(this.#host.disk, this.#path);
  }

  /** Warns of a symbolic link to no file here, once until that is over. It stays, since the node may see more than is mounted in a pod. */
  warnIfUseless(): void {
    const own = this.#host.disk.statLink(this.#path);
    const isUseless = own !== undefined && isLink(own) && !this.#leadsToFile;
    if (isUseless && !this.#isUseless)
      this.#log.warning("the network config is no file here, nor a link to one: unless it is on the node, pods get no network", {
        path: this.#path,
        want: "remove it, and the config is written again",
      });
    this.#isUseless = isUseless;
  }

  /** Whether the network config is this one. */
  holds(text: string): boolean {
    return this.#leadsToFile && this.#host.disk.readText(this.#path) === text;
  }

  write(text: string): void {
    const isNew = writeDurably(this.#host, this.#path, text, CONFIG_PERMISSIONS);
    if (isNew) this.#log.info("network config written", { path: this.#path });
  }

  /** Removes the network config if it is this one, else says what stays. @returns whether it was */
  remove(text: string): boolean {
    const { disk } = this.#host;
    const path = this.#path;
    if (this.holds(text)) {
      disk.remove(path);
      disk.flushFolder(this.#folder);
      this.#log.info("network config removed", { path });
      return true;
    }
    const there = disk.statLink(path);
    if (there !== undefined) this.#log.info("network config left: this installer did not write it", { path, found: describeType(there) });
    return false;
  }

  /** Texts of the configs that ours replaces. One that cannot be read does not matter here: replacing or removing it will report that. */
  readReplaced(): readonly string[] {
    const { confName, oldConfName = confName } = this.#names;
    const texts = [...new Set([confName, oldConfName])].map((name) => orNothing(() => this.#host.disk.readText(`${this.#folder}/${name}`)));
    return texts.filter((text) => text !== undefined);
  }

  /** Removes the config of the name that ours had before. */
  removeOld(): void {
    const { confName, oldConfName } = this.#names;
    const { disk } = this.#host;
    if (oldConfName === undefined || oldConfName === confName) return;
    const path = `${this.#folder}/${oldConfName}`;
    try {
      if (!disk.remove(path)) return;
      disk.flushFolder(this.#folder);
    } catch (cause) {
      throw new NetplugError("ioFailure", `remove old network config ${quote(path)}: ${messageOf(cause)}`, { cause });
    }
    this.#log.info("old network config removed", { path });
  }

  /** Whether it is a file, or a symbolic link to one here. */
  get #leadsToFile(): boolean {
    const { disk } = this.#host;
    return orNothing(() => disk.stat(this.#path))?.isRegular === true;
  }
}
