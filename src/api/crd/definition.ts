/** What a kind's CRD says beyond its schema: words for people, rules between fields, columns. */

import type { CelRule, OpenApiSchema, PrinterColumn } from "./custom-resource-definition.ts";

/**
 * A sentence for every field of a spec, for `kubectl explain`; a field that is missing here does not compile. A field that is
 * an object, or a list of them, has the sentences of its own fields besides.
 */
export type FieldTexts<T> = { readonly [K in keyof Required<T>]: FieldText<Exclude<T[K], undefined>> };

/** What {@link FieldTexts} wants for one field. An object with free keys, such as labels, needs only its own sentence. */
type FieldText<F> = F extends readonly (infer I)[]
  ? I extends object
    ? readonly [text: string, fields: FieldTexts<I>]
    : string
  : F extends object
    ? string extends keyof F
      ? string
      : readonly [text: string, fields: FieldTexts<F>]
    : string;

/** {@link FieldTexts} without the type that it belongs to. */
export interface AnyFieldTexts {
  readonly [field: string]: string | readonly [text: string, fields: AnyFieldTexts];
}

/** Rules by the path of the value that they are on: `""` is the whole object, `spec.ingress[]` each entry of a list. */
export type CelRules = Readonly<Record<string, readonly CelRule[]>>;

/** One kind, whatever it is. */
export interface AnyKindDefinition {
  readonly text: string;
  readonly specText: string;
  readonly fields: AnyFieldTexts;
  readonly rules: CelRules;
  readonly columns: readonly PrinterColumn[];
  readonly status?: OpenApiSchema;
}

/** One kind. `S` is the plain type of its spec. */
export interface KindDefinition<S> extends AnyKindDefinition {
  readonly fields: FieldTexts<S> & AnyFieldTexts;
  /**
   * Specs with as little as possible, of every sort that has defaults of its own: a default that is the same in all of them
   * goes into the schema, one that depends on another field stays with whoever reads the object.
   */
  readonly samples: readonly S[];
}
