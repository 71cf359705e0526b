/** Reads fields of documents that others wrote; errors name the field. */

import { NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";

/** An entry of a document, and what messages call it: `user "x" in kubeconfig "/y"`. */
export interface Entry {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly label: string;
}

/** A text; "" and null count as absent, as for the field's own reader. @throws NetplugError invalidConfig */
export function takeText({ fields, label }: Entry, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw wrong(name, label, value, "a text");
  return value;
}

/** @throws NetplugError invalidConfig */
export function takeFlag({ fields, label }: Entry, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw wrong(name, label, value, "true or false");
  return value;
}

/** @throws NetplugError invalidConfig */
export function takeList({ fields, label }: Entry, name: string): readonly unknown[] {
  const value = fields[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(name, label, value, "a list");
  return value;
}

/** A list of texts. @throws NetplugError invalidConfig */
export function takeTexts(entry: Entry, name: string): readonly string[] {
  return takeList(entry, name).map((value) => {
    if (typeof value !== "string") throw wrong(name, entry.label, value, "texts");
    return value;
  });
}

/** An object inside the entry. @throws NetplugError invalidConfig */
export function takeEntry({ fields, label }: Entry, name: string): Entry | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrong(name, label, value, "an object");
  return { fields: value, label: `${name} of ${label}` };
}

/** Says what kind of value it is and never which: in these documents any text may be a secret. */
function wrong(name: string, label: string, value: unknown, want: string): NetplugError {
  const got = Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`.replace("string", "text");
  return new NetplugError("invalidConfig", `read ${name} of ${label}: got ${got}, want ${want}`);
}
