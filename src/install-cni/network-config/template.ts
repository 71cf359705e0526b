/** A network config with placeholders, as people keep it in a ConfigMap. */

import { isName } from "../../lib/characters.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../lib/json.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { findMisfitOfList, findMisfitOfPlugin, type Misfit } from "./libcni-keys.ts";

/** Values by the name between the underscores. */
export type Placeholders = Readonly<Record<string, string>>;

const PLACEHOLDER = /__([A-Z0-9]+(?:_[A-Z0-9]+)*)__/g;

/** Of a file that holds a list of plugins, which no other does. */
const LIST_EXTENSION = ".conflist";

/** What other installers fill in and we do not. */
const REFUSED: Readonly<Record<string, string>> = {
  SERVICEACCOUNT_TOKEN: "a token in a network config would not be renewed; use __KUBECONFIG_FILEPATH__",
};

/**
 * Puts values into their places, as parts of JSON texts: nothing that a value holds can end the text that it is put into.
 *
 * @param origin for messages, which never show the text: it may hold a password
 * @throws NetplugError invalidConfig for a placeholder that nobody knows
 */
export function fillTemplate(text: string, values: Placeholders, origin: string): string {
  return text.replace(PLACEHOLDER, (placeholder, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value !== undefined) return JSON.stringify(value).slice(1, -1);
    const near = nearestName(name, Object.keys(values));
    const advice = REFUSED[name] ?? (near === undefined ? "see docs/install.md for those that there are" : `was __${near}__ meant?`);
    throw new NetplugError("invalidConfig", `fill in ${origin}: ${placeholder} is no placeholder; ${advice}`);
  });
}

/**
 * Checks what a runtime needs to take a network config for one at all; what is in a plugin's part, that plugin checks.
 *
 * @param fileName whose extension says whether it must be a list
 * @throws NetplugError invalidConfig
 */
export function checkNetworkConfig(text: string, fileName: string, origin: string): void {
  const fault = findFault(text, fileName);
  if (fault !== undefined) throw new NetplugError("invalidConfig", `read ${origin}: ${fault}`);
}

/** @returns why no runtime would take it from this file */
function findFault(text: string, fileName: string): string | undefined {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (cause) {
    return messageOf(cause);
  }
  if (!isJsonObject(document)) return `got ${quoteValue(document)}, want a JSON object`;
  const { name, plugins } = document;
  if (typeof name !== "string" || !isName(name, "_.-")) return `"name": got ${quoteValue(name)}, want letters, digits, "_", "." and "-"`;
  if (fileName.endsWith(LIST_EXTENSION)) return findFaultOfList(document, fileName);
  if (plugins === undefined) return findFaultOfPlugin(document);
  return `it is a list of plugins, and ${quote(fileName)} is no name for one: want ${LIST_EXTENSION}; set CNI_CONF_NAME`;
}

function findFaultOfList(document: JsonObject, fileName: string): string | undefined {
  const { plugins, type } = document;
  if (plugins === undefined && type !== undefined) {
    const choice = "make it a list, or set CNI_CONF_NAME to a name that ends in .conf";
    return `"plugins": got nothing, want a list of plugins: a single one is not read from ${quote(fileName)}; ${choice}`;
  }
  if (!Array.isArray(plugins) || plugins.length === 0) return `"plugins": got ${quoteValue(plugins)}, want a list of plugins`;
  for (const [index, plugin] of plugins.entries()) {
    const own: unknown = isJsonObject(plugin) ? plugin["type"] : undefined;
    if (!isPluginName(own)) return `"plugins[${index}].type": got ${quoteValue(own)}, want the name of a plugin`;
  }
  const misfit = findMisfitOfList(document);
  if (misfit !== undefined) return toMisfitText(misfit);
  for (const [index, plugin] of plugins.entries()) {
    const own = isJsonObject(plugin) ? findMisfitOfPlugin(plugin) : undefined;
    if (own !== undefined) return toMisfitText(own, `plugins[${index}].`);
  }
  return undefined;
}

function findFaultOfPlugin(document: JsonObject): string | undefined {
  const { type } = document;
  if (!isPluginName(type)) return `"type": got ${quoteValue(type)}, want the name of a plugin`;
  const misfit = findMisfitOfPlugin(document);
  return misfit && toMisfitText(misfit);
}

function isPluginName(type: unknown): boolean {
  return typeof type === "string" && type !== "";
}

/** @param where the entry is that has it: `plugins[0].` */
function toMisfitText({ name, value, want }: Misfit, where = ""): string {
  return `"${where}${name}": got ${quoteValue(value)}, want ${want}`;
}
