/** Keys of a network config that libcni reads itself, whatever plugin they are for: it refuses the whole config for one of another type. */

import { isJsonObject, type JsonObject } from "../../lib/json.ts";

interface Key {
  readonly name: string;
  readonly want: string;
  fits(value: unknown): boolean;
}

/** libcni takes a text, too, and its letters in either case. */
const isSwitch = (value: unknown): boolean => typeof value === "boolean" || (typeof value === "string" && /^(?:true|false)$/i.test(value));

/** An empty one stands for that of the first releases. */
const isVersion = (value: unknown): boolean => typeof value === "string" && /^(?:\d+(?:\.\d+){0,2})?$/.test(value);

const isList = (value: unknown, isElement: (element: unknown) => boolean): boolean => Array.isArray(value) && value.every(isElement);

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string";
const isTextsOrNull = (value: unknown): boolean => value === null || isList(value, isTextOrNull);

const isFlagsOrNull = (value: unknown): boolean =>
  value === null || (isJsonObject(value) && Object.values(value).every((flag) => flag === null || typeof flag === "boolean"));

const isIpam = (value: unknown): boolean => value === null || (isJsonObject(value) && isTextOrNull(value["type"] ?? null));

function isDns(value: unknown): boolean {
  if (value === null) return true;
  if (!isJsonObject(value)) return false;
  const { nameservers = null, domain = null, search = null, options = null } = value;
  return isTextOrNull(domain) && [nameservers, search, options].every(isTextsOrNull);
}

/** Beside `plugins`. @see libcni/conf.go */
const OF_LIST: readonly Key[] = [
  { name: "cniVersion", want: 'a version such as "1.1.0"', fits: isVersion },
  { name: "cniVersions", want: 'a list of versions such as "1.1.0"', fits: (value) => isList(value, isVersion) },
  ...["disableCheck", "disableGC", "loadOnlyInlinedPlugins"].map((name) => ({ name, want: "true or false", fits: isSwitch })),
];

/** Of a plugin. @see pkg/types/types.go, PluginConf */
const OF_PLUGIN: readonly Key[] = [
  ...["cniVersion", "name"].map((name) => ({ name, want: "a text", fits: isTextOrNull })),
  { name: "capabilities", want: "an object with true or false for each capability", fits: isFlagsOrNull },
  { name: "ipam", want: 'an object whose "type" is a text', fits: isIpam },
  { name: "dns", want: 'an object with lists of texts as "nameservers", "search" and "options", and a text as "domain"', fits: isDns },
  { name: "prevResult", want: "an object", fits: (value) => value === null || isJsonObject(value) },
];

/** A key that does not fit, for a message that shows nothing else of the config. */
export interface Misfit {
  readonly name: string;
  readonly value: unknown;
  readonly want: string;
}

/** The first in a list of plugins. */
export function findMisfitOfList(list: JsonObject): Misfit | undefined {
  return findMisfit(list, OF_LIST);
}

/** The first in a plugin's part. */
export function findMisfitOfPlugin(plugin: JsonObject): Misfit | undefined {
  return findMisfit(plugin, OF_PLUGIN);
}

function findMisfit(object: JsonObject, keys: readonly Key[]): Misfit | undefined {
  const key = keys.find(({ name, fits }) => object[name] !== undefined && !fits(object[name]));
  return key === undefined ? undefined : { name: key.name, value: object[key.name], want: key.want };
}
