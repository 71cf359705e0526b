/** What a schema library cannot tell: every unknown field with the one that was meant, and every bad selector. */

import * as v from "valibot";
import { quote } from "../../lib/quote.ts";
import { isJsonObject } from "../../lib/json.ts";
import { closestName } from "./closest.ts";
import type { SelectorPlace } from "./fields.ts";
import { type Entries, inspect, unwrap } from "./inspect.ts";
import { type PathStep, type Problem, toPathText } from "./problem.ts";

/** Says what is wrong with a selector; undefined when nothing is. */
export type CheckSelector = (text: string, place: SelectorPlace) => string | undefined;

/** Keys that JavaScript treats specially; a record with one would silently lose it. */
const UNSAFE_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Goes through a value beside its schema and collects what {@link Problem}s it finds. */
export function walk(field: v.GenericSchema, value: unknown, path: readonly PathStep[], checkSelector: CheckSelector): Problem[] {
  const { schema } = unwrap(field);
  if (typeof value === "string") return selectorProblems(schema, value, path, checkSelector);
  const inspected = inspect(schema);
  if (Array.isArray(value)) {
    return inspected?.type === "array" ? value.flatMap((item, index) => walk(inspected.item, item, [...path, index], checkSelector)) : [];
  }
  if (!isJsonObject(value)) return [];
  if (inspected?.type === "record") {
    return Object.keys(value)
      .filter((key) => UNSAFE_KEYS.has(key))
      .map((key) => ({ path: toPathText(path), message: `got key ${JSON.stringify(key)}, want another name` }));
  }
  if (inspected?.type !== "object") return [];
  const { entries } = inspected;
  return Object.entries(value).flatMap(([key, child]) => {
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry === undefined) return [unknownField([...path, key], key, entries)];
    return walk(entry, child, [...path, key], checkSelector);
  });
}

/** The problem of a field that does not exist. */
function unknownField(path: readonly PathStep[], key: string, entries: Entries): Problem {
  const known = Object.keys(entries);
  const meant = closestName(key, known);
  const hint = meant === undefined ? "no field is wanted here" : `the nearest known one is "${meant}"; known are ${known.join(", ")}`;
  const parent = path.length === 1 ? parentOf(key, entries) : undefined;
  return { path: toPathText(path), message: `unknown field ${quote(key)}: ${parent === undefined ? hint : `it belongs in ${parent}`}` };
}

/** The part of an object that a field beside the parts belongs in, as in a patch that leaves out `spec`. */
function parentOf(key: string, entries: Entries): string | undefined {
  return Object.keys(entries).find((name) => {
    const part = entries[name] && inspect(entries[name]);
    return part?.type === "object" && Object.hasOwn(part.entries, key);
  });
}

function selectorProblems(schema: v.GenericSchema, text: string, path: readonly PathStep[], checkSelector: CheckSelector): Problem[] {
  const place = (v.getMetadata(schema) as { readonly selector?: SelectorPlace }).selector;
  const message = place === undefined ? undefined : checkSelector(text, place);
  return message === undefined ? [] : [{ path: toPathText(path), message }];
}
