/** The steps of an installation, in an order that leaves a working node after each: a file comes after those that it refers to. */

import { messageOf, NetplugError } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import { quote } from "../lib/quote.ts";
import { requestFirstToken } from "./account/first-token.ts";
import { KUBECONFIG_PERMISSIONS, toKubeconfig } from "./account/kubeconfig.ts";
import { type Grant, isAccepted, PluginAccount } from "./account/plugin-account.ts";
import { placeBinaries } from "./binaries.ts";
import { isGone, writeDurably } from "./files/atomic-file.ts";
import { withFolderLock } from "./files/folder-lock.ts";
import { type Folders, openFolders, requireWritable } from "./folders.ts";
import type { InstallHost } from "./host.ts";
import { warnOfMoves, warnOfNodeName } from "./network-config/config-moves.ts";
import { EarlierConfigs } from "./network-config/earlier-configs.ts";
import { makeConfigText } from "./network-config/config-text.ts";
import { warnOfMissingPlugins, warnOfOldPlugins } from "./network-config/named-plugins.ts";
import { NodeRuntime } from "./network-config/node-runtime.ts";
import { warnOfSettings } from "./settings-warnings.ts";
import { KUBECONFIG_NAME } from "./settings/file-names.ts";
import type { Settings } from "./settings/settings.ts";
import { hasTlsCopies, readTlsAssets, type TlsAssets, tlsFolderIn, writeTlsAssets } from "./tls-assets.ts";

/** It may hold a password. */
const CONFIG_PERMISSIONS = 0o600;

/** An installation on this node: made once, then kept in its intended state. */
export class Installation implements Disposable {
  readonly #settings: Settings;
  readonly #host: InstallHost;
  readonly #log: Log;
  readonly #folders: Folders;
  readonly #account: PluginAccount | undefined;
  readonly #runtime: NodeRuntime | undefined;
  readonly #earlierConfigs: EarlierConfigs;
  #assets: TlsAssets = {};
  /** Those that were copied to the host; a copy may have failed. */
  #copied: TlsAssets = {};
  /** Our config for a runtime that knows all versions; undefined until it is made. */
  #newest: string | undefined;
  /** Our config for this node's runtime. */
  #config: string | undefined;
  #kubeconfig: string | undefined;
  #grant: Grant | undefined;

  /** Changes nothing, except that it makes folders that were named. @throws NetplugError invalidConfig, ioFailure */
  constructor(settings: Settings, host: InstallHost, log: Log) {
    this.#settings = settings;
    this.#host = host;
    this.#log = log;
    this.#folders = openFolders(settings, host.disk);
    this.#earlierConfigs = new EarlierConfigs(settings.confName, host.disk, log);
    this.#account = settings.kube === undefined ? undefined : new PluginAccount(settings, settings.kube, host);
    this.#runtime = this.#account === undefined ? undefined : new NodeRuntime(settings, this.#account, host, log);
  }

  [Symbol.dispose](): void {
    this.#account?.[Symbol.dispose]();
  }

  /** The token that is in the kubeconfig; undefined when there is none. */
  get grant(): Grant | undefined {
    return this.#grant;
  }

