/** Failures to use settings of etcd, in the words of whoever made the settings. For messages only. */

import { NetplugError } from "../lib/errors.ts";
import { DATASTORE_VARIABLES, type SettingName } from "./datastore-settings.ts";

/** As network configs spell them, outside of quotes. */
const ETCD_WORDS = /\betcd_[a-z_]+\b(?=[^"]*(?:"[^"]*"[^"]*)*$)/g;

/**
 * The failure, whose message names settings as network configs do, with other names.
 *
 * @param nameOf undefined: the setting keeps its name
 */
export function renameSettings(failure: NetplugError, nameOf: (name: SettingName) => string | undefined): NetplugError {
  // The keys of the table are the names.
  const names = Object.keys(DATASTORE_VARIABLES) as readonly SettingName[];
  const message = failure.message.replace(ETCD_WORDS, (word) => {
    const name = names.find((one) => DATASTORE_VARIABLES[one].toLowerCase() === word);
    return (name === undefined ? undefined : nameOf(name)) ?? word;
  });
  if (message === failure.message) return failure;
  const { kind, details, retriable, cause } = failure;
  return new NetplugError(kind, message, { retriable, cause, ...(details !== undefined && { details }) });
}
