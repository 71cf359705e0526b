/** Reading fields of documents that others wrote, with errors that say which. */

import { NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quoteValue } from "../../lib/quote.ts";

/** An entry of a document, and what messages call it: `user "x" in kubeconfig "/y"`. */
export interface Entry {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly label: string;
}

/** A text; "" and null count as absent, as for the field's own reader. @throws NetplugError invalidConfig */
export function takeText({ fields, label }: Entry, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === "") return undefined;
  // Never the value: in these documents any text may be a secret.
  if (typeof value !== "string") throw wrong(name, label, typeof value === "number" ? "a number" : quoteValue(value), "a text");
  return value;
}

/** @throws NetplugError invalidConfig */
export function takeFlag({ fields, label }: Entry, name: string): boolean {
  const value = fields[name];
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw wrong(name, label, "something else", "true or false");
  return value;
}

/** @throws NetplugError invalidConfig */
export function takeList({ fields, label }: Entry, name: string): readonly unknown[] {
  const value = fields[name];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrong(name, label, quoteValue(value), "a list");
  return value;
}

/** A list of texts. @throws NetplugError invalidConfig */
export function takeTexts(entry: Entry, name: string): readonly string[] {
  return takeList(entry, name).map((value) => {
    if (typeof value !== "string") throw wrong(name, entry.label, "an entry that is no text", "texts");
    return value;
  });
}

/** An object inside the entry. @throws NetplugError invalidConfig */
export function takeEntry({ fields, label }: Entry, name: string): Entry | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw wrong(name, label, Array.isArray(value) ? "a list" : "no object", "an object");
  return { fields: value, label: `${name} of ${label}` };
}

function wrong(name: string, label: string, got: string, want: string): NetplugError {
  return new NetplugError("invalidConfig", `read ${name} of ${label}: got ${got}, want ${want}`);
}
