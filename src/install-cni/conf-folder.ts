/** Our files in the config folder of the runtime: the network config, the kubeconfig, and copies of the certificates for etcd. */

import { messageOf, NetplugError, orNothing } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { quote } from "../lib/quote.ts";
import { describeType, isLink } from "../linux/file-type.ts";
import { KUBECONFIG_PERMISSIONS } from "./account/kubeconfig.ts";
import { isGone, writeDurably } from "./files/atomic-file.ts";
import { withFolderLock } from "./files/folder-lock.ts";
import type { InstallHost } from "./host.ts";
import { KUBECONFIG_NAME } from "./settings/file-names.ts";
import type { Settings } from "./settings/settings.ts";
import { hasTlsCopies, removeTlsAssets, type TlsAssets, tlsFolderIn, writeTlsAssets } from "./tls-assets.ts";

/** It may hold a password. */
const CONFIG_PERMISSIONS = 0o600;

/** The folder, and what this installer has written there. What writes or removes is called while it is locked: by {@link locked}. */
export class ConfFolder {
  readonly path: string;
  readonly #names: Pick<Settings, "confName" | "oldConfName">;
  readonly #host: InstallHost;
  readonly #log: Log;
  /** A copy may have failed. */
  #copied: TlsAssets = {};
  #kubeconfig: string | undefined;
  /** It was a link to no file when we last looked. */
  #isUseless = false;

  constructor(path: string, names: Pick<Settings, "confName" | "oldConfName">, host: InstallHost, log: Log) {
    this.path = path;
    this.#names = names;
    this.#host = host;
    this.#log = log;
  }

  get kubeconfigPath(): string {
    return `${this.path}/${KUBECONFIG_NAME}`;
  }

  get #configPath(): string {
    return `${this.path}/${this.#names.confName}`;
  }

  /** Works in it while no other installer does. @throws NetplugError */
  async locked(work: () => void, stopped = this.#host.stopped): Promise<void> {
    await withFolderLock({ ...this.#host, stopped }, this.path, work, [tlsFolderIn(this.path)]);
  }

  /** Whether these were not copied yet, or a copy is gone. */
  lacksAssets(assets: TlsAssets): boolean {
    return JSON.stringify(assets) !== JSON.stringify(this.#copied) || !hasTlsCopies(this.path, assets, this.#host.disk);
  }

  writeAssets(assets: TlsAssets): void {
    const names = writeTlsAssets(this.path, assets, this.#host);
    this.#copied = assets;
    if (names.length > 0) this.#log.info("etcd certificates copied", { names });
  }

  /** Removes copies of what these lack. */
  removeOtherAssets(assets: TlsAssets): void {
    const names = removeTlsAssets(this.path, assets, this.#host.disk);
    if (names.length > 0) this.#log.info("etcd certificates removed", { names });
  }

  /** Whether this one was not written yet, or is gone. */
  lacksKubeconfig(text: string): boolean {
    return text !== this.#kubeconfig || isGone(this.#host.disk, this.kubeconfigPath);
  }

  writeKubeconfig(text: string): void {
    const isNew = writeDurably(this.#host, this.kubeconfigPath, text, KUBECONFIG_PERMISSIONS);
    this.#kubeconfig = text;
    if (isNew) this.#log.info("access to the Kubernetes API written", { path: this.kubeconfigPath });
  }

  get isConfigGone(): boolean {
    return isGone(this.#host.disk, this.#configPath);
  }

  /** Warns of a symbolic link to no file here, once until that is over. It stays, since the node may see more than is mounted in a pod. */
  warnOfUselessConfig(): void {
    const own = this.#host.disk.statLink(this.#configPath);
    const isUseless = own !== undefined && isLink(own) && !this.#leadsToFile;
    if (isUseless && !this.#isUseless)
      this.#log.warning("the network config is no file here, nor a link to one: unless it is on the node, pods get no network", {
        path: this.#configPath,
        want: "remove it, and the config is written again",
      });
    this.#isUseless = isUseless;
  }

  /** Whether it is a file, or a symbolic link to one here. */
  get #leadsToFile(): boolean {
    const { disk } = this.#host;
    return orNothing(() => disk.stat(this.#configPath))?.isRegular === true;
  }

  /** Whether the network config is this one. */
  hasConfig(text: string): boolean {
    return this.#leadsToFile && this.#host.disk.readText(this.#configPath) === text;
  }

  writeConfig(text: string): void {
    const isNew = writeDurably(this.#host, this.#configPath, text, CONFIG_PERMISSIONS);
    if (isNew) this.#log.info("network config written", { path: this.#configPath });
  }

  /** Removes the network config if it is this one, else says what stays. @returns whether it was */
  removeConfig(text: string): boolean {
    const { disk } = this.#host;
    const path = this.#configPath;
    const isOurs = this.hasConfig(text);
    if (isOurs) {
      disk.remove(path);
      disk.flushFolder(this.path);
      this.#log.info("network config removed", { path });
    } else {
      const there = disk.statLink(path);
      if (there !== undefined) this.#log.info("network config left: this installer did not write it", { path, found: describeType(there) });
    }
    return isOurs;
  }

  /** Texts of the configs that ours replaces. */
  replacedConfigs(): readonly string[] {
    const { confName, oldConfName = confName } = this.#names;
    const texts = [...new Set([confName, oldConfName])].map((name) => this.#tryRead(`${this.path}/${name}`));
    return texts.filter((text) => text !== undefined);
  }

  /** A file that cannot be read does not matter here: replacing or removing it will report that. */
  #tryRead(path: string): string | undefined {
    try {
      return this.#host.disk.readText(path);
    } catch {
      return undefined;
    }
  }

  /** Removes the config of the name that ours had before. */
  removeOldConfig(): void {
    const { confName, oldConfName } = this.#names;
    const { disk } = this.#host;
    if (oldConfName === undefined || oldConfName === confName) return;
    const path = `${this.path}/${oldConfName}`;
    try {
      if (!disk.remove(path)) return;
      disk.flushFolder(this.path);
    } catch (cause) {
      throw new NetplugError("ioFailure", `remove old network config ${quote(path)}: ${messageOf(cause)}`, { cause });
    }
    this.#log.info("old network config removed", { path });
  }
}
