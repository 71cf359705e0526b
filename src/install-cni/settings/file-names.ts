/** Names of what an installation has in the folder of network configs. */

import { hasControlCharacter } from "../../lib/characters.ts";
import { type Environment, fault, readText } from "./variables.ts";

/** The plugin's kubeconfig. */
export const KUBECONFIG_NAME = "netplug-kubeconfig";

/** The copies of certificates for etcd. */
export const TLS_FOLDER = "netplug-tls";

/** File systems take 255; while it is made, a file has a longer name. */
const MAX_BYTES = 240;

const OWN_NAMES: readonly string[] = [KUBECONFIG_NAME, TLS_FOLDER];

/** The network config's name. Which name a template may have depends on its content. @throws NetplugError invalidConfig */
export function readConfName(env: Environment, isOurList: boolean): string {
  const name = readFileName(env, "CNI_CONF_NAME") ?? "10-netplug.conflist";
  if (!isOurList || !isNameOfSingle(name)) return name;
  const why = "it is a list of plugins, and runtimes read lists from such files only; .conf is for a single plugin in CNI_NETWORK_CONFIG";
  throw fault("CNI_CONF_NAME", name, `a name that ends in .conflist: ${why}`);
}

/** A name and no path: what is written lies in the config folder. @throws NetplugError invalidConfig */
export function readFileName(env: Environment, name: string): string | undefined {
  const text = readText(env, name);
  if (text === undefined) return undefined;
  if (text.includes("/") || text.startsWith(".") || hasControlCharacter(text))
    throw fault(name, text, "the name of a file, without a folder");
  if (new TextEncoder().encode(text).length > MAX_BYTES) throw fault(name, text, `the name of a file, of at most ${MAX_BYTES} bytes`);
  if (OWN_NAMES.includes(text)) throw fault(name, text, "a name that is not taken by another file of ours");
  return text;
}

/**
 * Whether runtimes take a file of this name for the config of one plugin. One that finds a list there refuses it, and
 * containerd takes no other file instead.
 */
function isNameOfSingle(fileName: string): boolean {
  return /\.(?:conf|json)$/.test(fileName);
}
