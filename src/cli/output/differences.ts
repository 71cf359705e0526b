/** How two versions of an object differ. */

import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import type { Resource } from "../../api/resource.ts";
import { isJsonObject } from "../../lib/json.ts";
import { toPathName } from "../resources/object-name.ts";
import { toYamlText } from "./json-yaml.ts";
import { green, red, toVisibleLines } from "./table.ts";

/** Where the newer version comes from, and who looks. */
interface DifferencesOptions {
  readonly origin: string;
  readonly colour: boolean;
}

/**
 * The unified diff of both as YAML, its keys sorted, without what only the datastore knows of them.
 *
 * @param before undefined when it is new
 */
export function toDifferences(before: Resource | undefined, after: Resource, { origin, colour }: DifferencesOptions): string {
  const name = toPathName({ kind: after.kind, name: after.metadata.name });
  const oldName = before === undefined ? "/dev/null" : `${name} as it is`;
  const options = { context: 3, headerOptions: FILE_HEADERS_ONLY };
  const patch = createTwoFilesPatch(oldName, `${name} of ${origin}`, toText(before), toText(after), undefined, undefined, options);
  const text = toVisibleLines(patch);
  return colour ? text.replaceAll(/^-.*$/gm, red).replaceAll(/^\+.*$/gm, green) : text;
}

function toText(resource: Resource | undefined): string {
  if (resource === undefined) return "";
  const { uid: _uid, creationTimestamp: _created, resourceVersion: _version, ...metadata } = resource.metadata;
  return toYamlText(withSortedKeys({ ...resource, metadata }));
}

function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, withSortedKeys(part)]));
}
