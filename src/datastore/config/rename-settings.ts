/** Messages about settings of etcd, with each setting named as it was set: key, option, variable. */

import type { NetplugError } from "../../lib/errors.ts";
import { DATASTORE_VARIABLES, type SettingName } from "./datastore-settings.ts";

/** Keys of network configs, outside of quotes. */
const ETCD_KEYS = /\betcd_[a-z_]+\b(?=[^"]*(?:"[^"]*"[^"]*)*$)/g;

/**
 * The same failure, but its message calls settings by `nameOf` instead of by their keys in network configs.
 *
 * @param nameOf gives the other name; undefined: the key stays
 */
export function renameSettings(failure: NetplugError, nameOf: (name: SettingName) => string | undefined): NetplugError {
  // The keys of the table are the names.
  const names = Object.keys(DATASTORE_VARIABLES) as readonly SettingName[];
  const message = failure.message.replace(ETCD_KEYS, (word) => {
    const name = names.find((one) => DATASTORE_VARIABLES[one].toLowerCase() === word);
    return (name === undefined ? undefined : nameOf(name)) ?? word;
  });
  return message === failure.message ? failure : failure.reworded(message);
}
