/** What one key of the network config may hold. */

import { quoteValue } from "../../lib/quote.ts";

/** One key: what it may hold, and what it counts as when it is absent. */
export interface Field<T> {
  /** Ends the sentence "want …". */
  readonly wanted: string;
  readonly absent: T;
  /** Whether empty text means absent: what a template leaves behind for a value that nobody set. */
  readonly emptyIsAbsent: boolean;
  /** Whether 0 means absent too. */
  readonly zeroIsAbsent: boolean;
  /** Whether DEL and GC need it to find what they must remove. */
  readonly needed: boolean;
  /** Whether the value is a password. */
  readonly isSecret: boolean;
  /** @returns undefined for what is not allowed @throws {FieldFault} to name a place inside the value */
  readonly read: (value: unknown, place: string, context: ReadContext) => T | undefined;
}

/** An object whose keys are known. */
export interface Section<T extends Table> {
  readonly table: T;
  /** Whether an unknown key is worth a look: not where another plugin has keys of its own. */
  readonly hasOwnSpelling: (document: Readonly<Record<string, unknown>>) => boolean;
}

export type Table = { readonly [key: string]: Field<unknown> | Section<Table> };

/** What reading a table gives: the same keys, every value checked, every default applied. */
export type Values<T extends Table> = {
  readonly [K in keyof T]: T[K] extends Field<infer V> ? V : T[K] extends Section<infer Inner> ? Values<Inner> : never;
};

export interface ReadContext {
  /** Warns of keys of `document` that were meant to be another. */
  readonly checkSpelling: (document: Readonly<Record<string, unknown>>, known: readonly string[], place: string) => void;
}

/** A value that is not allowed, and where. */
export class FieldFault extends TypeError {
  override readonly name = "FieldFault";

  constructor(place: string, found: unknown, wanted: string, isSecret = false) {
    super(
      `read "${place}": got ${isSecret || mayHoldPassword(found) ? `a ${typeof found} that is not shown` : quoteValue(found)}, want ${wanted}`,
    );
  }
}

/** A URL with user information, or what was meant to be one. */
function mayHoldPassword(found: unknown): boolean {
  return typeof found === "string" && found.includes("@");
}

type Traits = Partial<Pick<Field<unknown>, "emptyIsAbsent" | "zeroIsAbsent">>;

function field<T>(
  wanted: string,
  absent: T,
  read: Field<T>["read"],
  { emptyIsAbsent = true, zeroIsAbsent = false }: Traits = {},
): Field<T> {
  return { wanted, absent, read, emptyIsAbsent, zeroIsAbsent, needed: false, isSecret: false };
}

/** The same field whose value no message shows. */
export function secret<T>(given: Field<T>): Field<T> {
  return { ...given, isSecret: true };
}

/** The same field for which DEL and GC are not tolerant. */
export function needed<T>(given: Field<T>): Field<T> {
  return { ...given, needed: true };
}

/** A key of an object. */
export function section<T extends Table>(table: T, hasOwnSpelling: Section<T>["hasOwnSpelling"] = () => true): Section<T> {
  return { table, hasOwnSpelling };
}

/** A key that is ours to know and somebody else's to read. */
export const ANYTHING: Field<unknown> = field("anything", undefined, (value) => value);

/** Text without control characters. */
export function text<const D>(absent: D, pattern = /^[^\p{Cc}]+$/u, wanted = "a text"): Field<string | D> {
  return field<string | D>(wanted, absent, (value) => (typeof value === "string" && pattern.test(value) ? value : undefined));
}

/** An absolute path. */
export function path<const D>(absent: D): Field<string | D> {
  return text(absent, /^\/[^\p{Cc}]*$/u, "an absolute path");
}

/** One of a few words, in any case when `options` says so. */
export function oneOf<const T extends string, const D>(
  words: readonly T[],
  absent: D,
  options: Traits & { readonly anyCase?: boolean } = {},
): Field<T | D> {
  const read = (value: unknown): T | undefined => {
    const folded = typeof value === "string" && options.anyCase === true ? value.toLowerCase() : value;
    return words.find((word) => (options.anyCase === true ? word.toLowerCase() : word) === folded);
  };
  const choice = words
    .map((word) => `"${word}"`)
    .join(", ")
    .replace(/, (?=[^,]*$)/, " or ");
  return field<T | D>(options.anyCase === true ? `${choice} as text, in any case` : choice, absent, read, options);
}

/** `true` or `false`, never the text of them. */
export function flag(absent: boolean): Field<boolean> {
  return field("true or false, without quotes", absent, (value) => (typeof value === "boolean" ? value : undefined), {
    emptyIsAbsent: false,
  });
}

/** A whole number; 0 may count as absent, wherever the range begins. */
export function integer<const D>(min: number, max: number, absent: D, zeroIsAbsent = false): Field<number | D> {
  const read = (value: unknown): number | undefined =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max ? (value as number) : undefined;
  const range = `a whole number ${min}..${max}`;
  return field<number | D>(zeroIsAbsent ? `${range}, or 0 for the default` : range, absent, read, { emptyIsAbsent: false, zeroIsAbsent });
}

/** A list, each entry read by itself. `undefined` from `read` is a fault of the entry. */
export function list<T, D>(
  wanted: string,
  absent: D,
  read: (entry: unknown, place: string, context: ReadContext) => T | undefined,
): Field<readonly T[] | D> {
  return field<readonly T[] | D>(
    `a list, each ${wanted}`,
    absent,
    (value, place, context) => {
      if (!Array.isArray(value)) return undefined;
      return value.map((entry: unknown, i) => {
        const inner = `${place}[${i}]`;
        const result = read(entry, inner, context);
        if (result === undefined) throw new FieldFault(inner, entry, wanted);
        return result;
      });
    },
    { emptyIsAbsent: false },
  );
}

/** A value that is made of a text, by a function that gives undefined for what it does not accept. */
export function parsed<T, D>(wanted: string, absent: D, parse: (value: string) => T | undefined): Field<T | D> {
  return field<T | D>(wanted, absent, (value) => (typeof value === "string" ? parse(value) : undefined));
}

/** A value that is made of anything, by a function that gives undefined for what it does not accept; empty text is given to it too. */
export function custom<T, D>(wanted: string, absent: D, read: (value: unknown) => T | undefined): Field<T | D> {
  return field<T | D>(wanted, absent, read, { emptyIsAbsent: false });
}
