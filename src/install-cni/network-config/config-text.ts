/** The text of the network config: our own, or what a template becomes. */

import { NetplugError } from "../../lib/errors.ts";
import { describeFolder } from "../../lib/folder-for-file.ts";
import { quote } from "../../lib/quote.ts";
import type { InstallHost } from "../host.ts";
import { KUBECONFIG_NAME } from "../settings/file-names.ts";
import { HOW_TO_FIND, type Settings, type Template } from "../settings/settings.ts";
import type { TlsAssets } from "../tls-assets.ts";
import { findCommonVersion } from "./chained-version.ts";
import { CHAINED_PLUGINS, toConflist } from "./conflist.ts";
import { toPlaceholders } from "./placeholders.ts";
import { type ConfigSite, type OriginatedText, requireAccepted } from "./plugin-verdict.ts";
import { checkNetworkConfig, fillTemplate } from "./template.ts";

/**
 * Makes the text; nothing is written yet.
 *
 * @throws NetplugError invalidConfig for a template that makes no network config, for one that the plugin refuses, or when the API server is
 *   needed and unknown
 */
export async function makeConfigText(assets: TlsAssets, site: ConfigSite): Promise<string> {
  const config = await makeText(assets, site);
  await requireAccepted(config, site);
  return config.text;
}

async function makeText(assets: TlsAssets, { settings, binDir, host, log }: ConfigSite): Promise<OriginatedText> {
  const kubeconfigPath = settings.kube === undefined ? undefined : `${settings.hostConfDir}/${KUBECONFIG_NAME}`;
  const { template, confName } = settings;
  if (template === undefined) {
    if (settings.datastoreType === "kubernetes") requireAccess(settings, "DATASTORE_TYPE is kubernetes");
    const cniVersion = await findCommonVersion(binDir, CHAINED_PLUGINS, host, log);
    return { text: toConflist(settings, { assets, kubeconfigPath, cniVersion }), origin: "the network config" };
  }
  const { text, origin } = readTemplate(template, host);
  if (text.includes("__KUBECONFIG_FILEPATH__")) requireAccess(settings, "the network config names a kubeconfig");
  const config = fillTemplate(
    text,
    toPlaceholders(settings, { assets, kubeconfigPath }, () => host.hostName()),
    origin,
  );
  checkNetworkConfig(config, confName, origin);
  return { text: config, origin };
}

function requireAccess({ kube }: Settings, why: string): void {
  if (kube !== undefined) return;
  throw new NetplugError("invalidConfig", `find the Kubernetes API: ${why}, but nothing says where it is; ${HOW_TO_FIND}`);
}

function readTemplate(template: Template, { disk }: InstallHost): OriginatedText {
  if ("text" in template) return { text: template.text, origin: "CNI_NETWORK_CONFIG" };
  const origin = `network config ${quote(template.path)}`;
  const text = readNamed(template.path, disk);
  if (text === undefined) throw new NetplugError("invalidConfig", `read ${origin}: there is no such file; ${NAMED}`);
  return { text, origin };
}

const NAMED = "CNI_NETWORK_CONFIG_FILE names it";

/** A folder, for example, where a volume is mounted and not the file in it. */
function readNamed(path: string, disk: InstallHost["disk"]): string | undefined {
  try {
    return disk.readText(path);
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    const folder = describeFolder(path, disk);
    const fault = folder === undefined ? thrown.message : `read network config ${quote(path)}: ${folder}`;
    throw new NetplugError(thrown.kind, `${fault}; ${NAMED}`, { cause: thrown, details: thrown.details });
  }
}
