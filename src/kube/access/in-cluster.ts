/** Access that Kubernetes gives to every pod: variables and the service account's files. */

import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeAccess } from "./access.ts";
import { ANONYMOUS, BARE_ACCESS } from "./access.ts";
import { requireServer, toServerUrl } from "./server-url.ts";

/** Where kubelet mounts the service account. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** What access is read from: the environment and files, of which a pod has some for its own. */
export interface AccessSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly files: Files;
  /** @default the folder that kubelet mounts */
  readonly serviceAccountFolder?: string | undefined;
}

/** @returns undefined when this process is in no pod @throws NetplugError invalidConfig for variables that make no address */
export function readInClusterAccess({ env, files, serviceAccountFolder = SERVICE_ACCOUNT_FOLDER }: AccessSources): KubeAccess | undefined {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (host === undefined || host === "" || port === undefined || port === "") return undefined;
  const server = toServerUrl(host, port);
  requireServer(server, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
  const caFile = `${serviceAccountFolder}/ca.crt`;
  return {
    ...BARE_ACCESS,
    server,
    ca: files.exists(caFile) ? { file: caFile, label: `certificate authority ${quote(caFile)} of this pod` } : undefined,
    user: { ...ANONYMOUS, tokenFile: `${serviceAccountFolder}/token` },
    namespace: files.readText(`${serviceAccountFolder}/namespace`)?.trim() || undefined,
    origin: "service account of this pod",
  };
}
