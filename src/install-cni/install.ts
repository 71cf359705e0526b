/** The steps of an installation, in an order that leaves a working node after each: a file comes after those that it refers to. */

import type { Log } from "../lib/log/log.ts";
import { requestFirstToken } from "./account/first-token.ts";
import { toKubeconfig } from "./account/kubeconfig.ts";
import { type Grant, isAccepted, PluginAccount } from "./account/plugin-account.ts";
import { placeBinaries } from "./binaries.ts";
import { ConfFolder } from "./conf-folder.ts";
import { ConfigFile } from "./config-file.ts";
import { openFolders, requireWritable } from "./folders.ts";
import type { InstallHost } from "./host.ts";
import { warnOfMoves, warnOfNodeName } from "./network-config/config-moves.ts";
import { EarlierConfigs } from "./network-config/earlier-configs.ts";
import { makeConfigText } from "./network-config/config-text.ts";
import { warnOfMissingPlugins, warnOfOldPlugins } from "./network-config/named-plugins.ts";
import { NodeRuntime } from "./network-config/node-runtime.ts";
import { warnOfSettings } from "./settings-warnings.ts";
import type { Settings } from "./settings/settings.ts";
import { readTlsAssets, type TlsAssets } from "./tls-assets.ts";

/** An installation on this node: made once, then kept in its intended state. */
export class Installation implements Disposable {
  readonly #settings: Settings;
  readonly #host: InstallHost;
  readonly #log: Log;
  readonly #binDir: string;
  readonly #conf: ConfFolder;
  readonly #configFile: ConfigFile;
  readonly #account: PluginAccount | undefined;
  readonly #runtime: NodeRuntime | undefined;
  readonly #earlierConfigs: EarlierConfigs;
  #assets: TlsAssets = {};
  /** Our config for a runtime that knows all versions; undefined until it is made. */
  #newest: string | undefined;
  /** Our config for this node's runtime. */
  #config: string | undefined;
  #grant: Grant | undefined;

