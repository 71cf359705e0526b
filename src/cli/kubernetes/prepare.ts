/** What `init` does before the datastore is there: on Kubernetes it lives in resources that the API server must first learn of. */

import { OLDEST_KUBERNETES } from "../../api/crd/mod.ts";
import type { ClusterInformationSpec } from "../../api/cluster-information.ts";
import { SINGLETON_NAME } from "../../api/cluster-information.ts";
import { BLOCK_KIND, KINDS } from "../../api/registry.ts";
import { API_GROUP, API_GROUP_VERSION } from "../../api/resource.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { CommandFailed } from "../failures/failure.ts";
import { type Cli, say } from "../io.ts";
import { toPathName } from "../resources/object-name.ts";
import { whyTooOld } from "../resources/write-guards.ts";
import { isOlder } from "../resources/versions.ts";
import { applyDefinitions } from "./definitions.ts";
import { readServerVersion } from "./server-version.ts";
import type { WaitPorts } from "./wait-for.ts";

const CLUSTER_INFORMATIONS: ResourceType<KubeObject & { readonly spec?: ClusterInformationSpec }> = {
  group: API_GROUP,
  version: API_GROUP_VERSION,
  plural: KINDS.ClusterInformation.plural,
  kind: KINDS.ClusterInformation.kind,
  isNamespaced: false,
};

const BLOCKS = `${BLOCK_KIND.plural}.${API_GROUP}`;

/**
 * Brings the definitions into the cluster.
 *
 * @returns whether there was none of blocks, and so no block
 * @throws {CommandFailed} a Kubernetes that is too old for them, or a cluster that is too new for this program, or frozen
 */
export async function prepareKubernetes(cli: Cli, ports: WaitPorts): Promise<boolean> {
  const { client } = ports;
  const version = await readServerVersion(client);
  if (isOlder(version, OLDEST_KUBERNETES, "minor"))
    throw new CommandFailed(
      `apply custom resource definitions: the API server is of version ${version}, want v${OLDEST_KUBERNETES} or later`,
    );
  const information = await readInformation(client);
  const fault =
    information?.datastoreFrozen === true ? "a migration has frozen the datastore; wait until it is done" : whyTooOld(information);
  if (fault !== undefined) throw new CommandFailed(`apply custom resource definitions: ${fault}`, { next: "version" });
  const applied = await applyDefinitions(ports);
  for (const { name, outcome } of applied) say(cli, `${toPathName({ kind: "CustomResourceDefinition", name })} ${outcome}`);
  return applied.some(({ name, outcome }) => name === BLOCKS && outcome === "created");
}

/** Older definitions must not replace newer ones. */
async function readInformation(client: KubeClient): Promise<ClusterInformationSpec | undefined> {
  try {
    return (await client.get(CLUSTER_INFORMATIONS, { name: SINGLETON_NAME }))?.spec;
  } catch (thrown) {
    if (isKubeError(thrown, "notServed")) return undefined;
    throw thrown;
  }
}
