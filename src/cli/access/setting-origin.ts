/** Which option, variable or file a setting of datastore access comes from, for messages. */

import { DATASTORE_VARIABLES, type DatastoreSettings, type SettingName, variableOf } from "../../datastore/config/datastore-settings.ts";
import { renameSettings } from "../../datastore/config/rename-settings.ts";
import type { NetplugError } from "../../lib/errors.ts";
import { toSourceText } from "../../lib/source-name.ts";
import type { Cli } from "../io.ts";
import { DEFAULT_CONFIG_FILE } from "./config-file.ts";

/** The option, variable or file that a setting comes from. */
export function originOf(name: SettingName, { io, options }: Pick<Cli, "io" | "options">): string {
  if (name === "kubeconfig" && options.kubeconfig !== undefined) return "--kubeconfig";
  return variableOf(name, io.env) ?? `${name} in ${toSourceText(options.config ?? DEFAULT_CONFIG_FILE)}`;
}

/**
 * The failure, whose message names settings by the keys of network configs, with the origin of each in place of its key.
 *
 * @param settings those that are set; the others are named by their variable
 */
export function nameOrigins(failure: NetplugError, settings: DatastoreSettings, cli: Pick<Cli, "io" | "options">): NetplugError {
  return renameSettings(failure, (name) => (settings[name] === undefined ? DATASTORE_VARIABLES[name] : originOf(name, cli)));
}
