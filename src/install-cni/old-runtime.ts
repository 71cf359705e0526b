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
 * @param config as it is for a runtime that knows all versions
 * @param ask asks which runtime the node has; `before` is what this has led to the last time: only what is new is said
 * @returns undefined where nobody knows the runtime
 */
export async function suitRuntime(
  config: string,
  { nodeName, template }: Settings,
  ask: { readonly account: Pick<PluginAccount, "readRuntime">; readonly token: string; readonly before: string | undefined },
  { stopped }: Pick<InstallHost, "stopped">,
  log: Log,
): Promise<string | undefined> {
  if (nodeName === undefined || !saysNewest(config)) return config;
  const runtime = await ask.account.readRuntime(nodeName, ask.token, stopped).catch((thrown: unknown) => {
    stopped.throwIfAborted();
    log.debug("nobody knows which container runtime the node has", { reason: messageOf(thrown) });
    return undefined;
  });
  if (runtime === undefined) return undefined;
  if (!OLD_RUNTIME.test(runtime)) return config;
  const suited = template === undefined ? atVersion(config, SAFE) : config;
  if (suited === ask.before) return suited;
  if (template === undefined)
    log.warning(`the node's container runtime keeps the network config at CNI ${SAFE}: no STATUS and no GC`, { runtime });
  else log.warning(`the node's container runtime does not know CNI ${NEWEST}: no pod will start`, { runtime, want: `cniVersion ${SAFE}` });
  return suited;
}

function saysNewest(config: string): boolean {
  const document = parseJson(config);
  return isJsonObject(document) && document["cniVersion"] === NEWEST;
}
