/** Which option, variable or file a setting of datastore access comes from, for messages. */

import { DATASTORE_VARIABLES, type DatastoreSettings, type SettingName, variableOf } from "../../datastore/datastore-settings.ts";
import { renameSettings } from "../../datastore/setting-words.ts";
import type { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Cli } from "../io.ts";
import { DEFAULT_CONFIG_FILE } from "./config-file.ts";

/** The option, variable or file that a setting comes from. */
export function whoSaid(name: SettingName, { io, options }: Pick<Cli, "io" | "options">): string {
  if (name === "kubeconfig" && options.kubeconfig !== undefined) return "--kubeconfig";
  return variableOf(name, io.env) ?? `${name} in ${quote(options.config ?? DEFAULT_CONFIG_FILE)}`;
}

/**
 * A failure to use settings of etcd, which the datastore names as network configs do, with the names by which they were set.
 *
 * @param settings what is set; the rest is called by its variable
 */
export function inTheirWords(failure: NetplugError, settings: DatastoreSettings, cli: Pick<Cli, "io" | "options">): NetplugError {
  return renameSettings(failure, (name) => (settings[name] === undefined ? DATASTORE_VARIABLES[name] : whoSaid(name, cli)));
}
