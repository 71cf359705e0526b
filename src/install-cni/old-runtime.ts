/**
 * Container runtimes that do not know the newest CNI version: of a network config that says it they refuse the result of every ADD, so that no pod
 * starts. Which runtime the node has is known to its kubelet, which tells the API server.
 */

import { messageOf } from "../lib/errors.ts";
import { isJsonObject, parseJson } from "../lib/json.ts";
import type { Log } from "../lib/log.ts";
import { NEWEST, SAFE } from "./chained-version.ts";
import { atVersion } from "./conflist.ts";
import type { InstallHost } from "./host.ts";
import type { PluginAccount } from "./plugin-account.ts";
import type { Settings } from "./settings.ts";

/** containerd 1: its CNI library knows 1.0.0 at most. */
const OLD_RUNTIME = /^containerd:\/\/[01]\./;

/**
 * Makes a network config of ours one that the node's runtime knows; of a template's it only warns.
 *
 * @param ask asks which runtime the node has
 */
export async function suitRuntime(
  config: string,
  { nodeName, template }: Settings,
  ask: { readonly account: Pick<PluginAccount, "readRuntime">; readonly token: string },
  { stopped }: Pick<InstallHost, "stopped">,
  log: Log,
): Promise<string> {
  if (nodeName === undefined || !saysNewest(config)) return config;
  const runtime = await ask.account.readRuntime(nodeName, ask.token, stopped).catch((thrown: unknown) => {
    stopped.throwIfAborted();
    log.debug("nobody knows which container runtime the node has", { reason: messageOf(thrown) });
    return undefined;
  });
  if (runtime === undefined || !OLD_RUNTIME.test(runtime)) return config;
  if (template !== undefined) {
    log.warning(`the node's container runtime does not know CNI ${NEWEST}: no pod will start`, { runtime, want: `cniVersion ${SAFE}` });
    return config;
  }
  log.warning(`the node's container runtime keeps the network config at CNI ${SAFE}: no STATUS and no GC`, { runtime });
  return atVersion(config, SAFE);
}

function saysNewest(config: string): boolean {
  const document = parseJson(config);
  return isJsonObject(document) && document["cniVersion"] === NEWEST;
}
