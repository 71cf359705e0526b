/** Failures to use settings of etcd that come from the environment. Loaded only by calls that fail. */

import { settingsOfEtcd, variableOf } from "../../datastore/datastore-settings.ts";
import { renameSettings } from "../../datastore/setting-words.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { NetworkConfig } from "./network-config.ts";

/** What was thrown, with the names of variables where these, and not the network config, make a setting that the message names. */
export function inTheirWords(
  thrown: unknown,
  { etcd }: Pick<NetworkConfig, "etcd">,
  env: Readonly<Record<string, string | undefined>>,
): unknown {
  if (!(thrown instanceof NetplugError)) return thrown;
  const own = settingsOfEtcd(etcd);
  return renameSettings(thrown, (name) => (own[name] === undefined ? variableOf(name, env) : undefined));
}
