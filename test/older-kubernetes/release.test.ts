/** The API server of this part of the suite is the oldest that we name, and takes our definitions with all their rules. */

import { expect } from "bun:test";
import { customResourceDefinitions, OLDEST_KUBERNETES } from "../../src/api/crd/mod.ts";
import { KUBERNETES_MODULE, kubernetesVersion, OLDEST_KUBERNETES_MODULE } from "../../tools/prerequisites/cluster-programs.ts";
import { canStartApiServer, startApiServer } from "../support/servers/api-server.ts";
import { CRDS, documentsOf, MANIFEST } from "../crds/definitions.ts";
import { shareIf } from "../support/share.ts";

const isOlderServer = process.env[KUBERNETES_MODULE] === OLDEST_KUBERNETES_MODULE && canStartApiServer();
const [test, server] = shareIf(isOlderServer, () => startApiServer());

/** One line for each definition: that it would be taken, or why not. Nothing is stored. */
async function ask(manifest: string): Promise<readonly string[]> {
  const answers = documentsOf(manifest).map(async ([name, document]) => {
    const { status, body } = await server.request("POST", `${CRDS}?dryRun=All&fieldValidation=Strict`, document, "application/yaml");
    return `${name}: ${status === 201 ? "taken" : body.message}`;
  });
  return await Promise.all(answers);
}

test("the release that runs is the one that go.mod pins, of the minor version that the manifest names (needs cluster)", async () => {
  const pinned = kubernetesVersion(OLDEST_KUBERNETES_MODULE);
  expect(pinned).toStartWith(`${OLDEST_KUBERNETES}.`);
  expect(MANIFEST).toContain(`# Kubernetes ${OLDEST_KUBERNETES} or newer.`);
  expect(JSON.parse(await server.kubectl(["get", "--raw", "/version"]))).toMatchObject({ gitVersion: `v${pinned}` });
});

test("it takes every definition, with all rules and within its budget, and knows every field (needs cluster)", async () => {
  expect(await ask(MANIFEST)).toEqual(customResourceDefinitions().map(({ metadata }) => `${metadata.name}: taken`));
});

test("it refuses rules that it cannot compute, and rules that cost too much (needs cluster)", async () => {
  const unknown = await ask(MANIFEST.replace("isCIDR(self) ?", "isNothingKnown(self) ?"));
  expect(unknown.join("\n")).toContain("isNothingKnown");
  const costly = await ask(MANIFEST.replaceAll("maxItems: 256", "maxItems: 25600"));
  expect(costly.join("\n")).toContain("exceeds budget");
});
