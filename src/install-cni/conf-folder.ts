/** The config folder of the runtime, and what our network config names in it: the kubeconfig, and copies of the certificates for etcd. */

import type { Log } from "../lib/log/log.ts";
import { KUBECONFIG_PERMISSIONS } from "./account/kubeconfig.ts";
import { isGone, writeDurably } from "./files/atomic-file.ts";
import { withFolderLock } from "./files/folder-lock.ts";
import type { InstallHost } from "./host.ts";
import { KUBECONFIG_NAME } from "./settings/file-names.ts";
import { hasTlsCopies, removeTlsAssets, type TlsAssets, tlsFolderIn, writeTlsAssets } from "./tls-assets.ts";

/** The folder, and what this installer has written there. What writes or removes is called while it is locked: by {@link locked}. */
export class ConfFolder {
  readonly path: string;
  readonly #host: InstallHost;
  readonly #log: Log;
  /** A copy may have failed. */
  #copied: TlsAssets = {};
  #kubeconfig: string | undefined;

  constructor(path: string, host: InstallHost, log: Log) {
    this.path = path;
    this.#host = host;
    this.#log = log;
  }

  get kubeconfigPath(): string {
    return `${this.path}/${KUBECONFIG_NAME}`;
  }

  /** Works in it while no other installer does. @throws NetplugError */
  async locked<T extends boolean | void>(work: () => T, stopped = this.#host.stopped): Promise<T> {
    return await withFolderLock({ ...this.#host, stopped }, this.path, work, [tlsFolderIn(this.path)]);
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
}
