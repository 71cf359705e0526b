/** Fields of objects of which we have no schema: those of Kubernetes. */

import { type PathStep, toPathText } from "../../api/schema/problem.ts";
import { isJsonObject, isText, type JsonObject } from "../../lib/json.ts";
import { quoteValue } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import type { InputDocument } from "./documents.ts";

/** A value that a field may have, and how messages call it. */
export interface Wanted<T> {
  readonly is: (value: unknown) => value is T;
  readonly text: string;
}

/** Any text, an empty one too. */
export const TEXT: Wanted<string> = { is: isText, text: "a text" };
/** Neither a list nor null. */
export const OBJECT: Wanted<JsonObject> = { is: isJsonObject, text: "an object" };
const VALUE: Wanted<string> = { is: isText, text: `a text, which in YAML is between quotes: '["10.65.0.7"]', "true"` };

/**
 * One field.
 *
 * @returns undefined also for null, which Kubernetes takes for a field that is not there
 * @throws {CommandFailed} for another value than is wanted
 */
export function readField<T>(document: InputDocument, steps: readonly PathStep[], wanted: Wanted<T>): T | undefined {
  const value = find(document, steps);
  if (value === undefined || wanted.is(value)) return value;
  throw refused(document, steps, value, wanted);
}

/** One that there must be. @throws {CommandFailed} for another value than is wanted, and for none */
export function requireField<T>(document: InputDocument, steps: readonly PathStep[], wanted: Wanted<T>): T {
  const value = readField(document, steps, wanted);
  if (value === undefined) throw refused(document, steps, undefined, wanted);
  return value;
}

/** Labels or annotations, by their names; one without a value is an empty text. @throws {CommandFailed} for a value that is no text */
export function readTexts(document: InputDocument, steps: readonly PathStep[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(readTextsOrNone(document, steps)).map(([name, text]) => [name, text ?? ""]));
}

/** The same, with undefined for one without a value. @throws {CommandFailed} for a value that is no text */
export function readTextsOrNone(document: InputDocument, steps: readonly PathStep[]): Readonly<Record<string, string | undefined>> {
  const names = Object.keys(readField(document, steps, OBJECT) ?? {});
  return Object.fromEntries(names.map((name) => [name, readField(document, [...steps, name], VALUE)]));
}

function find(document: InputDocument, steps: readonly PathStep[]): unknown {
  let { value } = document;
  for (const [depth, step] of steps.entries()) {
    if (value === null || value === undefined) return undefined;
    if (!isJsonObject(value)) throw refused(document, steps.slice(0, depth), value, { text: "an object" });
    value = Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value ?? undefined;
}

function refused(
  { origin }: InputDocument,
  steps: readonly PathStep[],
  value: unknown,
  { text }: Pick<Wanted<unknown>, "text">,
): CommandFailed {
  const where = steps.length === 0 ? "" : `${toPathText(steps)}: `;
  return new CommandFailed(`read ${origin}: ${where}got ${quoteValue(value)}, want ${text}`);
}
