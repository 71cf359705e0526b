/** `manifests/crds.yaml` from the schemas that check resources at run time. */

import { customResourceDefinitions, OLDEST_KUBERNETES } from "../../src/api/crd/mod.ts";

/** The whole manifest, one document for each kind. */
export function crdsManifest(): string {
  const header = [
    "# Custom resource definitions of netplug. Made by `npm run generate` from src/api/; do not edit.",
    `# Kubernetes ${OLDEST_KUBERNETES} or newer. Over older ones, too: kubectl apply --server-side --force-conflicts -f crds.yaml`,
    "",
  ].join("\n");
  return (
    header +
    customResourceDefinitions()
      .map((definition) => `${Bun.YAML.stringify(definition, null, 2)}\n`)
      .join("---\n")
  );
}