  /** Changes nothing, except that it makes folders that were named. @throws NetplugError invalidConfig, ioFailure */
  constructor(settings: Settings, host: InstallHost, log: Log) {
    this.#settings = settings;
    this.#host = host;
    this.#log = log;
    const { bin, conf } = openFolders(settings, host.disk);
    this.#binDir = bin;
    this.#conf = new ConfFolder(conf, host, log);
    this.#configFile = new ConfigFile(conf, settings, host, log);
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
    requireWritable(this.#conf.path, this.#host.disk);
    this.#assets = readTlsAssets(settings.tlsAssetsDir, this.#host.disk);
    warnOfSettings(settings, this.#assets, this.#log);
    const newest = await makeConfigText(this.#assets, { settings, binDir: this.#binDir, host: this.#host, log: this.#log });
    await this.#account?.requireReadable();
    warnOfNodeName(newest, settings.nodeName, this.#log);
    this.#newest = newest;
    this.#config = newest;
    await this.#placeBinaries(settings.updatesBinaries);
    // Of our own config's the choice of its version has warned.
    if (settings.template !== undefined) {
      warnOfMissingPlugins(newest, settings.template, this.#binDir, { disk: this.#host.disk, log: this.#log });
      await warnOfOldPlugins(newest, this.#binDir, this.#host, this.#log);
    }
    if (this.#account !== undefined) this.#grant = await requestFirstToken(this.#account, settings.isOnce, this.#host, this.#log);
    const config = (await this.#adaptToRuntime(newest)) ?? newest;
    this.#config = config;
    const kubeconfig = await this.#makeKubeconfig();
    await this.#conf.locked(() => {
      this.#conf.writeAssets(this.#assets);
      if (kubeconfig !== undefined) this.#conf.writeKubeconfig(kubeconfig);
      for (const before of this.#configFile.readReplaced()) warnOfMoves(before, config, this.#log);
      this.#configFile.write(config);
      this.#configFile.removeOld();
      this.#conf.removeOtherAssets(this.#assets);
      this.#earlierConfigs.warnOfNew(this.#conf.path);
    });
  }

  /** Replaces the token. @throws NetplugError */
  async renewToken(): Promise<void> {
    if (this.#account === undefined) return;
    this.#grant = await this.#account.requestToken(this.#host.stopped);
    const kubeconfig = await this.#makeKubeconfig();
    if (kubeconfig !== undefined) await this.#conf.locked(() => this.#conf.writeKubeconfig(kubeconfig));
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
    await this.#conf.locked(() => {
      if (before !== undefined && this.#configFile.holds(before)) this.#configFile.write(config);
    });
    this.#config = config;
  }

  /** Whether the kubeconfig still lets the plugin in; true also when the API server cannot be asked. */
  async isTokenAccepted(): Promise<boolean> {
    return this.#grant === undefined || (await isAccepted(this.#conf.kubeconfigPath, this.#host));
  }

  /**
   * Restores what somebody removed or emptied, folders too, and copies certificates that have changed. Another file that differs from ours is
   * left alone: a newer installer may have written it. Warns of network configs that come before ours by now, and of a link to no file in its place.
   *
   * @throws NetplugError, LostFolder when it never can
   */
  async reconcile(): Promise<void> {
    const { disk } = this.#host;
    const { tlsAssetsDir } = this.#settings;
    openFolders(this.#settings, disk);
    this.#earlierConfigs.warnOfNew(this.#conf.path);
    this.#configFile.warnIfUseless();
    await this.#placeBinaries(false);
    const kubeconfig = await this.#makeKubeconfig();
    // The network config names the files that existed before: the copy of one that is gone stays.
    this.#assets = { ...this.#assets, ...readTlsAssets(tlsAssetsDir, disk) };
    const mustCopy = this.#conf.lacksAssets(this.#assets);
    const isAccessOld = kubeconfig !== undefined && this.#conf.lacksKubeconfig(kubeconfig);
    const isConfigGone = this.#configFile.isGone;
    if (!mustCopy && !isAccessOld && !isConfigGone) return;
    await this.#conf.locked(() => {
      if (mustCopy) this.#conf.writeAssets(this.#assets);
      if (isAccessOld) this.#conf.writeKubeconfig(kubeconfig);
      if (isConfigGone && this.#config !== undefined) this.#configFile.write(this.#config);
    });
  }

  /**
   * Removes the network config, unless it is no longer ours: the runtime then knows that pods get no network here.
   *
   * @returns what became of it: `removed`; `gone` before, or emptied; or `left`, because it is another one
   * @throws NetplugError
   */
  async removeConfig(): Promise<"removed" | "gone" | "left"> {
    // Somebody who takes a node out of use may have removed the whole folder.
    if (this.#host.disk.stat(this.#conf.path) === undefined) return "gone";
    const remove = (): boolean => this.#config !== undefined && this.#configFile.remove(this.#config);
    // Not the installer's own signal: that has aborted, which is why we are here.
    if (await this.#conf.locked(remove, new AbortController().signal)) return "removed";
    return this.#configFile.isGone ? "gone" : "left";
  }

  /** @returns undefined when the runtime is unknown */
  async #adaptToRuntime(newest: string): Promise<string | undefined> {
    return this.#grant === undefined ? undefined : await this.#runtime?.adapt(newest, this.#grant.token);
  }

  async #placeBinaries(updates: boolean): Promise<void> {
    await placeBinaries(this.#binDir, { skipped: this.#settings.skippedBinaries, updates }, this.#host, this.#log);
  }

  async #makeKubeconfig(): Promise<string | undefined> {
    if (this.#account === undefined || this.#grant === undefined) return undefined;
    return toKubeconfig(await this.#account.readServer(), this.#settings.account, this.#grant.token);
  }
}
