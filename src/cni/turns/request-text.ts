/** The text in which an ADD that waits for its turn says which addresses it wants. */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import { isJsonObject, isText, type JsonObject, tryParseJson } from "../../lib/json.ts";

/**
 * Another version of the program may write another form. What a version must know to serve a request may be said under another name in the same
 * form: the version before then serves none of ours, and still finds whose it is when we die.
 */
const FORM = 1;
/** A text that is longer is not ours. */
const MAX_CHARACTERS = 65_536;
const OWNER_KEYS = ["network", "containerID", "ifName", "node"] as const;
const OPTIONAL_OWNER_KEYS = ["pod", "namespace", "podUID", "endpoint"] as const;

/** @param datastoreKey names the datastore: processes of one node may work with several */
export function toRequestText(request: AddressRequest, datastoreKey: string): string {
  const { owner, families, pools, namespaceLabels, podLabels } = request;
  // Not as `namespaceLabels` beside them: whoever asks for those knows of no `podSelector`, and would give an address of a pool that has one.
  const labels = { namespace: namespaceLabels, pod: podLabels };
  return JSON.stringify({ form: FORM, datastoreKey, owner, families, pools, labels });
}

/** @returns undefined for anything that {@link toRequestText} does not write, or writes for another datastore */
export function parseRequest(text: string, datastoreKey: string): AddressRequest | undefined {
  const said = parse(text);
  if (said?.["datastoreKey"] !== datastoreKey) return undefined;
  const { families, pools, labels } = said;
  const owner = toOwner(said["owner"]);
  if (owner === undefined || !Array.isArray(families) || !families.every((family) => family === 4 || family === 6)) return undefined;
  if (!isJsonObject(pools) || !isJsonObject(labels) || !isTexts(labels["namespace"]) || !isTexts(labels["pod"])) return undefined;
  const named: Record<string, readonly string[]> = {};
  for (const [family, names] of Object.entries(pools)) {
    if (!Array.isArray(names) || !names.every(isText)) return undefined;
    named[family] = names;
  }
  return {
    owner,
    use: "Workload",
    families,
    pools: named,
    addresses: [],
    namespaceLabels: labels["namespace"],
    podLabels: labels["pod"],
  };
}

/** Who has left a request, whatever the datastore. @returns undefined for what {@link toRequestText} does not write */
export function parseOwner(text: string): AllocationOwner | undefined {
  return toOwner(parse(text)?.["owner"]);
}

function parse(text: string): JsonObject | undefined {
  const said = text.length > MAX_CHARACTERS ? undefined : tryParseJson(text);
  return isJsonObject(said) && said["form"] === FORM ? said : undefined;
}

function isTexts(said: unknown): said is Readonly<Record<string, string>> {
  return isJsonObject(said) && Object.values(said).every(isText);
}

function toOwner(said: unknown): AllocationOwner | undefined {
  if (!isJsonObject(said) || !OWNER_KEYS.every((key) => isText(said[key]))) return undefined;
  if (!OPTIONAL_OWNER_KEYS.every((key) => said[key] === undefined || isText(said[key]))) return undefined;
  return said as unknown as AllocationOwner; // each key was looked at above
}
