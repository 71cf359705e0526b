/** How two versions of an object differ. */

import { FILE_HEADERS_ONLY, formatPatch, structuredPatch, type StructuredPatchHunk } from "diff";
import type { Resource } from "../../api/resource.ts";
import { isJsonObject } from "../../lib/json.ts";
import { toVisibleLines } from "../../lib/visible-text.ts";
import { toPathName } from "../resources/object-name.ts";
import { toYamlText } from "./json-yaml.ts";
import { green, red } from "./table.ts";

/**
 * Lines removed and added up to which the shortest diff is searched for. The time for that grows with their square: with these it takes less than
 * a second, and with the 20,000 of a long list that is another one now, minutes.
 */
const MAX_EDITS = 1_000;

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
  const newName = `${name} of ${origin}`;
  const [old, wanted] = [toText(before), toText(after)];
  const options = { context: 3, maxEditLength: MAX_EDITS };
  const patch = structuredPatch(oldName, newName, old, wanted, undefined, undefined, options) ?? {
    oldFileName: oldName,
    newFileName: newName,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: [toReplacement(old, wanted)],
  };
  const text = toVisibleLines(formatPatch(patch, FILE_HEADERS_ONLY));
  return colour ? text.replaceAll(/^-.*$/gm, red).replaceAll(/^\+.*$/gm, green) : text;
}

/** All lines of the one, then all of the other. */
function toReplacement(old: string, wanted: string): StructuredPatchHunk {
  const withSign = (sign: string, text: string): string[] =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => `${sign}${line}`);
  const [removed, added] = [withSign("-", old), withSign("+", wanted)];
  return { oldStart: 1, oldLines: removed.length, newStart: 1, newLines: added.length, lines: [...removed, ...added] };
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
