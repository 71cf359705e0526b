/** Messages about settings of etcd that come from the environment: they name the variable. Loaded only by calls that fail. */

import { settingsOfEtcd, variableOf } from "../../datastore/config/datastore-settings.ts";
import { renameSettings } from "../../datastore/config/rename-settings.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { NetworkConfig } from "./network-config.ts";

/** What was thrown; where its message names a setting that the environment made, and not the network config, it names the variable. */
export function nameVariables(
  thrown: unknown,
  { etcd }: Pick<NetworkConfig, "etcd">,
  env: Readonly<Record<string, string | undefined>>,
): unknown {
  if (!(thrown instanceof NetplugError)) return thrown;
  const own = settingsOfEtcd(etcd);
  return renameSettings(thrown, (name) => (own[name] === undefined ? variableOf(name, env) : undefined));
}
