/** Which option, variable or file a setting of datastore access comes from, for messages. */

import { DATASTORE_VARIABLES, type DatastoreSettings, type SettingName, variableOf } from "../datastore/datastore-settings.ts";
import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { DEFAULT_CONFIG_FILE } from "./config-file.ts";
import type { Cli } from "./io.ts";

/** The option, variable or file that a setting comes from. */
export function whoSaid(name: SettingName, { io, options }: Pick<Cli, "io" | "options">): string {
  if (name === "kubeconfig" && options.kubeconfig !== undefined) return "--kubeconfig";
  return variableOf(name, io.env) ?? `${name} in ${quote(options.config ?? DEFAULT_CONFIG_FILE)}`;
}

/** As network configs spell them, outside of quotes. */
const ETCD_WORDS = /\betcd_[a-z_]+\b(?=[^"]*(?:"[^"]*"[^"]*)*$)/g;

/**
 * A failure to use settings of etcd, which the datastore names as network configs do, with the names by which they were set.
 *
 * @param settings what is set; the rest is called by its variable
 */
export function inTheirWords(failure: NetplugError, settings: DatastoreSettings, cli: Pick<Cli, "io" | "options">): NetplugError {
  // The keys of the table are the names.
  const names = Object.keys(DATASTORE_VARIABLES) as readonly SettingName[];
  const toTheirs = (word: string): string => {
    const name = names.find((one) => DATASTORE_VARIABLES[one].toLowerCase() === word);
    if (name === undefined) return word;
    return settings[name] === undefined ? DATASTORE_VARIABLES[name] : whoSaid(name, cli);
  };
  const message = failure.message.replace(ETCD_WORDS, toTheirs);
  if (message === failure.message) return failure;
  const { kind, details, retriable, cause } = failure;
  return new NetplugError(kind, message, { retriable, cause, ...(details !== undefined && { details }) });
}
