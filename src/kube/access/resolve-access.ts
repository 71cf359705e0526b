/** From settings to access: kubeconfig, else the server that is named, else the pod's own; then what settings replace. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import { ANONYMOUS, BARE_ACCESS } from "./access.ts";
import type { AccessSources } from "./in-cluster.ts";
import { readInClusterAccess } from "./in-cluster.ts";
import { readKubeconfig } from "./kubeconfig.ts";
import { toKubeconfigAccess } from "./kubeconfig-access.ts";
import { normaliseApiRoot } from "./server-url.ts";

/**
 * Finds out where the API server is and who we are to it. Certificates and tokens in files are not read yet.
 *
 * @throws NetplugError invalidConfig naming what is missing or wrong, with file and entry
 */
export async function resolveAccess(settings: KubeSettings, ports: AccessSources): Promise<KubeAccess> {
  const kubeconfig = settings.kubeconfig ?? findDefault(settings, ports);
  const found =
    kubeconfig === undefined
      ? withoutKubeconfig(settings, ports)
      : toKubeconfigAccess(await readKubeconfig(kubeconfig, ports.files), settings);
  return replace(found, settings);
}

function findDefault({ defaultKubeconfig, apiRoot }: KubeSettings, { files }: AccessSources): string | undefined {
  if (defaultKubeconfig === undefined || apiRoot !== undefined) return undefined;
  return files.exists(defaultKubeconfig) ? defaultKubeconfig : undefined;
}

function withoutKubeconfig({ apiRoot, caFile, context, names }: KubeSettings, ports: AccessSources): KubeAccess {
  if (context !== undefined) throw new NetplugError("invalidConfig", `choose context: got one, but no kubeconfig to look for it in`);
  const own = readInClusterAccess(ports);
  if (apiRoot === undefined) {
    if (own !== undefined) return own;
    throw new NetplugError(
      "invalidConfig",
      "find the Kubernetes API: want a kubeconfig or the API server's address, or to run in a pod (KUBERNETES_SERVICE_HOST and _PORT)",
    );
  }
  const server = normaliseApiRoot(apiRoot, caFile !== undefined || own?.ca !== undefined, names?.apiRoot ?? "the API server's address");
  return { ...(own ?? BARE_ACCESS), server };
}

function replace(access: KubeAccess, { token, caFile, skipsTlsVerify = false, names }: KubeSettings): KubeAccess {
  return {
    ...access,
    ...(caFile !== undefined && {
      ca: { file: caFile, label: `certificate authority ${quote(caFile)} of ${names?.caFile ?? "the settings"}` },
      skipsTlsVerify: false,
    }),
    ...(skipsTlsVerify && { skipsTlsVerify }),
    ...(token !== undefined && {
      user: { ...ANONYMOUS, token, impersonate: access.user.impersonate },
      origin: names?.token ?? "the settings",
    }),
  };
}
