/** Custom resource definitions in a cluster: applied, and waited for. */

import { type CustomResourceDefinition, customResourceDefinitions } from "../../api/crd/mod.ts";
import { API_VERSION } from "../../api/resource.ts";
import type { KubeClient } from "../../kube/client.ts";
import { KubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { WriteOutcome } from "../resources/write.ts";
import { waitFor, type WaitPorts } from "./wait-for.ts";

/** What a definition is to the API server. @see Kubernetes API, apiextensions.k8s.io/v1, CustomResourceDefinitionStatus */
interface StoredDefinition extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] | null };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

const DEFINITIONS: ResourceType<StoredDefinition> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  isNamespaced: false,
};

/** Who owns the fields that we apply. */
const FIELD_MANAGER = "netplugctl";

/** Limit for one definition, in milliseconds: the API server compiles its rules. */
const APPLY_LIMIT_MS = 30_000;

/** What was done to one definition. */
export interface AppliedDefinition {
  readonly name: string;
  readonly outcome: WriteOutcome;
}

/**
 * Applies every definition, over whatever others have applied before, and waits until the API server serves all of them.
 *
 * @throws {CommandFailed} names that another definition has
 * @throws NetplugError tryAgainLater when it takes too long, and what a request failed with
 */
export async function applyDefinitions(ports: WaitPorts): Promise<readonly AppliedDefinition[]> {
  const definitions = customResourceDefinitions();
  const applied = await Promise.all(definitions.map(async (definition) => await applyDefinition(definition, ports)));
  await waitUntilServed(definitions, ports);
  return applied;
}

async function applyDefinition(definition: CustomResourceDefinition, ports: WaitPorts): Promise<AppliedDefinition> {
  const { client } = ports;
  const { name } = definition.metadata;
  const title = `customresourcedefinition ${quote(name)}`;
  const before = await waitFor(`wait until ${title}, which somebody deletes, is gone`, ports, async () => {
    const stored = await client.get(DEFINITIONS, { name });
    return stored?.metadata.deletionTimestamp === undefined ? { stored } : undefined;
  });
  const applied = await client.apply(DEFINITIONS, definition, {
    fieldManager: FIELD_MANAGER,
    force: true,
    isStrict: true,
    limitMs: APPLY_LIMIT_MS,
  });
  await waitFor(`wait until ${title} is established`, ports, async () => isEstablished(title, await client.get(DEFINITIONS, { name })));
  return { name, outcome: outcomeOf(before.stored, applied) };
}

function outcomeOf(before: StoredDefinition | undefined, { metadata }: StoredDefinition): WriteOutcome {
  if (before === undefined) return "created";
  return before.metadata.resourceVersion === metadata.resourceVersion ? "unchanged" : "configured";
}

/** @returns true, or undefined when it is not yet */
function isEstablished(title: string, stored: StoredDefinition | undefined): true | undefined {
  const conditions = stored?.status?.conditions ?? [];
  const names = conditions.find(({ type }) => type === "NamesAccepted");
  if (names?.status === "False") throw new CommandFailed(`establish ${title}: ${names.message ?? "another definition has its names"}`);
  return names?.status === "True" && conditions.some(({ type, status }) => type === "Established" && status === "True") ? true : undefined;
}

/** An established definition is served a moment later. */
async function waitUntilServed(definitions: readonly CustomResourceDefinition[], ports: WaitPorts): Promise<void> {
  const wanted = definitions.map(({ spec }) => spec.names.plural);
  await waitFor(`wait until the API server serves ${API_VERSION}`, ports, async () => {
    const served = await readServed(ports.client);
    return wanted.every((plural) => served.has(plural)) ? true : undefined;
  });
}

/** The plurals of the kinds that the API server serves in our version. */
async function readServed(client: KubeClient): Promise<ReadonlySet<string>> {
  try {
    const { resources } = await client.getPath(`/apis/${API_VERSION}`);
    return new Set(Array.isArray(resources) ? resources.map((resource) => (isJsonObject(resource) ? String(resource["name"]) : "")) : []);
  } catch (thrown) {
    if (thrown instanceof KubeError && thrown.status === 404) return new Set();
    throw thrown;
  }
}
