/** What a schema library cannot tell: every unknown field with the one that was meant, and every bad selector. */

import * as v from "valibot";
import { quote } from "../../lib/quote.ts";
import { closestName } from "./closest.ts";
import type { SelectorPlace } from "./fields.ts";
import { type PathStep, type Problem, toPathText } from "./problem.ts";

/** Says what is wrong with a selector; undefined when nothing is. */
export type CheckSelector = (text: string, place: SelectorPlace) => string | undefined;

/** Keys that JavaScript treats specially; a record with one would silently lose it. */
const UNSAFE_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** Goes through a value beside its schema and collects what {@link Problem}s it finds. */
export function walk(schema: v.GenericSchema, value: unknown, path: readonly PathStep[], checkSelector: CheckSelector): Problem[] {
  if (isOptional(schema)) return walk(schema.wrapped, value, path, checkSelector);
  if (typeof value === "string") return selectorProblems(schema, value, path, checkSelector);
  if (typeof value !== "object" || value === null) return [];
  if (isArray(schema)) {
    return Array.isArray(value) ? value.flatMap((item, index) => walk(schema.item, item, [...path, index], checkSelector)) : [];
  }
  if (isRecord(schema)) {
    return Object.keys(value)
      .filter((key) => UNSAFE_KEYS.has(key))
      .map((key) => ({ path: toPathText(path), message: `got key ${JSON.stringify(key)}, want another name` }));
  }
  if (!isObject(schema) || Array.isArray(value)) return [];
  const { entries } = schema;
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
    const part = entries[name];
    return part !== undefined && isObject(part) && Object.hasOwn(part.entries, key);
  });
}

function selectorProblems(schema: v.GenericSchema, text: string, path: readonly PathStep[], checkSelector: CheckSelector): Problem[] {
  const place = (v.getMetadata(schema) as { readonly selector?: SelectorPlace }).selector;
  const message = place === undefined ? undefined : checkSelector(text, place);
  return message === undefined ? [] : [{ path: toPathText(path), message }];
}

function isOptional(schema: v.GenericSchema): schema is v.GenericSchema & { readonly wrapped: v.GenericSchema } {
  return schema.type === "exact_optional";
}

function isArray(schema: v.GenericSchema): schema is v.GenericSchema & { readonly item: v.GenericSchema } {
  return schema.type === "array";
}

function isRecord(schema: v.GenericSchema): boolean {
  return schema.type === "record";
}

type Entries = Readonly<Record<string, v.GenericSchema>>;

function isObject(schema: v.GenericSchema): schema is v.GenericSchema & { readonly entries: Entries } {
  return schema.type === "object";
}