  /** Puts everything in its place. What can be checked is checked before anything is changed. @throws NetplugError */
  async install(): Promise<void> {
    const settings = this.#settings;
    requireWritable(this.#folders.conf, this.#host.disk);
    this.#assets = readTlsAssets(settings.tlsAssetsDir, this.#host.disk);
    warnOfSettings(settings, this.#assets, this.#log);
    const newest = await makeConfigText(this.#assets, { settings, binDir: this.#folders.bin, host: this.#host, log: this.#log });
    warnOfNodeName(newest, settings.nodeName, this.#log);
    this.#newest = newest;
    this.#config = newest;
    await this.#placeBinaries(settings.updatesBinaries);
    // Of our own config's the choice of its version has warned.
    if (settings.template !== undefined) {
      warnOfMissingPlugins(newest, settings.template, this.#folders.bin, { disk: this.#host.disk, log: this.#log });
      await warnOfOldPlugins(newest, this.#folders.bin, this.#host, this.#log);
    }
    if (this.#account !== undefined) this.#grant = await requestFirstToken(this.#account, settings.isOnce, this.#host, this.#log);
    const config = (await this.#adaptToRuntime(newest)) ?? newest;
    this.#config = config;
    const kubeconfig = await this.#makeKubeconfig();
    await this.#inConfFolder(() => {
      this.#writeAssets();
      if (kubeconfig !== undefined) this.#writeKubeconfig(kubeconfig);
      for (const before of this.#replacedConfigs()) warnOfMoves(before, config, this.#log);
      this.#writeConfig(config);
      this.#removeOldConfig();
      this.#earlierConfigs.warnOfNew(this.#folders.conf);
    });
  }

  /** Replaces the token. @throws NetplugError */
  async renewToken(): Promise<void> {
    if (this.#account === undefined) return;
    this.#grant = await this.#account.requestToken(this.#host.stopped);
    const kubeconfig = await this.#makeKubeconfig();
    if (kubeconfig !== undefined) await this.#inConfFolder(() => this.#writeKubeconfig(kubeconfig));
  }

  /**
   * Writes the network config again if the node's runtime has changed, or is known only now. A config that differs from ours is left alone.
   *
   * @throws NetplugError
   */
  async followRuntime(): Promise<void> {
    const before = this.#config;
    const config = this.#newest === undefined ? undefined : await this.#adaptToRuntime(this.#newest);
    if (config === undefined || config === before) return;
    await this.#inConfFolder(() => {
      if (this.#host.disk.readText(this.#configPath) === before) this.#writeConfig(config);
    });
    this.#config = config;
  }

  /** Whether the kubeconfig still lets the plugin in; true also when the API server cannot be asked. */
  async isTokenAccepted(): Promise<boolean> {
    return this.#grant === undefined || (await isAccepted(this.#kubeconfigPath, this.#host));
  }

  /**
   * Restores what somebody removed or emptied, folders too, and copies certificates that have changed. Another file that differs from ours is
   * left alone: a newer installer may have written it. Warns of network configs that come before ours by now.
   *
   * @throws NetplugError, LostFolder when it never can
   */
  async reconcile(): Promise<void> {
    const { disk } = this.#host;
    openFolders(this.#settings, disk);
    this.#earlierConfigs.warnOfNew(this.#folders.conf);
    await this.#placeBinaries(false);
    const kubeconfig = await this.#makeKubeconfig();
    const mustCopy = this.#mustCopyAssets();
    const isAccessOld = kubeconfig !== undefined && (kubeconfig !== this.#kubeconfig || isGone(disk, this.#kubeconfigPath));
    const isConfigGone = isGone(disk, this.#configPath);
    if (!mustCopy && !isAccessOld && !isConfigGone) return;
    await this.#inConfFolder(() => {
      if (mustCopy) this.#writeAssets();
      if (isAccessOld) this.#writeKubeconfig(kubeconfig);
      if (isConfigGone && this.#config !== undefined) this.#writeConfig(this.#config);
    });
  }

  /**
   * Removes the network config, unless it is no longer ours: the runtime then knows that pods get no network here.
   *
   * @returns whether it was ours
   * @throws NetplugError
   */
  async removeConfig(): Promise<boolean> {
    const { disk } = this.#host;
    let isOurs = false;
    // Not the installer's own signal: that has aborted, which is why we are here.
    await this.#inConfFolder(() => {
      isOurs = this.#config !== undefined && disk.readText(this.#configPath) === this.#config;
      if (!isOurs) return;
      disk.remove(this.#configPath);
      disk.flushFolder(this.#folders.conf);
      this.#log.info("network config removed", { path: this.#configPath });
    }, new AbortController().signal);
    return isOurs;
  }

  /** @returns undefined when the runtime is unknown */
  async #adaptToRuntime(newest: string): Promise<string | undefined> {
    return this.#grant === undefined ? undefined : await this.#runtime?.adapt(newest, this.#grant.token);
  }

  get #configPath(): string {
    return `${this.#folders.conf}/${this.#settings.confName}`;
  }

  get #kubeconfigPath(): string {
    return `${this.#folders.conf}/${KUBECONFIG_NAME}`;
  }

  async #placeBinaries(updates: boolean): Promise<void> {
    await placeBinaries(this.#folders.bin, { skipped: this.#settings.skippedBinaries, updates }, this.#host, this.#log);
  }

  async #inConfFolder(work: () => void, stopped = this.#host.stopped): Promise<void> {
    const { conf } = this.#folders;
    await withFolderLock({ ...this.#host, stopped }, conf, work, [tlsFolderIn(conf)]);
  }

  async #makeKubeconfig(): Promise<string | undefined> {
    if (this.#account === undefined || this.#grant === undefined) return undefined;
    return toKubeconfig(await this.#account.readServer(), this.#settings.account, this.#grant.token);
  }

  #mustCopyAssets(): boolean {
    const { disk } = this.#host;
    // The network config names the files that existed before: the copy of one that is gone stays.
    this.#assets = { ...this.#assets, ...readTlsAssets(this.#settings.tlsAssetsDir, disk) };
    return JSON.stringify(this.#assets) !== JSON.stringify(this.#copied) || !hasTlsCopies(this.#folders.conf, this.#assets, disk);
  }

  #writeAssets(): void {
    const names = writeTlsAssets(this.#folders.conf, this.#assets, this.#host);
    this.#copied = this.#assets;
    if (names.length > 0) this.#log.info("etcd certificates copied", { names });
  }

  #writeKubeconfig(text: string): void {
    const isNew = writeDurably(this.#host, this.#kubeconfigPath, text, KUBECONFIG_PERMISSIONS);
    this.#kubeconfig = text;
    if (isNew) this.#log.info("access to the Kubernetes API written", { path: this.#kubeconfigPath });
  }

  #writeConfig(text: string): void {
    const isNew = writeDurably(this.#host, this.#configPath, text, CONFIG_PERMISSIONS);
    if (isNew) this.#log.info("network config written", { path: this.#configPath });
  }

  /** Texts of the configs that ours replaces. */
  #replacedConfigs(): readonly string[] {
    const { confName, oldConfName = confName } = this.#settings;
    const texts = [...new Set([confName, oldConfName])].map((name) => this.#tryRead(`${this.#folders.conf}/${name}`));
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

  #removeOldConfig(): void {
    const { confName, oldConfName } = this.#settings;
    const { disk } = this.#host;
    if (oldConfName === undefined || oldConfName === confName) return;
    const path = `${this.#folders.conf}/${oldConfName}`;
    try {
      if (!disk.remove(path)) return;
      disk.flushFolder(this.#folders.conf);
    } catch (cause) {
      throw new NetplugError("ioFailure", `remove old network config ${quote(path)}: ${messageOf(cause)}`, { cause });
    }
    this.#log.info("old network config removed", { path });
  }
}
