/** The namespace of what names none. */

import { DEFAULT_NAMESPACE } from "../../api/resource.ts";
import type { Cli } from "../io.ts";
import { datastoreConfigOf, withAdvice } from "./access.ts";

/** On Kubernetes that of the kubeconfig's context, as kubectl has it; everywhere else `default`. */
export async function defaultNamespaceOf(cli: Cli): Promise<string> {
  const config = await datastoreConfigOf(cli);
  if (config.type !== "kubernetes") return DEFAULT_NAMESPACE;
  const { resolveAccess } = await import("../../kube/access/resolve-access.ts");
  const access = await withAdvice(cli, config, () => resolveAccess(config.kubernetes, cli.io));
  return access.namespace ?? DEFAULT_NAMESPACE;
}
