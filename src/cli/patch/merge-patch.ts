/** JSON merge patch, and what Kubernetes adds to it. */

import { isJsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";

/**
 * Objects are merged key by key, `null` removes a key, everything else is replaced.
 *
 * @see RFC 7386
 */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(isJsonObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, applyMergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

const DELETE_FROM_LIST = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER = "$setElementOrder/";

/**
 * As a merge patch, with the directives of Kubernetes: `$patch: replace | merge | delete` in an object, `$retainKeys`, and
 * `$deleteFromPrimitiveList/<key>`. No list of ours is merged by a key, so lists are replaced, as Kubernetes does with such.
 *
 * @throws {CommandFailed} a directive that makes no sense
 */
export function applyStrategicPatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const { $patch: directive = "merge", $retainKeys: retained, ...changes } = patch;
  if (directive === "delete") return null;
  if (directive !== "merge" && directive !== "replace")
    throw new CommandFailed(`apply patch: got "$patch": ${quoteValue(directive)}, want "merge", "replace" or "delete"`);
  const result = new Map(isJsonObject(target) && directive === "merge" ? Object.entries(target) : []);
  if (retained !== undefined) {
    if (!Array.isArray(retained)) throw new CommandFailed(`apply patch: want a list of keys as "$retainKeys"`);
    for (const key of result.keys()) if (!retained.includes(key)) result.delete(key);
  }
  for (const [key, value] of Object.entries(changes)) {
    if (key.startsWith(ELEMENT_ORDER)) continue; // says how to order what is merged by a key
    if (key.startsWith(DELETE_FROM_LIST)) {
      deleteFromList(result, key.slice(DELETE_FROM_LIST.length), value);
      continue;
    }
    if (key.startsWith("$"))
      throw new CommandFailed(`apply patch: got directive ${quote(key)}, want $patch, $retainKeys or $deleteFromPrimitiveList`);
    const merged = value === null ? null : applyStrategicPatch(result.get(key), value);
    if (merged === null) result.delete(key);
    else result.set(key, merged);
  }
  return Object.fromEntries(result);
}

function deleteFromList(result: Map<string, unknown>, key: string, values: unknown): void {
  if (!Array.isArray(values)) throw new CommandFailed(`apply patch: want a list of values as "$deleteFromPrimitiveList/${key}"`);
  const list = result.get(key);
  if (Array.isArray(list))
    result.set(
      key,
      list.filter((item) => !values.includes(item)),
    );
}
