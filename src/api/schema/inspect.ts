/** What a valibot schema is made of: to go through a value beside it, or to say the same in another language. */

import type * as v from "valibot";

/** One piece of a pipe after the first: a check or a change. */
export interface Action {
  readonly kind: "validation" | "transformation" | "metadata";
  readonly type: string;
  /** Of a check: the limit or expression. */
  readonly requirement?: unknown;
}

/** The fields of an object. */
export type Entries = Readonly<Record<string, v.GenericSchema>>;

/** A schema, told apart by its `type`; only what can be said in a CRD. */
export type Inspected =
  | { readonly type: "object"; readonly entries: Entries }
  | { readonly type: "array"; readonly item: v.GenericSchema }
  | { readonly type: "record"; readonly key: v.GenericSchema; readonly value: v.GenericSchema }
  | { readonly type: "picklist"; readonly options: readonly (string | number)[] }
  | { readonly type: "string" | "number" | "boolean" };

const KNOWN: ReadonlySet<string> = new Set(["object", "array", "record", "picklist", "string", "number", "boolean"]);

/** Tells a schema by its type. @returns undefined for a type that {@link Inspected} does not list */
export function inspect(schema: v.GenericSchema): Inspected | undefined {
  if (!KNOWN.has(schema.type)) return undefined;
  return schema as unknown as Inspected; // the types of valibot's own constructors, by their tag
}

/** What a pipe does after its first schema; nothing for a schema that is no pipe. */
export function actionsOf(schema: v.GenericSchema): readonly Action[] {
  const { pipe } = schema as { readonly pipe?: readonly unknown[] };
  return (pipe ?? []).slice(1) as readonly Action[];
}

/** A field's schema without the wrapping that lets it be left out. */
export function unwrap(schema: v.GenericSchema): { readonly schema: v.GenericSchema; readonly isOptional: boolean } {
  if (schema.type !== "exact_optional") return { schema, isOptional: false };
  return { schema: (schema as unknown as { readonly wrapped: v.GenericSchema }).wrapped, isOptional: true };
}
