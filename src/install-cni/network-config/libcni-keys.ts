/** Keys of a network config that libcni reads itself, whatever plugin they are for: it refuses the whole config for one of another type. */

import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";

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

/** As Go's `encoding/json`, which takes the letters of an object's keys in either case. */
const isNamed = (key: string, name: string): boolean => key.toUpperCase() === name.toUpperCase();

type Fields = Readonly<Record<string, (value: unknown) => boolean>>;

const isObjectOrNull = (value: unknown, fields: Fields = {}): boolean =>
  value === null ||
  (isJsonObject(value) &&
    Object.entries(value).every(([key, field]) => Object.entries(fields).every(([name, fits]) => !isNamed(key, name) || fits(field))));

const isFlagsOrNull = (value: unknown): boolean =>
  value === null || (isJsonObject(value) && Object.values(value).every((flag) => flag === null || typeof flag === "boolean"));

const OF_IPAM: Fields = { type: isTextOrNull };
const OF_DNS: Fields = { nameservers: isTextsOrNull, domain: isTextOrNull, search: isTextsOrNull, options: isTextsOrNull };

/** Beside `plugins`, spelt like this. @see libcni/conf.go */
const OF_LIST: readonly Key[] = [
  { name: "cniVersion", want: 'a version such as "1.1.0"', fits: isVersion },
  { name: "cniVersions", want: 'a list of versions such as "1.1.0"', fits: (value) => isList(value, isVersion) },
  ...["disableCheck", "disableGC", "loadOnlyInlinedPlugins"].map((name) => ({ name, want: "true or false", fits: isSwitch })),
];

/** Of a plugin, in any case. @see pkg/types/types.go, PluginConf */
const OF_PLUGIN: readonly Key[] = [
  ...["cniVersion", "name", "type"].map((name) => ({ name, want: "a text", fits: isTextOrNull })),
  { name: "capabilities", want: "an object with true or false for each capability", fits: isFlagsOrNull },
  { name: "ipam", want: 'an object whose "type" is a text', fits: (value) => isObjectOrNull(value, OF_IPAM) },
  {
    name: "dns",
    want: 'an object with lists of texts as "nameservers", "search" and "options", and a text as "domain"',
    fits: (value) => isObjectOrNull(value, OF_DNS),
  },
  { name: "prevResult", want: "an object", fits: (value) => isObjectOrNull(value) },
];

/** A key that does not fit, for a message that shows nothing else of the config. */
export interface Misfit {
  readonly name: string;
  readonly value: unknown;
  readonly want: string;
}

/** The first in a list of plugins. */
export function findMisfitOfList(list: JsonObject): Misfit | undefined {
  return findMisfit(list, OF_LIST, (key, name) => key === name);
}

/** The first in a plugin's part; in one that our plugins read, also a key that libcni reads in any case, and they in theirs alone. */
export function findMisfitOfPlugin(plugin: JsonObject): Misfit | undefined {
  return findMisfit(plugin, OF_PLUGIN, isNamed) ?? (isRead(plugin) ? findMisspelt(plugin) : undefined);
}

function findMisfit(object: JsonObject, keys: readonly Key[], isSame: (key: string, name: string) => boolean): Misfit | undefined {
  for (const { name, want, fits } of keys)
    for (const [key, value] of Object.entries(object)) if (isSame(key, name) && !fits(value)) return { name: key, value, want };
  return undefined;
}

/** Whether one of our plugins reads the part, as libcni understands it. */
function isRead(plugin: JsonObject): boolean {
  return Object.entries(plugin).some(
    ([key, value]) =>
      (isNamed(key, "type") && value === "netplug") || (isNamed(key, "ipam") && isJsonObject(value) && value["type"] === "netplug-ipam"),
  );
}

/** What our plugins read themselves: a runtime adds name and version in the right spelling, and reads the rest for them. */
const OURS = ["type", "ipam"];

function findMisspelt(plugin: JsonObject): Misfit | undefined {
  for (const name of OURS)
    for (const [key, value] of Object.entries(plugin))
      if (key !== name && isNamed(key, name)) return { name: key, value, want: `the spelling ${quote(name)}` };
  return undefined;
}
