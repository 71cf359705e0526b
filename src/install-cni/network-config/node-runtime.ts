/**
 * The node's container runtime, as its kubelet tells the API server. A runtime refuses the result of every ADD, so that no pod starts, if
 * the network config has a CNI version that it does not know.
 */

import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { PluginAccount } from "../account/plugin-account.ts";
import type { InstallHost } from "../host.ts";
import type { Settings } from "../settings/settings.ts";
import { NEWEST, SAFE, saysNewest } from "./chained-version.ts";
import { atVersion } from "./conflist.ts";

/** containerd 1: its CNI library knows 1.0.0 at most. */
const OLD_RUNTIME = /^containerd:\/\/[01]\./;

/** Keeps in mind what was said of the runtime: only what is new is said. */
export class NodeRuntime {
  readonly #settings: Pick<Settings, "nodeName" | "template">;
  readonly #account: Pick<PluginAccount, "readRuntime">;
  readonly #stopped: AbortSignal;
  readonly #log: Log;
  #last: string | undefined;

  constructor(
    settings: Pick<Settings, "nodeName" | "template">,
    account: Pick<PluginAccount, "readRuntime">,
    { stopped }: Pick<InstallHost, "stopped">,
    log: Log,
  ) {
    this.#settings = settings;
    this.#account = account;
    this.#stopped = stopped;
    this.#log = log;
  }

  /**
   * Changes our network config to a version that the runtime knows; about a config from a template it only warns.
   *
   * @param config as it is for a runtime that knows all versions
   * @returns undefined when the runtime is unknown
   */
  async adapt(config: string, token: string): Promise<string | undefined> {
    const { nodeName, template } = this.#settings;
    if (nodeName === undefined || !saysNewest(config)) return config;
    const runtime = await this.#read(nodeName, token);
    if (runtime === undefined) return undefined;
    const isOld = OLD_RUNTIME.test(runtime);
    if (isOld && runtime !== this.#last) this.#warnOf(runtime);
    this.#last = runtime;
    return isOld && template === undefined ? atVersion(config, SAFE) : config;
  }

  async #read(nodeName: string, token: string): Promise<string | undefined> {
    try {
      return await this.#account.readRuntime(nodeName, token, this.#stopped);
    } catch (thrown) {
      this.#stopped.throwIfAborted();
      this.#log.debug("nobody knows which container runtime the node has", { reason: messageOf(thrown) });
      return undefined;
    }
  }

  #warnOf(runtime: string): void {
    if (this.#settings.template === undefined)
      this.#log.warning(`the node's container runtime keeps the network config at CNI ${SAFE}: no STATUS and no GC`, { runtime });
    else
      this.#log.warning(`the node's container runtime does not know CNI ${NEWEST}: no pod will start`, {
        runtime,
        want: `cniVersion ${SAFE}`,
      });
  }
}
