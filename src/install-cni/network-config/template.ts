/** A network config with placeholders, as people keep it in a ConfigMap. */

import { isName } from "../../lib/characters.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { isJsonObject, parseJson } from "../../lib/json.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { findMisfitOfList, findMisfitOfPlugin, type Misfit } from "./libcni-keys.ts";

/** Values by the name between the underscores. */
export type Placeholders = Readonly<Record<string, string>>;

const PLACEHOLDER = /__([A-Z0-9]+(?:_[A-Z0-9]+)*)__/g;

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
  const refuse = (reason: string): never => {
    throw new NetplugError("invalidConfig", `read ${origin}: ${reason}`);
  };
  const refuseMisfit = (misfit: Misfit | undefined, where = ""): void => {
    if (misfit !== undefined) refuse(`"${where}${misfit.name}": got ${quoteValue(misfit.value)}, want ${misfit.want}`);
  };
  let document: unknown;
  try {
    document = parseJson(text);
  } catch (cause) {
    refuse(messageOf(cause));
  }
  if (!isJsonObject(document)) return refuse(`got ${quoteValue(document)}, want a JSON object`);
  const { name, plugins, type } = document;
  if (typeof name !== "string" || !isName(name, "_.-")) refuse(`"name": got ${quoteValue(name)}, want letters, digits, "_", "." and "-"`);
  if (fileName.endsWith(".conflist") || plugins !== undefined) {
    if (!fileName.endsWith(".conflist"))
      refuse(`it is a list of plugins, and ${quote(fileName)} is no name for one: want .conflist; set CNI_CONF_NAME`);
    if (plugins === undefined && type !== undefined) {
      const choice = "make it a list, or set CNI_CONF_NAME to a name that ends in .conf";
      refuse(`"plugins": got nothing, want a list of plugins: a single one is not read from ${quote(fileName)}; ${choice}`);
    }
    if (!Array.isArray(plugins) || plugins.length === 0) return refuse(`"plugins": got ${quoteValue(plugins)}, want a list of plugins`);
    for (const [index, plugin] of plugins.entries()) {
      const own: unknown = isJsonObject(plugin) ? plugin["type"] : undefined;
      if (typeof own !== "string" || own === "") refuse(`"plugins[${index}].type": got ${quoteValue(own)}, want the name of a plugin`);
    }
    refuseMisfit(findMisfitOfList(document));
    for (const [index, plugin] of plugins.entries())
      if (isJsonObject(plugin)) refuseMisfit(findMisfitOfPlugin(plugin), `plugins[${index}].`);
  } else if (typeof type !== "string" || type === "") refuse(`"type": got ${quoteValue(type)}, want the name of a plugin`);
  else refuseMisfit(findMisfitOfPlugin(document));
}
