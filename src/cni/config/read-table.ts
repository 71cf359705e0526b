/** Reading an object by its table: defaults, faults, misspellings. */

import { isJsonObject } from "../../lib/json.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import { type Field, FieldFault, type ReadContext, type Section, type Table, type Values } from "./field.ts";

type Document = Readonly<Record<string, unknown>>;

/** Unknown keys that are looked at in one config: nobody misspells more, and each costs a comparison with every known one. */
const MAX_UNKNOWN_KEYS = 50;

export interface TableReader {
  /** What a document says, by its table. */
  read<T extends Table>(table: T, document: Document): Values<T>;
  /** What was wrong and did no harm, in the order it was found. */
  readonly warnings: readonly string[];
}

/**
 * A reader for one call.
 *
 * @param isTolerant whether a fault in a key that is not needed becomes a warning and leaves the default
 */
export function tableReader(isTolerant: boolean): TableReader {
  const warnings: string[] = [];
  let unknownKeys = 0;
  const onFault = (fault: FieldFault, isNeeded: boolean): void => {
    if (isNeeded || !isTolerant) throw fault;
    warnings.push(`${fault.message}; not needed here, the default is used`);
  };
  const checkSpelling: ReadContext["checkSpelling"] = (document, known, place) => {
    for (const key of Object.keys(document)) {
      if (known.includes(key) || ++unknownKeys > MAX_UNKNOWN_KEYS) continue;
      const meant = nearestName(key, known);
      if (meant !== undefined)
        warnings.push(`key ${quote(within(place, key))} is unknown and has no effect: was ${quote(within(place, meant))} meant?`);
    }
  };
  const context: ReadContext = { checkSpelling };

  const readTable = (table: Table, document: Document, place: string): Document => {
    const values: Record<string, unknown> = {};
    for (const [key, kind] of Object.entries(table)) {
      const given = Object.hasOwn(document, key) ? (document[key] ?? undefined) : undefined;
      const inner = within(place, key);
      values[key] = "table" in kind ? readSection(kind, given, inner) : readField(kind, given, inner);
    }
    return values;
  };

  const readSection = (kind: Section<Table>, given: unknown, place: string): Document => {
    if (given !== undefined && !isJsonObject(given)) onFault(new FieldFault(place, given, "an object"), isNeededSection(kind));
    const document = isJsonObject(given) ? given : {};
    if (kind.hasOwnSpelling(document)) checkSpelling(document, Object.keys(kind.table), place);
    return readTable(kind.table, document, place);
  };

  const readField = (kind: Field<unknown>, given: unknown, place: string): unknown => {
    if (given === undefined || (given === "" && kind.emptyIsAbsent) || (given === 0 && kind.zeroIsAbsent)) return kind.absent;
    try {
      const value = kind.read(given, place, context);
      if (value !== undefined || kind.wanted === "anything") return value;
      throw new FieldFault(place, given, kind.wanted, kind.isSecret);
    } catch (thrown) {
      if (!(thrown instanceof FieldFault)) throw thrown;
      onFault(thrown, kind.needed);
      return kind.absent;
    }
  };

  return {
    read: (table, document) => {
      checkSpelling(document, Object.keys(table), "");
      // The shape of the values follows the table's key by key.
      return readTable(table, document, "") as Values<typeof table>;
    },
    warnings,
  };
}

function isNeededSection({ table }: Section<Table>): boolean {
  return Object.values(table).some((kind) => ("table" in kind ? isNeededSection(kind) : kind.needed));
}

function within(place: string, key: string): string {
  return place === "" ? key : `${place}.${key}`;
}
