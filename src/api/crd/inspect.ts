/** What a valibot schema is made of, to say the same in another language. */

import type * as v from "valibot";

/** One piece of a pipe after the first: a check or a change. */
export interface Action {
  readonly kind: "validation" | "transformation" | "metadata";
  readonly type: string;
  /** Of a check: the limit or expression. */
  readonly requirement?: unknown;
}

/** A schema, told apart by its `type`; only what our schemas use. */
export type Inspected =
  | { readonly type: "object"; readonly entries: Readonly<Record<string, v.GenericSchema>> }
  | { readonly type: "array"; readonly item: v.GenericSchema }
  | { readonly type: "record"; readonly key: v.GenericSchema; readonly value: v.GenericSchema }
  | { readonly type: "picklist"; readonly options: readonly (string | number)[] }
  | { readonly type: "string" | "number" | "boolean" };

/** Tells a schema by its type. @throws {TypeError} a type that {@link Inspected} does not list */
export function inspect(schema: v.GenericSchema): Inspected {
  if (!KNOWN.has(schema.type)) throw new TypeError(`inspect schema: got type "${schema.type}", want one of ${[...KNOWN].join(", ")}`);
  return schema as unknown as Inspected; // the types of valibot's own constructors, by their tag
}

const KNOWN: ReadonlySet<string> = new Set(["object", "array", "record", "picklist", "string", "number", "boolean"]);

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
